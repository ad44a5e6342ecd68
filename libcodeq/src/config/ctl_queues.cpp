// SPDX-License-Identifier: Apache-2.0
#include "codeq/limits.hpp"

#include "config/ctl_commands.hpp"

#include <limits>

namespace codeq::config {

namespace {

using action = queue_command::action;

constexpr std::uint64_t queue_limit_max = 1'000'000'000'000;

result<task_state> parse_state(const std::string& text) {
  auto choice =
    parse_choice(text, {"scheduled", "gated", "ready", "leased", "completed", "dead", "cancelled"});
  if (!choice)
    return choice.error();
  return static_cast<task_state>(*choice);
}

result<bool> parse_keep_payload(const std::string& text) {
  return parse_switch(text);
}

void add_list(ctl_commands& to, const char* name, const char* help, bool only_dead) {
  auto target = std::make_shared<list_command>();
  auto& filter = target->filter;
  command entry{
    name,
    help,
    {queue_filter_option(filter.queue),
     tenant_option(filter.tenant),
     count_option(
       "limit",
       "How many tasks, 1 to 10000 [default: 100]",
       target->limit,
       {1, limits::listed_tasks_max})}};
  if (only_dead) {
    filter.state = task_state::dead;
    entry.options.push_back(switch_option(
      "blocking", "Only those that block their group [default: all]", filter.is_blocking));
  } else {
    entry.options.push_back(
      {.name = "state",
       .value = "STATE",
       .help = "Only tasks that are scheduled, gated, ready, leased, completed, dead or cancelled "
               "[default: any]",
       .take = put_into(filter.state, parse_state)});
  }
  to.add(std::move(entry), target);
}

void add_dead(ctl_commands& to, const char* name, const char* help, dead_change what) {
  constexpr auto any = std::numeric_limits<std::uint64_t>::max();
  auto target = std::make_shared<dead_command>();
  auto& filter = target->filter;
  target->change = what;
  to.add<dead_command>(
    {name,
     help,
     {queue_filter_option(filter.queue),
      tenant_option(filter.tenant),
      count_option("limit", "How many tasks at most [default: all]", filter.limit, {1, any}),
      count_option(
        "rate",
        "How many tasks per second at most, 1 to 1000000 [default: as fast as it goes]",
        filter.rate,
        {1, limits::bulk_rate_max})}},
    target);
}

void add_queue_action(ctl_commands& to, const char* name, const char* help, action what) {
  auto target = std::make_shared<queue_command>();
  target->what = what;
  auto& queue = target->queue;
  to.add<queue_command>(
    {name, help, {queue_option(queue.queue), tenant_option(queue.tenant)}}, target);
}

void add_queue_set(ctl_commands& to) {
  auto target = std::make_shared<queue_set_command>();
  auto& changes = target->changes;
  command entry{
    "queue set",
    "Change what a queue gives its tasks, from the next enqueue on, and how much it takes; the "
    "rest "
    "stays",
    {queue_option(target->queue.queue), tenant_option(target->queue.tenant)}};
  for (auto& one :
       settings_options(changes, [](const char*) { return std::string("[default: unchanged]"); }))
    entry.options.push_back(std::move(one));
  entry.options.push_back(count_option(
    "max-depth",
    "Tasks that have not ended at most, 0 is no limit; each shard takes an equal part, rounded up "
    "[default: unchanged]",
    changes.max_depth,
    {0, queue_limit_max}));
  entry.options.push_back(count_option(
    "max-leased",
    "Tasks that run at the same time at most, 0 is no limit; each shard takes an equal part, "
    "rounded up [default: unchanged]",
    changes.max_leased,
    {0, queue_limit_max}));
  entry.options.push_back(
    {.name = "keep-payload",
     .value = "true|false",
     .help = "Keep the payload of a completed task as long as its record [default: unchanged]",
     .take = put_into(changes.keep_payload, parse_keep_payload)});
  to.add(std::move(entry), target);
}

} // namespace

void add_queue_commands(ctl_commands& to) {
  add_queue_action(to, "queue show", "Show what is configured of a queue", action::show);
  add_queue_set(to);
  add_queue_action(
    to, "queue pause", "Hand out no more tasks of a queue; what runs goes on", action::pause);
  add_queue_action(to, "queue resume", "Hand out tasks of a queue again", action::resume);
  add_queue_action(
    to, "queue purge", "Remove every task of a queue for good, whatever its state", action::purge);
  auto stats = std::make_shared<queue_stats_command>();
  to.add<queue_stats_command>(
    {"queue stats",
     "Show the counts of a queue, or of all queues",
     {queue_option(stats->queue.queue, false), tenant_option(stats->queue.tenant)}},
    stats);
}

void add_bulk_commands(ctl_commands& to) {
  add_list(to, "list", "List the oldest tasks", false);
  add_list(to, "dead list", "List the oldest dead tasks", true);
  add_dead(to, "dead redrive", "Give dead tasks all their attempts again", dead_change::redrive);
  add_dead(to, "dead purge", "Remove dead tasks for good", dead_change::purge);
  auto target = std::make_shared<tenant_purge_command>();
  auto tenant = name_option("TENANT", "The tenant's name", target->tenant);
  tenant.positional = tenant.required = true;
  command entry{
    "tenant purge",
    "Remove every task of every queue of a tenant for good",
    {std::move(tenant), switch_option("yes", "Really do it [default: off]", target->is_confirmed)}};
  to.add<tenant_purge_command>(
    std::move(entry), target, [](tenant_purge_command& command) -> result<void> {
      if (command.is_confirmed)
        return {};
      return error{
        errc::invalid_argument,
        "this removes every task of tenant " + quote(command.tenant)
          + " for good; add --yes to do it"};
    });
}

} // namespace codeq::config
