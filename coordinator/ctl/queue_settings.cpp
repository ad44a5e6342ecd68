// SPDX-License-Identifier: Apache-2.0
#include "ctl/queue_settings.hpp"

#include "codeq/limits.hpp"

#include "ctl/command_options.hpp"
#include "ctl/limit_options.hpp"
#include "ctl/text.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace codeq::ctl {

namespace {

/// A class in another spelling, such as `24h` or `0s`; empty when the text is none.
std::optional<duration> spelled_class(const std::string& text) {
  const auto& classes = limits::retention_classes;
  auto given = config::parse_duration_in(text, {duration{0}, classes.back()});
  const auto is_class =
    given && std::find(classes.begin(), classes.end(), *given) != classes.end();
  return is_class || (given && *given == duration{0}) ? std::optional(*given) : std::nullopt;
}

result<duration> parse_retention(const std::string& text) {
  if (auto given = spelled_class(text); given && *given > duration{0})
    return *given;
  auto choice = config::parse_choice(text, {"1h", "1d", "7d", "30d", "1y"});
  if (!choice)
    return choice.error();
  return limits::retention_classes[*choice];
}

result<duration> parse_dead_retention(const std::string& text) {
  if (auto given = spelled_class(text))
    return *given;
  auto choice = config::parse_choice(text, {"0", "1h", "1d", "7d", "30d", "1y"});
  if (!choice)
    return choice.error();
  return *choice == 0 ? duration{0} : limits::retention_classes[*choice - 1];
}

template <class T>
void apply(const std::optional<T>& change, T& to) {
  if (change)
    to = *change;
}

std::string or_none(duration limit, const char* none) {
  return limit == duration{0} ? none : format_duration(limit);
}

std::string breaker_text(const failure_breaker& breaker) {
  return breaker.percent == 0
           ? "off"
           : std::to_string(breaker.percent) + "%/" + format_duration(breaker.window);
}

/// Parses `header=NAME`.
result<std::string> parse_header(const std::string& text) {
  auto name = text.starts_with(header_mark) ? text.substr(header_mark.size()) : std::string();
  if (name.empty())
    return error{
      errc::invalid_argument,
      config::quote(text) + " is not the name of a header such as `header=customer`"};
  if (name.size() > limits::fairness_key_bytes_max)
    return error{
      errc::too_large,
      "the header " + config::quote(name) + " has " + std::to_string(name.size())
        + " bytes; it must have at most " + std::to_string(limits::fairness_key_bytes_max)};
  return name;
}

/// For example "3 losses in a row".
std::string losses_text(std::uint32_t count) {
  return count == 0 ? "off"
                    : std::to_string(count) + (count == 1 ? " loss" : " losses in a row");
}

std::string weights_text(const std::map<std::string, std::uint32_t>& weights) {
  std::string text;
  for (const auto& [key, weight] : weights)
    text += (text.empty() ? "" : ", ") + (key.empty() ? "(empty)" : in_one_line(key)) + "="
            + std::to_string(weight);
  return text.empty() ? "those of the tasks" : text;
}

} // namespace

queue_config queue_changes::applied_to(queue_config before) const {
  auto& defaults = before.defaults;
  apply(max_attempts, defaults.max_attempts);
  apply(retry, defaults.retry.kind);
  apply(retry_base, defaults.retry.base);
  apply(retry_cap, defaults.retry.cap);
  apply(lease, defaults.lease);
  apply(run_timeout, defaults.run_timeout);
  apply(progress_timeout, defaults.progress_timeout);
  apply(retention, defaults.retention);
  apply(dead_retention, defaults.dead_retention);
  apply(when_dead, defaults.when_dead);
  apply(max_depth, before.max_depth);
  apply(max_leased, before.max_leased);
  apply(keep_payload, before.keep_payload);
  apply(quarantine_after, before.quarantine_after);
  apply(pause_when_failing, before.pause_when_failing);
  apply(limits, before.limits);
  apply(fairness_header, before.fairness_header);
  before.change_weights(fairness_weights);
  return before;
}

