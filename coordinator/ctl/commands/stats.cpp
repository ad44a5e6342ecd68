// SPDX-License-Identifier: Apache-2.0
#include "base/json_writer.hpp"
#include "ctl/command_options.hpp"
#include "ctl/commands.hpp"
#include "ctl/known_queue.hpp"
#include "ctl/text.hpp"

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace codeq::ctl {

namespace {

constexpr auto details =
  "Now: SCHEDULED tasks wait for a time (their delay or their next attempt), GATED for an "
  "earlier task of their group, READY for a worker; a limit holds back HELD ones of the ready "
  "tasks; LEASED tasks run, or wait at their worker for a free slot; DEAD tasks have failed for "
  "good and are kept. OLDEST is how long the oldest ready task has waited for a worker. A PAUSED "
  "queue hands out no tasks. MAX-DEPTH and MAX-LEASED limit the tasks that have not ended and "
  "those that are leased. Since the store was created: COMPLETED, CANCELLED and DIED count the "
  "tasks that ended so, also dead ones that were redriven or purged later; LOST counts leases "
  "that expired.";

constexpr auto no_queue = "The queue has no tasks and no settings of its own.\n";

void write_queue(base::json_writer& out, const queue_stats& queue) {
  out.begin_object();
  out.field("tenant", queue.queue.tenant).field("queue", queue.queue.queue);
  out.field("paused", queue.paused);
  out.field("scheduled", queue.scheduled).field("gated", queue.gated);
  out.field("ready", queue.ready).field("held", queue.held);
  out.field("leased", queue.leased).field("dead", queue.dead_now);
  out.field("oldest_ready_ms", queue.oldest_ready.count());
  out.field("max_depth", queue.max_depth).field("max_leased", queue.max_leased);
  out.field("completed", queue.completed).field("cancelled", queue.cancelled);
  out.field("died", queue.dead).field("lost", queue.lost);
  out.begin_object("ready_by_priority");
  for (std::size_t priority = 0; priority < queue.ready_by_priority.size(); ++priority)
    if (queue.ready_by_priority[priority] > 0)
      out.field(std::to_string(priority), queue.ready_by_priority[priority]);
  out.end_object().end_object();
}

std::string to_json(const coordinator_stats& stats) {
  base::json_writer out;
  out.begin_object().begin_array("queues");
  for (const auto& queue : stats.queues)
    write_queue(out, queue);
  out.end_array().begin_object("gauges");
  for (const auto& [name, value] : stats.gauges)
    out.field(name, value);
  out.end_object();
  write_shards(out, "missing", stats.missing);
  if (stats.missing_unnamed > 0)
    out.field("missing_unnamed", stats.missing_unnamed);
  return out.end_object().take() + "\n";
}

std::string limit_of(std::uint64_t limit) {
  return limit == 0 ? "-" : std::to_string(limit);
}

std::string age_of(duration oldest) {
  auto seconds = std::chrono::floor<std::chrono::seconds>(oldest);
  return oldest == duration{0} ? "-" : std::to_string(seconds.count()) + "s";
}

std::vector<std::string> row_of(const queue_stats& queue) {
  using std::to_string;
  return {
    queue.queue.tenant + "/" + queue.queue.queue,
    queue.paused ? "yes" : "-",
    to_string(queue.scheduled),
    to_string(queue.gated),
    to_string(queue.ready),
    to_string(queue.held),
    age_of(queue.oldest_ready),
    to_string(queue.leased),
    to_string(queue.dead_now),
    limit_of(queue.max_depth),
    limit_of(queue.max_leased),
    to_string(queue.completed),
    to_string(queue.cancelled),
    to_string(queue.dead),
    to_string(queue.lost)};
}

std::string to_text(const coordinator_stats& stats) {
  std::vector<std::vector<std::string>> rows{
    {"QUEUE",
     "PAUSED",
     "SCHEDULED",
     "GATED",
     "READY",
     "HELD",
     "OLDEST",
     "LEASED",
     "DEAD",
     "MAX-DEPTH",
     "MAX-LEASED",
     "COMPLETED",
     "CANCELLED",
     "DIED",
     "LOST"}};
  for (const auto& queue : stats.queues)
    rows.push_back(row_of(queue));
  std::vector<std::pair<std::string, std::string>> gauges;
  for (const auto& [name, value] : stats.gauges)
    gauges.emplace_back(name, std::to_string(value));
  return format_table(rows) + (gauges.empty() ? "" : "\n") + format_fields(gauges)
         + left_out_text(stats.missing, stats.missing_unnamed, "tasks");
}

} // namespace

void add_stats(command_table& to) {
  to.add(command<queue_address>{
    .name = "queue stats",
    .help = "Show the counts of a queue, or of all queues",
    .grammar =
      [](queue_address& queue) {
        return std::vector{queue_option(queue.queue, false), tenant_option(queue.tenant)};
      },
    .run =
      [](context& with, const queue_address& queue) {
        auto text = [&queue](const coordinator_stats& stats) {
          return is_empty(stats) && !queue.queue.empty() ? no_queue : to_text(stats);
        };
        return show_of(with, queue, with.api.stats_of(queue), to_json, text);
      },
    .details = details});
  to.add(command<no_options>{
    .name = "stats",
    .help = "Show counts per queue and the coordinator's gauges",
    .run =
      [](context& with, const no_options&) {
        return show(with, with.api.stats(), to_json, to_text);
      },
    .details = std::string(details)
               + " Below the queues stand the coordinator's gauges, for an admin of all tenants."});
}

} // namespace codeq::ctl
