// SPDX-License-Identifier: Apache-2.0
#include "protocol/bounds.hpp"

#include "codeq/limits.hpp"

#include "base/enum_names.hpp"

#include <algorithm>

namespace codeq::protocol {

namespace {

using std::to_string;

std::string in_milliseconds(duration value) {
  return to_string(value.count()) + " ms";
}

result<void> check_retention(std::string_view field, duration found, bool zero_allowed) {
  const auto& classes = limits::retention_classes;
  bool is_class = std::find(classes.begin(), classes.end(), found) != classes.end();
  if (is_class || (zero_allowed && found == duration{0}))
    return {};
  return out_of_range(
    field,
    in_milliseconds(found),
    std::string(zero_allowed ? "0, " : "") + "1 h, 1 d, 7 d, 30 d or 1 y");
}

result<void> check_retry(const retry_policy& retry) {
  if (retry.kind > retry_kind::exponential_jitter)
    return out_of_range(
      "retry.kind",
      to_string(static_cast<unsigned>(retry.kind)),
      base::list_of(base::retry_names));
  if (auto ok = check_duration("retry.base", retry.base, duration{0}, limits::retry_max); !ok)
    return ok;
  if (auto ok = check_duration("retry.cap", retry.cap, duration{0}, limits::retry_max); !ok)
    return ok;
  if (retry.cap >= retry.base)
    return {};
  return out_of_range(
    "retry.cap", in_milliseconds(retry.cap), "at least retry.base, " + in_milliseconds(retry.base));
}

result<void> check_on_dead(on_dead when_dead) {
  if (when_dead <= on_dead::block)
    return {};
  return out_of_range(
    "on_dead", to_string(static_cast<unsigned>(when_dead)), base::list_of(base::on_dead_names));
}

} // namespace

error out_of_range(std::string_view field, const std::string& found, const std::string& rule) {
  return {errc::invalid_argument, std::string(field) + " is " + found + "; it must be " + rule};
}

error too_long(std::string_view field, std::size_t found, std::size_t limit) {
  return {
    errc::too_large,
    std::string(field) + " is " + to_string(found) + " bytes; it must be at most "
      + to_string(limit)};
}

error malformed(const std::string& what) {
  return {errc::protocol_error, what};
}

result<void> check_name(std::string_view field, const std::string& name) {
  if (is_valid_name(name))
    return {};
  if (name.size() > limits::name_bytes_max)
    return too_long(field, name.size(), limits::name_bytes_max);
  return out_of_range(
    field,
    "`" + name + "`",
    "1 to " + to_string(limits::name_bytes_max) + " letters, digits, `.`, `_` or `-`");
}

result<void> check_queue(const queue_address& queue) {
  if (auto ok = check_name("tenant", queue.tenant); !ok)
    return ok;
  return check_name("queue", queue.queue);
}

result<void> check_size(std::string_view field, std::size_t found, std::size_t limit) {
  if (found <= limit)
    return {};
  return too_long(field, found, limit);
}

result<void>
check_count(std::string_view field, std::uint64_t found, std::uint64_t least, std::uint64_t most) {
  if (found >= least && found <= most)
    return {};
  return out_of_range(field, to_string(found), to_string(least) + ".." + to_string(most));
}

result<void> check_duration(std::string_view field, duration found, duration least, duration most) {
  if (found >= least && found <= most)
    return {};
  return out_of_range(
    field, in_milliseconds(found), to_string(least.count()) + ".." + in_milliseconds(most));
}

result<void> check_settings(const task_settings& s, std::uint16_t left_to_queue) {
  using bit = core::setting_bit;
  if (left_to_queue > core::setting_bits_all)
    return out_of_range(
      "left_to_queue", to_string(left_to_queue), "0.." + to_string(core::setting_bits_all));
  auto given = [&](bit b) { return (left_to_queue & static_cast<std::uint16_t>(b)) == 0; };
  constexpr auto zero = duration{0};
  result<void> ok;
  if (ok && given(bit::max_attempts))
    ok = check_count("max_attempts", s.max_attempts, 1, limits::attempts_max);
  if (ok && given(bit::retry))
    ok = check_retry(s.retry);
  if (ok && given(bit::lease))
    ok = check_duration("lease", s.lease, limits::lease_min, limits::lease_max);
  if (ok && given(bit::run_timeout))
    ok = check_duration("run_timeout", s.run_timeout, zero, limits::run_timeout_max);
  if (ok && given(bit::progress_timeout))
    ok = check_duration("progress_timeout", s.progress_timeout, zero, limits::run_timeout_max);
  if (ok && given(bit::retention))
    ok = check_retention("retention", s.retention, false);
  if (ok && given(bit::dead_retention))
    ok = check_retention("dead_retention", s.dead_retention, true);
  if (ok && given(bit::on_dead))
    ok = check_on_dead(s.when_dead);
  return ok;
}

result<void>
check_key(std::string_view group, std::string_view key, on_duplicate duplicate, bool replaces) {
  if (auto ok = check_size("group", group.size(), limits::group_bytes_max); !ok)
    return ok;
  if (auto ok = check_size("key", key.size(), limits::key_bytes_max); !ok)
    return ok;
  if (duplicate > on_duplicate::replace_ended)
    return out_of_range(
      "on_duplicate",
      to_string(static_cast<unsigned>(duplicate)),
      base::list_of(base::duplicate_names));
  if (key.empty() && duplicate != on_duplicate::existing)
    return error{errc::invalid_argument, "on_duplicate is set without a key; set key"};
  if (key.empty() && replaces)
    return error{errc::invalid_argument, "replace_payload is set without a key; set key"};
  return {};
}

result<void> check_fairness(std::size_t key_bytes, std::uint32_t weight) {
  if (auto ok = check_size("fairness_key", key_bytes, limits::fairness_key_bytes_max); !ok)
    return ok;
  return check_count("fairness_weight", weight, 1, limits::fairness_weight_max);
}

result<void> check_limits(const std::vector<task_limit>& uses) {
  if (auto ok = check_count("the number of limits", uses.size(), 0, limits::task_limits_max); !ok)
    return ok;
  for (std::size_t i = 0; i < uses.size(); ++i) {
    const auto& use = uses[i];
    if (auto ok = check_name("limit", use.name); !ok)
      return ok;
    if (auto ok = check_size("limit key", use.key.size(), limits::limit_key_bytes_max); !ok)
      return ok;
    if (auto ok = check_count("limit cost", use.cost, 1, limits::limit_cost_max); !ok)
      return ok;
    for (std::size_t before = 0; before < i; ++before)
      if (uses[before].name == use.name)
        return error{
          errc::invalid_argument, "limit \"" + use.name + "\" is named twice; name it once"};
  }
  return {};
}

result<void> check_queue_limits(const std::vector<queue_limit>& given) {
  std::vector<task_limit> uses;
  for (const auto& one : given) {
    uses.push_back({one.name, one.key, one.cost});
    if (auto ok = check_size("limit header", one.header.size(), limits::limit_key_bytes_max); !ok)
      return ok;
    if (!one.header.empty() && !one.key.empty())
      return error{
        errc::invalid_argument,
        "limit \"" + one.name + "\" has both the key \"" + one.key + "\" and the header \""
          + one.header + "\"; give one of them"};
  }
  return check_limits(uses);
}

result<void> check_costs(const std::vector<task_limit>& costs) {
  if (auto ok = check_count("the number of costs", costs.size(), 0, limits::task_limits_max); !ok)
    return ok;
  for (std::size_t i = 0; i < costs.size(); ++i) {
    const auto& name = costs[i].name;
    if (auto ok = check_count("cost", costs[i].cost, 0, limits::limit_cost_settled_max); !ok)
      return ok;
    // Each of them would be settled.
    for (std::size_t before = 0; before < i; ++before)
      if (costs[before].name == name)
        return error{
          errc::invalid_argument, "the cost of \"" + name + "\" is named twice; name it once"};
  }
  return {};
}

result<void> check_definition(const limit_definition& definition) {
  if (!definition.concurrency && !definition.rate)
    return error{
      errc::invalid_argument, "the limit has neither concurrency nor rate; set at least one"};
  auto concurrency = definition.concurrency.value_or(0);
  if (auto ok = check_count("concurrency", concurrency, 0, limits::limit_concurrency_max); !ok)
    return ok;
  if (!definition.rate)
    return {};
  const auto& [count, period, burst] = *definition.rate;
  if (auto ok = check_count("the rate's count", count, 1, limits::limit_rate_count_max); !ok)
    return ok;
  if (auto ok = check_count("the rate's burst", burst, 1, limits::limit_rate_count_max); !ok)
    return ok;
  constexpr auto period_min = limits::limit_rate_period_min;
  constexpr auto period_max = limits::limit_rate_period_max;
  if (auto ok = check_duration("the rate's period", period, period_min, period_max); !ok)
    return ok;
  constexpr auto time_max = limits::limit_burst_time_max;
  const auto burst_max = time_max.count() * count / period.count();
  if (burst <= burst_max)
    return {};
  return out_of_range(
    "the rate's burst",
    to_string(burst),
    "1.." + to_string(burst_max) + ", since it has to come back within "
      + in_milliseconds(time_max));
}

result<void> check_follow_up_count(std::size_t found) {
  if (found <= limits::follow_ups_max)
    return {};
  return error{
    errc::too_large,
    "the number of follow-ups is " + to_string(found) + "; it must be at most "
      + to_string(limits::follow_ups_max)};
}

result<void> check_follow_up_bytes(std::size_t found) {
  return check_size("the size of the follow-ups", found, limits::follow_up_bytes_max);
}

} // namespace codeq::protocol