bool queue_changes::are_of_weights() const {
  return !fairness_weights.empty()
         && *this == queue_changes{.fairness_weights = fairness_weights};
}

std::optional<weight_changes> queue_changes::weights_beside(const queue_info& before) const {
  if (are_of_weights() || before.differing.empty())
    return fairness_weights;
  return std::nullopt;
}

std::vector<option>
settings_options(queue_changes& to, const std::function<std::string(const char*)>& default_of) {
  constexpr auto zero = duration{0};
  auto chosen = [&](const char* name, const char* value, std::string help, auto take) {
    return option{.name = name, .value = value, .help = std::move(help), .take = std::move(take)};
  };
  return {
    duration_option(
      "lease",
      "How long a claim is valid without a heartbeat, 1s to 12h " + default_of("10s"),
      to.lease,
      {limits::lease_min, limits::lease_max}),
    count_option(
      "max-attempts",
      "Attempts before a task is dead, 1 to 1000; 5 with the usual delays are over within 15s, so "
      "an outage takes more of them, or a longer --retry-base "
        + default_of("5"),
      to.max_attempts,
      {1, limits::attempts_max}),
    chosen(
      "retry",
      "KIND",
      "How the delay between attempts grows: fixed, linear, exponential or exponential-jitter "
        + default_of("exponential-jitter"),
      choice_into(to.retry, base::retry_option_names)),
    duration_option(
      "retry-base",
      "First delay between attempts, or with exponential-jitter its upper bound, at most 365d "
        + default_of("1s"),
      to.retry_base,
      {zero, limits::retry_max}),
    duration_option(
      "retry-cap",
      "Longest delay between attempts, at least --retry-base, at most 365d " + default_of("15m"),
      to.retry_cap,
      {zero, limits::retry_max}),
    duration_option(
      "run-timeout",
      "Maximum run time of an attempt, at most 30d; 0 is no limit " + default_of("0"),
      to.run_timeout,
      {zero, limits::run_timeout_max}),
    duration_option(
      "progress-timeout",
      "Maximum time that an attempt may run without reporting progress, at most 30d; 0 is no limit "
        + default_of("0"),
      to.progress_timeout,
      {zero, limits::run_timeout_max}),
    chosen(
      "retention",
      "CLASS",
      "How long the record of a completed or cancelled task is kept: 1h, 1d, 7d, 30d or 1y, "
      "or one of these in another unit "
        + default_of("1d"),
      put_into(to.retention, parse_retention)),
    chosen(
      "dead-retention",
      "CLASS",
      "How long the record of a dead task is kept: 1h, 1d, 7d, 30d or 1y; 0 keeps it until it is "
      "purged "
        + default_of("0"),
      put_into(to.dead_retention, parse_dead_retention)),
    chosen(
      "on-dead",
      "WHAT",
      "What a dead task does to its group: skip lets the next one run, block stops the group "
        + default_of("skip"),
      choice_into(to.when_dead, base::on_dead_names)),
  };
}

result<failure_breaker> parse_breaker(const std::string& text) {
  if (text == "off")
    return failure_breaker{};
  auto sign = text.find("%/");
  if (sign == std::string::npos)
    return error{
      errc::invalid_argument,
      config::quote(text) + " is neither `off` nor a percentage and a window such as `50%/1m`"};
  auto percent = config::parse_count(text.substr(0, sign), {1, limits::breaker_percent_max});
  if (!percent)
    return percent.error();
  auto window = config::parse_duration_in(
    text.substr(sign + 2), {limits::breaker_window_min, limits::breaker_window_max});
  if (!window)
    return window.error();
  return failure_breaker{static_cast<std::uint32_t>(*percent), *window};
}

