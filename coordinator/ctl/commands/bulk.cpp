// SPDX-License-Identifier: Apache-2.0
#include "codeq/limits.hpp"

#include "base/json_writer.hpp"
#include "ctl/command_options.hpp"
#include "ctl/commands.hpp"
#include "ctl/confirmation.hpp"
#include "ctl/known_queue.hpp"
#include "ctl/text.hpp"

#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace codeq::ctl {

namespace {

/// `queue`: its tasks were meant; without a name those of all queues.
int show_count(
  const context& with,
  const queue_address& queue,
  const answer<std::uint64_t>& got,
  const char* verb) {
  auto to_json = [](std::uint64_t count) {
    base::json_writer out;
    out.begin_object().field("changed", count).end_object();
    return out.take() + "\n";
  };
  auto to_text = [verb](std::uint64_t count) {
    return std::string(verb) + " " + std::to_string(count) + (count == 1 ? " task\n" : " tasks\n");
  };
  return show_of(with, queue, got, to_json, to_text);
}

/// Options that select dead tasks.
std::vector<option> select_grammar(dead_filter& filter) {
  std::vector<option> options{
    queue_filter_option(filter.queue),
    tenant_option(filter.tenant),
    group_filter_option(filter.group),
    error_filter_option(filter.error)};
  for (auto& one : age_options(filter.died))
    options.push_back(std::move(one));
  return options;
}

std::vector<option> dead_grammar(dead_filter& filter) {
  constexpr auto any = std::numeric_limits<std::uint64_t>::max();
  auto options = select_grammar(filter);
  options.push_back(
    count_option("limit", "Maximum number of tasks [default: all]", filter.limit, {1, any}));
  options.push_back(count_option(
    "rate",
    "Maximum number of tasks per second, 1 to 1000000 [default: no limit]",
    filter.rate,
    {1, limits::bulk_rate_max}));
  options.push_back(switch_option(
    "dry-run", "Only count the tasks that would be changed now [default: off]", filter.is_dry_run));
  return options;
}

int change(context& with, const dead_filter& filter, dead_change what) {
  bool redrives = what == dead_change::redrive;
  const char* verb = redrives ? "redrove" : "purged";
  if (filter.is_dry_run)
    verb = redrives ? "would redrive" : "would purge";
  return show_count(
    with, {filter.tenant, filter.queue}, with.api.change_dead(filter, what), verb);
}

std::string summary_json(const dead_summary& summary) {
  base::json_writer out;
  out.begin_object().begin_array("kinds");
  for (const auto& kind : summary.kinds) {
    out.begin_object().bytes_field("fingerprint", kind.fingerprint).field("tasks", kind.tasks);
    out.field("first_died_ms", kind.first_died.time_since_epoch().count());
    out.field("last_died_ms", kind.last_died.time_since_epoch().count());
    out.field("last_task", to_string(kind.last)).bytes_field("error_text", kind.error_text);
    out.end_object();
  }
  out.end_array().field("tasks", summary.tasks).field("left_out", summary.left_out);
  return out.end_object().take() + "\n";
}

std::string summary_text(const dead_summary& summary) {
  std::vector<std::vector<std::string>> rows{{"TASKS", "FIRST DIED", "LAST DIED", "LAST", "ERROR"}};
  for (const auto& kind : summary.kinds)
    rows.push_back(
      {std::to_string(kind.tasks),
       to_string(kind.first_died),
       to_string(kind.last_died),
       to_string(kind.last),
       kind.fingerprint.empty() ? "(none)" : in_one_line(kind.fingerprint)});
  auto text = format_table(rows) + std::to_string(summary.tasks) + " dead tasks";
  if (summary.left_out > 0)
    text += ", of which " + std::to_string(summary.left_out) + " with other errors";
  return text + "\n";
}

struct tenant_options {
  std::string tenant;
  bool is_confirmed = false;
};

std::vector<option> tenant_grammar(tenant_options& to) {
  return {
    required(placed(name_option("TENANT", "The tenant's name", to.tenant))),
    confirmation_option(to.is_confirmed)};
}

int purge_tenant(context& with, const tenant_options& given) {
  auto effect = "removes every task of tenant " + quote(given.tenant) + " for good";
  if (auto refused = refuse_unconfirmed(with, given.is_confirmed, effect))
    return *refused;
  return show_count(with, {given.tenant, {}}, with.api.purge_tenant(given.tenant), "purged");
}

struct purge_queue_options {
  queue_address queue;
  bool is_confirmed = false;
};

int purge_queue(context& with, const purge_queue_options& given) {
  auto effect = "removes every task of queue " + quote(given.queue.queue)
                + " for good, also those that run";
  if (auto refused = refuse_unconfirmed(with, given.is_confirmed, effect))
    return *refused;
  return show_count(with, given.queue, with.api.purge_queue(given.queue), "purged");
}

struct purge_dead_options {
  dead_filter filter;
  bool is_confirmed = false;
};

int purge_dead(context& with, const purge_dead_options& given) {
  auto whose = given.filter.queue.empty() ? "all queues" : "queue " + quote(given.filter.queue);
  auto effect = "removes dead tasks of " + whose + " for good";
  bool is_confirmed = given.is_confirmed || given.filter.is_dry_run;
  if (auto refused = refuse_unconfirmed(with, is_confirmed, effect))
    return *refused;
  return change(with, given.filter, dead_change::purge);
}

void add_dead(command_table& to) {
  to.group("dead", "List, summarize, redrive or purge dead tasks");
  to.add(command<dead_filter>{
    .name = "dead summary",
    .help = "Count dead tasks by their errors, without the numbers and ids in these",
    .grammar = select_grammar,
    .run = [](context& with, const dead_filter& filter) {
      return show_of(
        with,
        {filter.tenant, filter.queue},
        with.api.summarize_dead(filter),
        summary_json,
        summary_text);
    }});
  to.add(command<dead_filter>{
    .name = "dead redrive",
    .help = "Give dead tasks all their attempts again",
    .grammar = dead_grammar,
    .run = [](context& with, const dead_filter& filter) {
      return change(with, filter, dead_change::redrive);
    }});
  to.add(command<purge_dead_options>{
    .name = "dead purge",
    .help = "Remove dead tasks for good",
    .grammar =
      [](purge_dead_options& to) {
        auto options = dead_grammar(to.filter);
        options.push_back(confirmation_option(to.is_confirmed));
        return options;
      },
    .run = purge_dead});
}

} // namespace

void add_bulk(command_table& to) {
  add_dead(to);
  to.add(command<purge_queue_options>{
    .name = "queue purge",
    .help = "Remove every task of a queue for good, whatever its state",
    .grammar =
      [](purge_queue_options& to) {
        return std::vector{
          queue_option(to.queue.queue),
          tenant_option(to.queue.tenant),
          confirmation_option(to.is_confirmed)};
      },
    .run = purge_queue});
  to.group("tenant", "Purge a tenant");
  to.add(command<tenant_options>{
    .name = "tenant purge",
    .help = "Remove every task of every queue of a tenant for good",
    .grammar = tenant_grammar,
    .run = purge_tenant});
}

} // namespace codeq::ctl
