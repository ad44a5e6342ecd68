// SPDX-License-Identifier: Apache-2.0
#include "base/json_writer.hpp"
#include "ctl/client.hpp"
#include "ctl/commands.hpp"
#include "ctl/output.hpp"
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

int run(const config::ctl_config& config, const config::stats_command&) {
  auto ask = [](operator_client& client) { return client.stats(); };
  return ask_and_show(config, ask, [&](const coordinator_stats& stats) {
    print(config.json ? to_json(stats) : to_text(stats));
    return exit_done;
  });
}

int run(const config::ctl_config& config, const config::queue_stats_command& command) {
  auto ask = [](operator_client& client) { return client.stats(); };
  return ask_and_show(config, ask, [&](coordinator_stats& stats) {
    stats.gauges.clear();
    std::erase_if(stats.queues, [&](const queue_stats& one) {
      const auto& wanted = command.queue;
      return one.queue.tenant != wanted.tenant
             || (!wanted.queue.empty() && one.queue.queue != wanted.queue);
    });
    print(config.json ? to_json(stats) : to_text(stats));
    return exit_done;
  });
}

} // namespace codeq::ctl
