// SPDX-License-Identifier: Apache-2.0
#include "codeq/limits.hpp"

#include "base/json_writer.hpp"
#include "ctl/command_options.hpp"
#include "ctl/commands.hpp"
#include "http/json/json_reader.hpp"

#include <string>
#include <vector>

namespace codeq::ctl {

namespace {

using kind = change_result;

std::string to_json(const change_outcome& outcome) {
  base::json_writer out;
  out.begin_object();
  if (outcome.what != kind::not_found)
    out.field("id", to_string(outcome.id));
  out.field("outcome", to_string(outcome.what));
  if (outcome.what != kind::not_found)
    out.field("state", to_string(outcome.state));
  return out.end_object().take() + "\n";
}

std::string to_text(const change_outcome& outcome) {
  auto text = "task " + to_string(outcome.id) + " is " + std::string(to_string(outcome.state));
  switch (outcome.what) {
  case kind::changed:
    return text + "\n";
  case kind::requested:
    return text + "; its worker is asked to stop\n";
  case kind::unchanged:
    return text + " and stays so\n";
  case kind::guarded:
    break;
  case kind::key_taken:
    return text + " and stays so: another live task has its key\n";
  case kind::not_found:
    return "no task has that key\n";
  }
  return text + "\n";
}

/// True when the change was not made and a repeat would not help.
bool is_failure(kind what) {
  return what == kind::key_taken || what == kind::not_found || what == kind::guarded;
}

/// The same for a gateway's answer.
bool is_failure(const document& said) {
  auto object = http::json_object::parse(said.json);
  if (!object)
    return false;
  const auto outcome = object->text("outcome");
  return outcome == to_string(kind::guarded) || outcome == to_string(kind::key_taken);
}

/// Why a task keeps its producer's delay. Asks the coordinator when it ends.
std::string guarded_text(operator_api& api, task_id task) {
  auto text = "task " + to_string(task)
              + " is not promoted: its producer's delay stays, because it was enqueued without "
                "--allow-promotion";
  auto answer = api.status(task);
  const auto* status = answer ? std::get_if<task_status>(&*answer) : nullptr;
  if (status == nullptr || !status->eligible_at)
    return text;
  return text + "; it starts at " + to_string(*status->eligible_at);
}

int show_change(const context& with, const answer<change_outcome>& got) {
  const auto* outcome = got ? std::get_if<change_outcome>(&*got) : nullptr;
  if (outcome && outcome->what == kind::not_found && !with.json)
    return fail({errc::unknown_task, "no task has that key"}, false);
  if (outcome && outcome->what == kind::guarded && !with.json) {
    complain(guarded_text(with.api, outcome->id));
    return exit_failed;
  }
  auto status = show(with, got, to_json, to_text);
  const auto* said = got ? std::get_if<document>(&*got) : nullptr;
  bool is_failed = (outcome && is_failure(outcome->what)) || (said && is_failure(*said));
  return is_failed ? exit_failed : status;
}

struct change_options {
  task_change what = task_change::cancel;
  named_task task{};
};

int change(context& with, const change_options& given) {
  return show_change(with, with.api.change(given.task.target(), given.what));
}

/// Adds a command that changes a live task, which may be identified by its key.
void add_live(command_table& to, const char* name, const char* help, task_change what) {
  to.add(command<change_options>{
    .name = name,
    .help = help,
    .grammar = [](change_options& given) { return given.task.options(); },
    .run = change,
    .check = [](const change_options& given) { return given.task.check(); },
    .defaults = {what}});
}

/// Adds a command that changes a dead task, which is identified by its id.
void add_dead(command_table& to, const char* name, const char* help, task_change what) {
  to.add(command<change_options>{
    .name = name,
    .help = help,
    .grammar =
      [](change_options& given) { return std::vector{id_option(given.task.id.emplace())}; },
    .run = change,
    .defaults = {what}});
}

struct force_options {
  force_kind how = force_kind::revoke;
  task_id task{};
  std::string text{};
};

std::vector<option> force_grammar(force_options& to) {
  std::vector options{id_option(to.task)};
  if (to.how == force_kind::complete)
    options.push_back(text_option(
      "text",
      "The task's result, at most 1 MiB [default: empty]",
      to.text,
      limits::result_bytes_max));
  if (to.how == force_kind::fail)
    options.push_back(text_option(
      "text",
      "Why it failed, at most 16 KiB [default: empty]",
      to.text,
      limits::error_text_bytes_max));
  return options;
}

int force(context& with, const force_options& given) {
  return show_change(with, with.api.force(given.task, given.how, given.text));
}

void add_force(command_table& to, const char* name, const char* help, force_kind how) {
  to.add(command<force_options>{
    .name = name, .help = help, .grammar = force_grammar, .run = force, .defaults = {how}});
}

} // namespace

void add_change(command_table& to) {
  add_live(
    to,
    "cancel",
    "End a task; a running handler is asked to stop, and may still complete it",
    task_change::cancel);
  add_live(
    to,
    "promote",
    "Make a waiting task ready now; fails if it waits for the producer's own delay and was "
    "enqueued without --allow-promotion",
    task_change::promote);
  add_dead(to, "redrive", "Give a dead task all its attempts again", task_change::redrive);
  add_dead(to, "purge", "Remove a dead task for good", task_change::purge);
  to.group("force", "End a lease or a task without its worker");
  add_force(
    to,
    "force revoke",
    "End a running task's lease; the task is ready again, and the attempt is not counted",
    force_kind::revoke);
  add_force(to, "force complete", "Complete a task that has not ended", force_kind::complete);
  add_force(to, "force fail", "Make a task that has not ended dead", force_kind::fail);
}

} // namespace codeq::ctl
