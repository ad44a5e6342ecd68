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
  out.field("max_depth", config.max_depth).field("max_leased", config.max_leased);
  out.field("keep_payload", config.keep_payload).field("max_attempts", config.max_attempts);
  out.field("retry", name_of(config.retry.kind));
  out.field("retry_base_ms", config.retry.base.count());
  out.field("retry_cap_ms", config.retry.cap.count());
  out.field("lease_ms", config.lease.count());
  out.field("run_timeout_ms", config.run_timeout.count());
  out.field("progress_timeout_ms", config.progress_timeout.count());
  out.field("retention_ms", config.retention.count());
  out.field("dead_retention_ms", config.dead_retention.count());
  out.field("on_dead", name_of(config.when_dead));
}

std::vector<std::pair<std::string, std::string>> config_fields(const queue_config& config) {
  return {
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
    {"on-dead", name_of(config.when_dead)}};
}

} // namespace codeq::ctl
