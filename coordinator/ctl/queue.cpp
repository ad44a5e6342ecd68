// SPDX-License-Identifier: Apache-2.0
#include "ctl/client.hpp"
#include "ctl/commands.hpp"
#include "ctl/json_writer.hpp"
#include "ctl/text.hpp"

#include <string>
#include <utility>
#include <vector>

namespace codeq::ctl {

namespace {

using action = config::queue_command::action;

const char* name_of(retry_kind kind) {
  switch (kind) {
  case retry_kind::fixed:
    return "fixed";
  case retry_kind::linear:
    return "linear";
  case retry_kind::exponential:
    return "exponential";
  case retry_kind::exponential_jitter:
    return "exponential-jitter";
  }
  return "unknown";
}

const char* name_of(on_dead when_dead) {
  return when_dead == on_dead::block ? "block" : "skip";
}

std::string to_json(const queue_info& info) {
  const auto& config = info.config;
  json_writer out;
  out.begin_object().member("tenant", info.queue.tenant).member("queue", info.queue.queue);
  out.member("paused", info.paused).member("shards", info.shards);
  out.member("uniform", info.is_uniform);
  out.member("max_depth", config.max_depth).member("max_leased", config.max_leased);
  out.member("keep_payload", config.keep_payload).member("max_attempts", config.max_attempts);
  out.member("retry", name_of(config.retry.kind));
  out.member("retry_base_ms", config.retry.base.count());
  out.member("retry_cap_ms", config.retry.cap.count());
  out.member("lease_ms", config.lease.count());
  out.member("run_timeout_ms", config.run_timeout.count());
  out.member("progress_timeout_ms", config.progress_timeout.count());
  out.member("retention_ms", config.retention.count());
  out.member("dead_retention_ms", config.dead_retention.count());
  out.member("on_dead", name_of(config.when_dead));
  return out.end_object().text() + "\n";
}

/// "12 (4 shards have 3 each, rounded up)".
std::string limit_text(std::uint64_t limit, const queue_info& info) {
  if (limit == 0)
    return "no limit";
  auto text = std::to_string(limit);
  if (info.shards < 2 || !info.is_uniform)
    return text;
  return text + " (" + std::to_string(info.shards) + " shards take "
         + std::to_string(limit / info.shards) + " each; what is set is divided and rounded up)";
}

std::string or_none(duration limit, const char* none) {
  return limit == duration{0} ? none : format_duration(limit);
}

std::string to_text(const queue_info& info) {
  const auto& config = info.config;
  auto text = format_fields(
    {{"queue", info.queue.tenant + "/" + info.queue.queue},
     {"paused", info.paused ? "yes" : "no"},
     {"max-depth", limit_text(config.max_depth, info)},
     {"max-leased", limit_text(config.max_leased, info)},
     {"keep-payload", config.keep_payload ? "true" : "false"},
     {"max-attempts", std::to_string(config.max_attempts)},
     {"retry", name_of(config.retry.kind)},
     {"retry-base", format_duration(config.retry.base)},
     {"retry-cap", format_duration(config.retry.cap)},
     {"lease", format_duration(config.lease)},
     {"run-timeout", or_none(config.run_timeout, "no limit")},
     {"progress-timeout", or_none(config.progress_timeout, "no limit")},
     {"retention", format_duration(config.retention)},
     {"dead-retention", or_none(config.dead_retention, "until purged")},
     {"on-dead", name_of(config.when_dead)}});
  if (!info.is_uniform)
    text += "\nThe shards differ, because a change did not reach all of them: make it again.\n";
  return text;
}

int show(const queue_info& info, bool json) {
  print(json ? to_json(info) : to_text(info));
  return exit_done;
}

int show_count(std::uint64_t count, const char* verb, bool json) {
  json_writer out;
  out.begin_object().member("changed", count).end_object();
  print(
    json ? out.text() + "\n"
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
