// SPDX-License-Identifier: Apache-2.0
#include "base/json_writer.hpp"
#include "ctl/command_options.hpp"
#include "ctl/commands.hpp"
#include "ctl/text.hpp"

#include <string>
#include <vector>

namespace codeq::ctl {

namespace {

std::string to_json(const coordinator_stats& stats) {
  base::json_writer out;
  out.begin_object().begin_array("queues");
  for (const auto& queue : stats.queues) {
    out.begin_object();
    out.field("tenant", queue.queue.tenant).field("queue", queue.queue.queue);
    out.field("scheduled", queue.scheduled).field("gated", queue.gated);
    out.field("ready", queue.ready).field("leased", queue.leased);
    out.field("completed", queue.completed).field("dead", queue.dead);
    out.field("lost", queue.lost).end_object();
  }
  out.end_array().begin_object("gauges");
  for (const auto& [name, value] : stats.gauges)
    out.field(name, value);
  return out.end_object().end_object().take() + "\n";
}

std::string to_text(const coordinator_stats& stats) {
  using std::to_string;
  std::vector<std::vector<std::string>> rows{
    {"QUEUE", "SCHEDULED", "GATED", "READY", "LEASED", "COMPLETED", "DEAD", "LOST"}};
  for (const auto& queue : stats.queues)
    rows.push_back(
      {queue.queue.tenant + "/" + queue.queue.queue,
       to_string(queue.scheduled),
       to_string(queue.gated),
       to_string(queue.ready),
       to_string(queue.leased),
       to_string(queue.completed),
       to_string(queue.dead),
       to_string(queue.lost)});
  std::vector<std::pair<std::string, std::string>> gauges;
  for (const auto& [name, value] : stats.gauges)
    gauges.emplace_back(name, to_string(value));
  return format_table(rows) + (gauges.empty() ? "" : "\n") + format_fields(gauges);
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
        return show(with, with.api.stats_of(queue), to_json, to_text);
      },
    .defaults = {"default", {}}});
  to.add(command<no_options>{
    .name = "stats",
    .help = "Show counts per queue and the coordinator's gauges",
    .run = [](context& with, const no_options&) {
      return show(with, with.api.stats(), to_json, to_text);
    }});
}

} // namespace codeq::ctl