std::vector<option> fairness_key_options(std::optional<std::string>& given) {
  const error contrary{
    errc::invalid_argument, "--fairness-key and --no-fairness-key exclude each other"};
  auto take = [&given, contrary](const std::string& text) -> result<void> {
    auto header = parse_header(text);
    if (!header)
      return header.error();
    if (given && given->empty())
      return contrary;
    given = std::move(*header);
    return {};
  };
  return {
    {.name = "fairness-key",
     .value = "header=NAME",
     .help = "Header whose value is the fairness key of new tasks of the queue that give none "
             "themselves [default: unchanged]",
     .take = take},
    {.name = "no-fairness-key",
     .value = "",
     .help = "Give no fairness key to new tasks of the queue [default: unchanged]",
     .take = empties(given, contrary)}};
}

std::string limit_text(std::uint64_t limit) {
  return limit == 0 ? "no limit" : std::to_string(limit);
}

void write_config(base::json_writer& out, const queue_config& config) {
  const auto& defaults = config.defaults;
  out.field("max_depth", config.max_depth).field("max_leased", config.max_leased);
  out.field("keep_payload", config.keep_payload).field("max_attempts", defaults.max_attempts);
  out.field("retry", base::name_of(defaults.retry.kind, base::retry_option_names));
  out.field("retry_base_ms", defaults.retry.base.count());
  out.field("retry_cap_ms", defaults.retry.cap.count());
  out.field("lease_ms", defaults.lease.count());
  out.field("run_timeout_ms", defaults.run_timeout.count());
  out.field("progress_timeout_ms", defaults.progress_timeout.count());
  out.field("retention_ms", defaults.retention.count());
  out.field("dead_retention_ms", defaults.dead_retention.count());
  out.field("on_dead", base::name_of(defaults.when_dead, base::on_dead_names));
  out.field("quarantine_after", config.quarantine_after);
  out.begin_object("pause_when_failing");
  out.field("percent", config.pause_when_failing.percent);
  out.field("window_ms", config.pause_when_failing.window.count()).end_object();
  out.begin_array("limits");
  for (const auto& one : config.limits) {
    out.begin_object().field("name", one.name);
    out.bytes_field("key", one.key);
    out.field("header", one.header).field("cost", one.cost).end_object();
  }
  out.end_array();
  out.field("fairness_header", config.fairness_header).begin_array("fairness_weights");
  for (const auto& [key, weight] : config.fairness_weights) {
    out.begin_object().bytes_field("fairness_key", key);
    out.field("fairness_weight", weight).end_object();
  }
  out.end_array();
}

std::vector<std::pair<std::string, std::string>> config_fields(const queue_config& config) {
  const auto& defaults = config.defaults;
  return {
    {"keep-payload", config.keep_payload ? "true" : "false"},
    {"max-attempts", std::to_string(defaults.max_attempts)},
    {"retry", std::string(base::name_of(defaults.retry.kind, base::retry_option_names))},
    {"retry-base", format_duration(defaults.retry.base)},
    {"retry-cap", format_duration(defaults.retry.cap)},
    {"lease", format_duration(defaults.lease)},
    {"run-timeout", or_none(defaults.run_timeout, "no limit")},
    {"progress-timeout", or_none(defaults.progress_timeout, "no limit")},
    {"retention", format_duration(defaults.retention)},
    {"dead-retention", or_none(defaults.dead_retention, "until purged")},
    {"on-dead", std::string(base::name_of(defaults.when_dead, base::on_dead_names))},
    {"quarantine-after", losses_text(config.quarantine_after)},
    {"pause-when-failing", breaker_text(config.pause_when_failing)},
    {"limits", limits_text(config.limits)},
    {"fairness-key",
     config.fairness_header.empty() ? "none" : std::string(header_mark) + config.fairness_header},
    {"fairness-weights", weights_text(config.fairness_weights)}};
}

} // namespace codeq::ctl
