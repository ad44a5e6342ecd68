// SPDX-License-Identifier: Apache-2.0
#include "codeq/limits.hpp"

#include "config/ctl_commands.hpp"

namespace codeq::config {

namespace {

constexpr duration wait_max = 7 * std::chrono::hours(24);

/// What names a task, before it is known which way was chosen.
struct target_flags {
  std::optional<task_id> id;
  task_key key;
};

std::vector<option> target_options(target_flags& to) {
  auto id = std::make_shared<task_id>();
  auto by_id = id_option(*id);
  by_id.required = false;
  by_id.help += "; or --queue and --key";
  by_id.take = [id, take = by_id.take, &to](const std::string& text) {
    auto taken = take(text);
    to.id = *id;
    return taken;
  };
  return {
    std::move(by_id),
    name_option("queue", "Queue of the task with that key [default: none]", to.key.queue.queue),
    text_option(
      "key", "The task's key instead of its id [default: none]", to.key.key, limits::key_bytes_max),
    text_option(
      "group",
      "Group of the task with that key [default: none]",
      to.key.group,
      limits::group_bytes_max),
    tenant_option(to.key.queue.tenant)};
}

result<task_target> target_of(const target_flags& given) {
  auto refuse = [](const char* text) { return error{errc::invalid_argument, text}; };
  const auto& key = given.key;
  if (given.id && (!key.key.empty() || !key.queue.queue.empty() || !key.group.empty()))
    return refuse("ID and --key are both given; give one of them");
  if (given.id)
    return task_target{*given.id};
  if (key.key.empty())
    return refuse("ID is required, or --queue and --key");
  if (key.queue.queue.empty())
    return refuse("--key needs --queue");
  return task_target{key};
}

/// A command about one task, named by id or key.
template <class Command>
void add_targeted(ctl_commands& to, const char* name, const char* help, Command plain) {
  auto flags = std::make_shared<target_flags>();
  auto target = std::make_shared<Command>(std::move(plain));
  to.add<Command>(
    {name, help, target_options(*flags)}, target, [flags](Command& command) -> result<void> {
      auto task = target_of(*flags);
      if (!task)
        return task.error();
      command.task = std::move(*task);
      return {};
    });
}

/// A change of one task, named by its id.
void add_change(ctl_commands& to, const char* name, const char* help, task_change what) {
  auto id = std::make_shared<task_id>();
  auto target = std::make_shared<change_command>();
  target->change = what;
  to.add<change_command>(
    {name, help, {id_option(*id)}}, target, [id](change_command& command) -> result<void> {
      command.task = *id;
      return {};
    });
}

void add_force(ctl_commands& to, const char* name, const char* help, force_kind how) {
  auto target = std::make_shared<force_command>();
  target->how = how;
  command entry{name, help, {id_option(target->task)}};
  if (how != force_kind::revoke) {
    auto limit = how == force_kind::fail ? limits::error_text_bytes_max : limits::result_bytes_max;
    auto help_text = how == force_kind::fail ? "Why it failed, at most 16 KiB [default: empty]"
                                             : "The task's result, at most 1 MiB [default: empty]";
    entry.options.push_back(text_option("text", help_text, target->text, limit));
  }
  to.add(std::move(entry), target);
}

/// A question about one task, named by its id.
template <class Command>
void add_question(ctl_commands& to, const char* name, const char* help) {
  auto target = std::make_shared<Command>();
  to.add<Command>({name, help, {id_option(target->task)}}, target);
}

} // namespace

void add_task_commands(ctl_commands& to) {
  add_targeted(to, "get", "Show what is known of a task", get_command{});
  auto result_target = std::make_shared<result_command>();
  to.add<result_command>(
    {"result",
     "Write the result of a completed task to stdout",
     {id_option(result_target->task),
      duration_option(
        "wait",
        "Wait until the task ends, at most this long [default: do not wait]",
        result_target->wait,
        {duration{0}, wait_max})}},
    result_target);
  auto watch_target = std::make_shared<watch_command>();
  watch_target->wait = wait_max;
  to.add<watch_command>(
    {"watch",
     "Show how far a task's handler is until the task ends",
     {id_option(watch_target->task),
      duration_option(
        "wait", "At most this long [default: 7d]", watch_target->wait, {duration{0}, wait_max})}},
    watch_target);
  add_question<explain_command>(to, "explain", "Say in one sentence why a task does not run");
  add_question<events_command>(to, "events", "Show what happened to a task");
  add_targeted(
    to,
    "cancel",
    "End a task; a running handler is asked to stop, and may still complete it",
    change_command{{}, task_change::cancel});
  add_targeted(
    to,
    "promote",
    "Make a task that waits for a time ready now; a delay of its producer counts on unless the "
    "task was enqueued with --allow-promotion",
    change_command{{}, task_change::promote});
  add_change(to, "redrive", "Give a dead task all its attempts again", task_change::redrive);
  add_change(to, "purge", "Remove a dead task for good", task_change::purge);
  add_force(
    to,
    "force revoke",
    "End a running task's lease, uncharged; the task is ready again",
    force_kind::revoke);
  add_force(to, "force complete", "Complete a task that has not ended", force_kind::complete);
  add_force(to, "force fail", "Make a task that has not ended dead", force_kind::fail);
}

} // namespace codeq::config
