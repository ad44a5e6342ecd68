// SPDX-License-Identifier: Apache-2.0
#include "ctl/queue_output.hpp"

#include "ctl/text.hpp"

namespace codeq::ctl {

namespace {

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

std::string or_none(duration limit, const char* none) {
  return limit == duration{0} ? none : format_duration(limit);
}

} // namespace

std::string limit_text(std::uint64_t limit) {
  return limit == 0 ? "no limit" : std::to_string(limit);
}

void write_config(base::json_writer& out, const queue_config& config) {
  const auto& defaults = config.defaults;
  out.field("max_depth", config.max_depth).field("max_leased", config.max_leased);
  out.field("keep_payload", config.keep_payload).field("max_attempts", defaults.max_attempts);
  out.field("retry", name_of(defaults.retry.kind));
  out.field("retry_base_ms", defaults.retry.base.count());
  out.field("retry_cap_ms", defaults.retry.cap.count());
  out.field("lease_ms", defaults.lease.count());
  out.field("run_timeout_ms", defaults.run_timeout.count());
  out.field("progress_timeout_ms", defaults.progress_timeout.count());
  out.field("retention_ms", defaults.retention.count());
  out.field("dead_retention_ms", defaults.dead_retention.count());
  out.field("on_dead", name_of(defaults.when_dead));
}

std::vector<std::pair<std::string, std::string>> config_fields(const queue_config& config) {
  const auto& defaults = config.defaults;
  return {
    {"keep-payload", config.keep_payload ? "true" : "false"},
    {"max-attempts", std::to_string(defaults.max_attempts)},
    {"retry", name_of(defaults.retry.kind)},
    {"retry-base", format_duration(defaults.retry.base)},
    {"retry-cap", format_duration(defaults.retry.cap)},
    {"lease", format_duration(defaults.lease)},
    {"run-timeout", or_none(defaults.run_timeout, "no limit")},
    {"progress-timeout", or_none(defaults.progress_timeout, "no limit")},
    {"retention", format_duration(defaults.retention)},
    {"dead-retention", or_none(defaults.dead_retention, "until purged")},
    {"on-dead", name_of(defaults.when_dead)}};
}

} // namespace codeq::ctl
