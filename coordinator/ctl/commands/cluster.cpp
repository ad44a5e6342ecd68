// SPDX-License-Identifier: Apache-2.0
#include "base/json_writer.hpp"
#include "config/value_options.hpp"
#include "ctl/command_options.hpp"
#include "ctl/commands.hpp"
#include "ctl/http_answers.hpp"
#include "ctl/text.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

namespace codeq::ctl {

namespace {

constexpr auto look_pause = std::chrono::milliseconds(100);

/// The names of all members in sync fit.
constexpr std::size_t confirm_bytes_max = 1024;

bool serves(const std::string& node, const cluster_shard& shard) {
  return shard.primary == node;
}

bool has_copy(const std::string& node, const cluster_shard& shard) {
  return std::any_of(shard.copies.begin(), shard.copies.end(), [&](const cluster_copy& copy) {
    return copy.node == node;
  });
}

template <class Condition>
bool holds_for_any_shard(
  const cluster_status& status, const cluster_node& node, const Condition& holds) {
  return std::any_of(status.shards.begin(), status.shards.end(), [&](const auto& shard) {
    return holds(node.name, shard);
  });
}

/// Coordinators are found by the shards that they serve, so one that serves none is not asked.
std::string presence_of(const cluster_status& status, const cluster_node& node) {
  if (!node.is_present)
    return node.is_draining ? "missing, drained" : "missing";
  if (!node.has_answered && holds_for_any_shard(status, node, serves))
    return "does not answer";
  if (!node.is_draining)
    return "present";
  return holds_for_any_shard(status, node, has_copy) ? "draining" : "drained: may be stopped";
}

/// For example "present, disk full: refuses tasks, unreached: c2, c3".
std::string state_of(const cluster_status& status, const cluster_node& node) {
  const std::string disk = node.refuses_tasks ? ", disk full: refuses tasks" : "";
  std::string names;
  for (const auto& other : node.unreached)
    names += (names.empty() ? ", unreached: " : ", ") + other;
  return presence_of(status, node) + disk + names;
}

void write_node(base::json_writer& out, const cluster_node& node) {
  out.begin_object().field("name", node.name).field("address", node.address);
  out.field("http_address", node.http_address).field("zone", node.zone);
  out.field("present", node.is_present).field("answers", node.has_answered);
  out.field("draining", node.is_draining).field("free_bytes", node.free_bytes);
  out.field("refuses_tasks", node.refuses_tasks);
  out.field("etcd_silent_ms", node.etcd_silent.count()).begin_array("unreached");
  for (const auto& other : node.unreached)
    out.text(other);
  out.end_array().end_object();
}

void write_copy(base::json_writer& out, const cluster_copy& copy) {
  out.begin_object().field("node", copy.node).field("in_sync", copy.is_in_sync);
  if (copy.is_known)
    out.field("epoch", copy.epoch).field("position", copy.position).field("lag", copy.lag);
  out.end_object();
}

std::string to_json(const cluster_status& status) {
  base::json_writer out;
  out.begin_object().field("cluster", status.name).field("copies", status.copies);
  out.field("min_in_sync", status.min_in_sync).begin_array("nodes");
  for (const auto& node : status.nodes)
    write_node(out, node);
  out.end_array().begin_array("shards");
  for (const auto& shard : status.shards) {
    out.begin_object().field("shard", value(shard.shard)).field("primary", shard.primary);
    out.field("served", shard.is_served).field("epoch", shard.epoch);
    out.field("pinned", shard.pinned).begin_array("copies");
    for (const auto& copy : shard.copies)
      write_copy(out, copy);
    out.end_array().field("waits_for", shard.waits_for).end_object();
  }
  return out.end_array().end_object().take() + "\n";
}

/// For example "c1@3/120 c2@3/118(-2) c3(not in sync)".
std::string copies_of(const cluster_shard& shard) {
  std::string text;
  for (const auto& copy : shard.copies) {
    text += (text.empty() ? "" : " ") + copy.node;
    if (copy.is_known)
      text += "@" + std::to_string(copy.epoch) + "/" + std::to_string(copy.position);
    if (copy.lag > 0)
      text += "(-" + std::to_string(copy.lag) + ")";
    if (!copy.is_in_sync)
      text += "(not in sync)";
  }
  return text;
}

/// For example "3 copies of each shard, of which 2 have to be in sync".
std::string copies_wanted(const cluster_status& status) {
  return std::to_string(status.copies) + (status.copies == 1 ? " copy" : " copies")
         + " of each shard, of which " + std::to_string(status.min_in_sync)
         + (status.min_in_sync == 1 ? " has" : " have") + " to be in sync";
}

/// A line that says which coordinators etcd does not answer; empty when there are none.
std::string lost_etcd_of(const cluster_status& status) {
  std::string names;
  duration longest{};
  for (const auto& node : status.nodes) {
    if (node.etcd_silent == duration{0})
      continue;
    names += (names.empty() ? "" : ", ") + node.name;
    longest = std::max(longest, node.etcd_silent);
  }
  if (names.empty())
    return {};
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(longest);
  return "etcd has not answered " + names + " for " + format_duration(seconds)
         + ": without etcd no shard gets another primary, and STATE is the last that is known\n\n";
}

std::string to_text(const cluster_status& status) {
  std::vector<std::vector<std::string>> nodes{
    {"NODE", "STATE", "SERVES", "COPIES", "ADDRESS", "ZONE"}};
  for (const auto& node : status.nodes) {
    const auto count = [&](auto is_counted) {
      return std::to_string(std::count_if(
        status.shards.begin(), status.shards.end(), [&](const auto& shard) {
          return is_counted(node.name, shard);
        }));
    };
    nodes.push_back(
      {node.name,
       state_of(status, node),
       count(serves),
       count(has_copy),
       node.address,
       node.zone});
  }
  std::vector<std::vector<std::string>> shards{
    {"SHARD", "PRIMARY", "SERVED", "EPOCH", "PINNED TO", "COPIES", "WAITS FOR"}};
  for (const auto& shard : status.shards)
    shards.push_back(
      {std::to_string(value(shard.shard)),
       shard.primary,
       shard.is_served ? "yes" : "no",
       std::to_string(shard.epoch),
       shard.pinned.empty() ? "-" : shard.pinned,
       copies_of(shard),
       shard.waits_for.empty() ? "-" : shard.waits_for});
  return lost_etcd_of(status) + "cluster " + status.name + ": " + copies_wanted(status) + "\n\n"
         + format_table(nodes) + "\n" + format_table(shards);
}

/// The state of the cluster in an answer of a node port or of a gateway; none when the answer is an
/// error, or has another form.
std::optional<cluster_status> status_in(const answer<cluster_status>& got) {
  if (!got)
    return std::nullopt;
  if (const auto* status = std::get_if<cluster_status>(&*got))
    return *status;
  return read_cluster_status(std::get<document>(*got).json);
}

/// People get the same tables from a gateway as from a node port.
int show_status(context& with, const answer<cluster_status>& got) {
  const auto status = with.json ? std::nullopt : status_in(got);
  if (!status)
    return show(with, got, to_json, to_text);
  print(to_text(*status));
  return exit_done;
}

struct change_options {
  cluster_change change;
  duration wait = std::chrono::seconds(30);
};

option node_option(const char* name, std::string& to) {
  return required(
    config::name_option(name, "Name of the node, as `cluster status` shows it", to));
}

option wait_option(duration& to) {
  return config::duration_option(
    "wait",
    "How long to wait until it is done; 0 does not wait [default: 30s]",
    to,
    {duration{0}, wait_max});
}

std::vector<option> move_grammar(change_options& to) {
  to.change.what = cluster_change::kind::move;
  auto shard = config::count_option(
    "SHARD", "Number of the shard", to.change.shard, {0, limits::shards_max - 1});
  return {
    required(placed(std::move(shard))), node_option("to", to.change.node), wait_option(to.wait)};
}

std::vector<option> force_grammar(change_options& to) {
  auto options = move_grammar(to);
  to.change.what = cluster_change::kind::force_primary;
  options.push_back(text_option(
    "confirm", "The words of the loss, which the command tells without them", to.change.confirm,
    confirm_bytes_max));
  return options;
}

std::vector<option> drain_grammar(change_options& to) {
  to.change.what = cluster_change::kind::drain;
  return {placed(node_option("NODE", to.change.node)), wait_option(to.wait)};
}

std::vector<option> undrain_grammar(change_options& to) {
  to.change.what = cluster_change::kind::undrain;
  return {placed(node_option("NODE", to.change.node))};
}

/// The shard is as the change wants it.
bool is_done(const cluster_change& change, const cluster_shard& shard) {
  using kind = cluster_change::kind;
  if (change.what == kind::drain)
    return !has_copy(change.node, shard);
  const auto is_of_shard = change.what == kind::move || change.what == kind::force_primary;
  return !is_of_shard || shard.shard != change.shard
         || (shard.primary == change.node && shard.is_served);
}

/// The first shard that is not yet as the change wants it; null: all are.
const cluster_shard* first_left(const cluster_change& change, const cluster_status& status) {
  const auto left = std::find_if(
    status.shards.begin(), status.shards.end(),
    [&](const auto& shard) { return !is_done(change, shard); });
  return left == status.shards.end() ? nullptr : &*left;
}

error not_done(const cluster_shard& left) {
  const auto reason = left.waits_for.empty()
                        ? std::string()
                        : ": shard " + std::to_string(value(left.shard)) + " waits for "
                            + left.waits_for;
  return {errc::timeout, "it is stored, but not done yet" + reason};
}

/// Says which shards lose the place that an operator gave them, when the node that gave the answer
/// to the drain knows any; empty otherwise.
std::string lost_places(const cluster_change& change, const answer<cluster_status>& drained) {
  const auto status = status_in(drained);
  if (!status || change.what != cluster_change::kind::drain)
    return {};
  std::vector<shard_id> lost;
  for (const auto& shard : status->shards)
    if (shard.pinned == change.node)
      lost.push_back(shard.shard);
  if (lost.empty())
    return {};
  return shards_text(lost) + (lost.size() == 1 ? " is" : " are") + " no longer pinned to "
         + change.node + ", since that is drained";
}

/// The answer to a change; that of a node port is what one coordinator knows, so all are asked.
answer<cluster_status> look(context& with, answer<cluster_status> changed) {
  const auto is_of_one = changed && std::holds_alternative<cluster_status>(*changed);
  return is_of_one ? with.api.cluster() : std::move(changed);
}

answer<cluster_status> change_and_look(context& with, const cluster_change& change) {
  return look(with, with.api.change_cluster(change));
}

/// Makes the change, waits until it is done, and shows the state of the cluster.
int run_change(context& with, const change_options& wish) {
  const auto end = std::chrono::steady_clock::now() + wish.wait;
  auto got = with.api.change_cluster(wish.change);
  if (const auto words = lost_places(wish.change, got); !words.empty())
    complain(words);
  got = look(with, std::move(got));
  while (wish.wait > duration{0}) {
    const auto status = status_in(got);
    const auto* left = status ? first_left(wish.change, *status) : nullptr;
    if (left == nullptr)
      break;
    if (std::chrono::steady_clock::now() >= end)
      return fail(not_done(*left), with.json);
    std::this_thread::sleep_for(look_pause);
    got = with.api.cluster();
  }
  return show_status(with, got);
}

} // namespace

void add_cluster(command_table& to) {
  to.group("cluster", "Show the coordinators of a cluster, and move shards between them");
  to.add(command<no_options>{
    .name = "cluster status",
    .help = "Show nodes, shards, their primaries and copies, and what they wait for",
    .run =
      [](context& with, const no_options&) { return show_status(with, with.api.cluster()); },
    .details =
      "A node is a coordinator of the cluster; a shard is a part of the store, which one node, its "
      "primary, serves. `unreached` beside the state of a node names the nodes to which it has no "
      "connection. PINNED TO: the node to which `cluster move` has moved the shard, where it stays "
      "until `cluster balance`, or until that node is drained. COPIES: the nodes that hold a copy, "
      "each with the epoch and the number of its last change, and by how many changes it is "
      "behind. A shard that is not served has a primary that is missing, does not answer or takes "
      "over. WAITS FOR: the next step until a shard is as it should be; - is none."});
  to.add(command<change_options>{
    .name = "cluster move",
    .help = "Have a node serve a shard of which it has a copy in sync",
    .grammar = move_grammar,
    .run = run_change,
    .details = "The shard stays there, as long as the node has its copy, until it is moved again, "
               "the node is drained, or `cluster balance` is given."});
  to.add(command<change_options>{
    .name = "cluster drain",
    .help = "Move all shards and copies away from a node; it stays empty until `cluster undrain`",
    .grammar = drain_grammar,
    .run = run_change,
    .details = "A copy goes only when its shard has all its copies in sync on other nodes; while "
               "too few nodes are left for that, the node stays `draining`. It can be stopped when "
               "`cluster status` says so. The copies of a node that is missing are replaced, too. "
               "Shards that `cluster move` has placed there are placed as others are from then "
               "on."});
  to.add(command<change_options>{
    .name = "cluster undrain",
    .help = "Give shards and copies to a node again",
    .grammar = undrain_grammar,
    .run = [](context& with, const change_options& wish) {
      return show_status(with, change_and_look(with, wish.change));
    }});
  to.add(command<change_options>{
    .name = "cluster force-primary",
    .help = "Have a node serve a shard although its copy may lack acknowledged data",
    .grammar = force_grammar,
    .run = run_change,
    .details = "Only for a shard none of whose copies in sync will come back. The coordinator of "
               "that node has to be asked. What others acknowledged and its copy lacks is lost for "
               "ever; without --confirm nothing is done, and the error tells what to confirm."});
  to.add(command<no_options>{
    .name = "cluster balance",
    .help = "Forget all moves: shards are spread evenly again",
    .run = [](context& with, const no_options&) {
      return show_status(with, change_and_look(with, {cluster_change::kind::balance, {}, {}}));
    }});
}

} // namespace codeq::ctl
