// SPDX-License-Identifier: Apache-2.0
#include "base/json_writer.hpp"
#include "config/option_file.hpp"
#include "ctl/command_options.hpp"
#include "ctl/commands.hpp"
#include "ctl/confirmation.hpp"
#include "ctl/schedule_options.hpp"
#include "ctl/task_options.hpp"
#include "ctl/text.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace codeq::ctl {

namespace {

struct apply_options {
  std::filesystem::path file;
  std::string tenant;
  bool prunes = false;
  bool is_dry_run = false;
  bool is_confirmed = false;
};

using specs = std::map<std::string, schedule_spec>;

/// The change that was made, or would be, to one schedule.
struct outcome {
  std::string name;
  std::string what;
};

std::vector<option> grammar(apply_options& to) {
  return {
    required(placed(config::path_option(
      "FILE", "FILE", "TOML file with a table [NAME] for each schedule", to.file))),
    tenant_option(to.tenant),
    switch_option(
      "prune", "Delete the tenant's schedules that the file does not name [default: off]",
      to.prunes),
    switch_option(
      "dry-run", "Check the file and print what would be done [default: off]", to.is_dry_run),
    confirmation_option(to.is_confirmed)};
}

error in_table(const std::string& name, const error& reason) {
  return {reason.code, "[" + name + "] " + reason.context};
}

result<schedule_spec> read_table(
  const std::string& name, const std::map<std::string, std::vector<std::string>>& table) {
  if (!is_valid_name(name))
    return error{errc::invalid_argument, "the name is not 1 to 128 of A-Z a-z 0-9 . _ -"};
  schedule_options given;
  auto options = definition_options(given);
  for (const auto& [key, values] : table) {
    auto at = std::find_if(
      options.begin(), options.end(), [&](const option& one) { return one.name == key; });
    if (at == options.end())
      return error{errc::invalid_argument, key + ": unknown; `schedule set --help` lists all"};
    if (values.size() != 1 && !at->repeatable)
      return error{errc::invalid_argument, key + ": must be one value"};
    for (const auto& value : values)
      if (auto ok = at->take(value); !ok)
        return error{errc::invalid_argument, key + ": " + ok.error().context};
  }
  if (given.task.queue.empty())
    return error{errc::invalid_argument, "queue: is missing"};
  auto spec = given.spec();
  if (spec)
    spec->task.payload = given.payload;
  return spec;
}

/// All schedules of the file. Errors: the first problem, before anything is done.
result<specs> read_file(const std::string& path) {
  auto tables = config::read_section_file(path);
  if (!tables)
    return error{tables.error().code, path + ": " + tables.error().context};
  specs all;
  for (const auto& [name, table] : *tables) {
    auto spec = read_table(name, table);
    if (!spec)
      return error{spec.error().code, path + ": " + in_table(name, spec.error()).context};
    all.emplace(name, std::move(*spec));
  }
  return all;
}

std::string to_json(const std::vector<outcome>& done) {
  base::json_writer out;
  out.begin_object().begin_array("schedules");
  for (const auto& one : done)
    out.begin_object().field("name", one.name).field("result", one.what).end_object();
  return out.end_array().end_object().take() + "\n";
}

std::string to_text(const std::vector<outcome>& done) {
  std::vector<std::vector<std::string>> rows;
  for (const auto& one : done)
    rows.push_back({one.name, one.what});
  return rows.empty() ? std::string() : format_table(rows);
}

/// The change that an answer names.
template <class T>
std::string result_in(const std::variant<T, document>& got) {
  if constexpr (std::is_same_v<T, schedule_answer>)
    if (const auto* answered = std::get_if<T>(&got))
      return std::string(to_string(answered->what));
  return "set";
}

/// The names of the tenant's schedules that are not in the file. Errors: `unsupported` over HTTP,
/// whose answers are not interpreted.
result<std::vector<std::string>>
names_beside(context& with, const apply_options& given, const specs& wanted) {
  auto all = with.api.list_schedules(given.tenant);
  if (!all)
    return all.error();
  const auto* found = std::get_if<std::vector<schedule_info>>(&*all);
  if (!found)
    return error{errc::unsupported, "--prune is not possible over --http; it takes --coordinator"};
  std::vector<std::string> names;
  for (const auto& one : *found)
    if (!wanted.contains(one.name.name))
      names.push_back(one.name.name);
  return names;
}

/// Checks a definition at the coordinator, or sets it.
result<std::string> apply_one(
  context& with, const apply_options& given, const std::string& name, const schedule_spec& spec) {
  schedule_address address{given.tenant, name};
  if (given.is_dry_run) {
    auto times = with.api.preview_schedule(address, spec, 1);
    return times ? result<std::string>("checked") : times.error();
  }
  auto answered = with.api.set_schedule(address, spec);
  return answered ? result<std::string>(result_in(*answered)) : answered.error();
}

/// `old`: the schedules to delete.
result<std::vector<outcome>> apply(
  context& with,
  const apply_options& given,
  const specs& wanted,
  const std::vector<std::string>& old) {
  std::vector<outcome> done;
  // All are checked before the first one is set.
  auto checking = given;
  checking.is_dry_run = true;
  for (const auto& [name, spec] : wanted)
    if (auto ok = apply_one(with, checking, name, spec); !ok)
      return in_table(name, ok.error());
  for (const auto& [name, spec] : wanted) {
    auto what = apply_one(with, given, name, spec);
    if (!what)
      return in_table(name, what.error());
    done.push_back({name, std::move(*what)});
  }
  for (const auto& name : old) {
    if (!given.is_dry_run)
      if (auto gone = with.api.change_schedule({given.tenant, name}, schedule_action::remove);
          !gone)
        return in_table(name, gone.error());
    done.push_back({name, given.is_dry_run ? "to be deleted" : "deleted"});
  }
  return done;
}

int run(context& with, const apply_options& given) {
  auto wanted = read_file(given.file.string());
  if (!wanted)
    return fail(wanted.error(), with.json);
  auto old = given.prunes ? names_beside(with, given, *wanted)
                          : result<std::vector<std::string>>(std::vector<std::string>());
  if (!old)
    return fail(old.error(), with.json);
  auto effect = "deletes " + std::to_string(old->size()) + " schedules that "
                + given.file.string() + " does not name, with their history";
  if (!old->empty() && !given.is_dry_run)
    if (auto refused = refuse_unconfirmed(with, given.is_confirmed, effect))
      return *refused;
  auto done = apply(with, given, *wanted, *old);
  if (!done)
    return fail(done.error(), with.json);
  print(with.json ? to_json(*done) : to_text(*done));
  return exit_done;
}

} // namespace

void add_schedule_apply(command_table& to) {
  to.add(command<apply_options>{
    .name = "schedule apply",
    .help = "Set all schedules of a file",
    .grammar = grammar,
    .run = run,
    .details = "The keys of a table are the options of `schedule set`: cron = \"30 2 * * *\", "
               "zone = \"Europe/Berlin\", queue = \"reports\". The whole file is checked before "
               "anything is changed."});
}

} // namespace codeq::ctl
