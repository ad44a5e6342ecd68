// SPDX-License-Identifier: Apache-2.0
#include "codeq/operator.hpp"

#include "base/json_writer.hpp"
#include "ctl/command_options.hpp"
#include "ctl/commands.hpp"
#include "ctl/text.hpp"

#include <string>
#include <vector>

namespace codeq::ctl {

namespace {

/// The names of all nodes fit.
constexpr std::size_t confirm_bytes_max = 4096;

struct copies_options {
  std::filesystem::path directory;
  std::string node;
};

std::vector<option> copies_grammar(copies_options& to) {
  return {
    required(placed(
      config::path_option("DIR", "DIR", "The coordinator's data directory", to.directory))),
    required(name_option("node", "The coordinator's name in its cluster", to.node))};
}

int tell(context& with, const copies_options& given) {
  const auto told = tell_copies(given.directory, given.node);
  if (!told)
    return fail(told.error(), with.json);
  print(*told);
  return exit_done;
}

std::vector<option> repair_grammar(repair_options& to) {
  const auto file = [](const char* name, std::string help, std::filesystem::path& target) {
    return config::path_option(name, "FILE", std::move(help), target);
  };
  return {
    required(placed(config::path_option(
      "DIR", "DIR", "Directory with what `cluster copies` printed for each coordinator, as *.json",
      to.told))),
    required(name_option("cluster", "Name of the cluster", to.cluster)),
    required(config::plain_option(
      "etcd", "URL[,URL...]", "Members of etcd: http[s]://HOST[:PORT]", to.etcd)),
    file("etcd-ca", "PEM file with the CAs of etcd's certificate", to.etcd_authority),
    file("etcd-cert", "PEM file with the certificate that is shown to etcd", to.etcd_certificate),
    file("etcd-key", "PEM file with the key of that certificate", to.etcd_key),
    {.name = "without",
     .value = "NODE",
     .help = "A node that will not come back; may be given several times",
     .take = config::add_to(to.without, config::parse_name),
     .repeatable = true},
    text_option(
      "confirm", "The words that the command tells without them", to.confirm,
      confirm_bytes_max)};
}

std::string names(const std::vector<std::string>& list) {
  std::string text;
  for (const auto& one : list)
    text += (text.empty() ? "" : " ") + one;
  return text;
}

std::string to_json(const repaired_cluster& told) {
  base::json_writer out;
  out.begin_object().field("done", told.is_done).field("words", told.words);
  out.begin_array("shards");
  for (const auto& shard : told.shards) {
    out.begin_object().field("shard", value(shard.shard)).field("primary", shard.primary);
    out.field("epoch", shard.epoch).begin_array("in_sync");
    for (const auto& node : shard.in_sync)
      out.text(node);
    out.end_array().end_object();
  }
  return out.end_array().end_object().take() + "\n";
}

std::string to_text(const repaired_cluster& told) {
  std::vector<std::vector<std::string>> rows{{"SHARD", "PRIMARY", "EPOCH", "IN SYNC"}};
  for (const auto& shard : told.shards)
    rows.push_back(
      {std::to_string(value(shard.shard)), shard.primary, std::to_string(shard.epoch),
       names(shard.in_sync)});
  const auto next = told.is_done
                      ? std::string("done; remove the file etcd-history from the data directory "
                                    "of each coordinator, then start all of them\n")
                      : "nothing is changed yet; to write this to etcd, confirm it with the "
                        "words: "
                          + told.words + "\n";
  return format_table(rows) + "\n" + next;
}

int repair(context& with, const repair_options& given) {
  const auto told = repair_cluster(given);
  if (!told)
    return fail(told.error(), with.json);
  print(with.json ? to_json(*told) : to_text(*told));
  if (told->is_done)
    return exit_done;
  if (!given.confirm.empty())
    complain("--confirm has other words than these; nothing was changed");
  return exit_usage;
}

} // namespace

void add_cluster_repair(command_table& to) {
  to.add(command<copies_options>{
    .name = "cluster copies",
    .help = "Tell what a coordinator that is stopped has on its disk, for `cluster repair`",
    .grammar = copies_grammar,
    .run = tell,
    .details = "Prints JSON. The coordinator has to be stopped; nothing is changed."});
  to.add(command<repair_options>{
    .name = "cluster repair",
    .help = "Write the records of a cluster to etcd anew, when etcd has forgotten them",
    .grammar = repair_grammar,
    .run = repair,
    .details =
      "All coordinators have to be stopped, and `cluster copies` has to be given for each of them. "
      "Of each shard the copies with the largest position of the newest epoch are in sync "
      "afterwards. Without --confirm, the command shows what it would write. CLUSTERS.md, Repair, "
      "tells all steps."});
}

} // namespace codeq::ctl
