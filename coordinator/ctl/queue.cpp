// SPDX-License-Identifier: Apache-2.0
#include "base/json_writer.hpp"
#include "ctl/client.hpp"
#include "ctl/commands.hpp"
#include "ctl/queue_output.hpp"
#include "ctl/text.hpp"

#include <string>
#include <utility>
#include <vector>

namespace codeq::ctl {

namespace {

using action = config::queue_command::action;

std::string to_json(const queue_info& info) {
  base::json_writer out;
  out.begin_object().field("tenant", info.queue.tenant).field("queue", info.queue.queue);
  out.field("paused", info.paused).field("shards", info.shards);
  out.field("uniform", info.is_uniform);
  write_config(out, info.config);
  return out.end_object().take() + "\n";
}

/// "12 (4 shards have 3 each, rounded up)".
std::string limit_over_shards(std::uint64_t limit, const queue_info& info) {
  auto text = limit_text(limit);
  if (limit == 0 || info.shards < 2 || !info.is_uniform)
    return text;
  return text + " (" + std::to_string(info.shards) + " shards take "
         + std::to_string(limit / info.shards) + " each; what is set is divided and rounded up)";
}

std::string to_text(const queue_info& info) {
  std::vector<std::pair<std::string, std::string>> fields{
    {"queue", info.queue.tenant + "/" + info.queue.queue},
    {"paused", info.paused ? "yes" : "no"},
    {"max-depth", limit_over_shards(info.config.max_depth, info)},
    {"max-leased", limit_over_shards(info.config.max_leased, info)}};
  for (auto& field : config_fields(info.config))
    fields.push_back(std::move(field));
  auto text = format_fields(fields);
  if (!info.is_uniform)
    text += "\nThe shards differ, because a change did not reach all of them: make it again.\n";
  return text;
}

int show(const queue_info& info, bool json) {
  print(json ? to_json(info) : to_text(info));
  return exit_done;
}

int show_count(std::uint64_t count, const char* verb, bool json) {
  base::json_writer out;
  out.begin_object().field("changed", count).end_object();
  print(
    json ? out.take() + "\n"
         : std::string(verb) + " " + std::to_string(count) + (count == 1 ? " task\n" : " tasks\n"));
  return exit_done;
}

} // namespace

int run(const config::ctl_config& config, const config::queue_command& command) {
  if (command.what == action::purge) {
    auto purge = [&](operator_client& client) { return client.purge_queue(command.queue); };
    return ask_and_show(
      config, purge, [&](std::uint64_t count) { return show_count(count, "purged", config.json); });
  }
  auto ask = [&](operator_client& client) {
    if (command.what == action::show)
      return client.show_queue(command.queue);
    return client.pause_queue(command.queue, command.what == action::pause);
  };
  return ask_and_show(config, ask, [&](const queue_info& info) { return show(info, config.json); });
}

int run(const config::ctl_config& config, const config::queue_set_command& command) {
  auto ask = [&](operator_client& client) {
    auto before = client.show_queue(command.queue);
    if (!before)
      return before;
    return client.configure_queue(command.queue, command.changes.applied_to(before->config));
  };
  return ask_and_show(config, ask, [&](const queue_info& info) { return show(info, config.json); });
}

int run(const config::ctl_config& config, const config::dead_command& command) {
  auto ask = [&](operator_client& client) {
    return client.change_dead(command.filter, command.change);
  };
  const auto* verb = command.change == dead_change::redrive ? "redrove" : "purged";
  return ask_and_show(
    config, ask, [&](std::uint64_t count) { return show_count(count, verb, config.json); });
}

int run(const config::ctl_config& config, const config::tenant_purge_command& command) {
  auto ask = [&](operator_client& client) { return client.purge_tenant(command.tenant); };
  return ask_and_show(
    config, ask, [&](std::uint64_t count) { return show_count(count, "purged", config.json); });
}

} // namespace codeq::ctl
