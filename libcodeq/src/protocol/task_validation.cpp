// SPDX-License-Identifier: Apache-2.0
#include "protocol/task_validation.hpp"

#include "codeq/limits.hpp"

#include <string>

namespace codeq::protocol {

namespace {

using std::to_string;

error refusal(
  errc code, const std::string& field, const std::string& value, const std::string& rule) {
  return {code, field + " is " + value + "; it must be " + rule};
}

std::string in_milliseconds(duration value) {
  return to_string(value.count()) + " ms";
}

struct duration_rule {
  const char* field;
  duration value;
  duration min;
  duration max;
};

result<void> check(const duration_rule& rule) {
  if (rule.value >= rule.min && rule.value <= rule.max)
    return {};
  return refusal(
    errc::invalid_argument,
    rule.field,
    in_milliseconds(rule.value),
    to_string(rule.min.count()) + ".." + in_milliseconds(rule.max));
}

result<void> check_name(const char* field, const std::string& name) {
  if (is_valid_name(name))
    return {};
  if (name.size() > limits::name_bytes_max)
    return refusal(
      errc::too_large,
      field,
      to_string(name.size()) + " bytes",
      "at most " + to_string(limits::name_bytes_max));
  return refusal(
    errc::invalid_argument,
    field,
    "`" + name + "`",
    "1 to " + to_string(limits::name_bytes_max) + " letters, digits, `.`, `_` or `-`");
}

result<void> check_sizes(const task_spec& task) {
  if (task.payload.size() > limits::payload_bytes_max)
    return refusal(
      errc::too_large,
      "payload",
      to_string(task.payload.size()) + " bytes",
      "at most " + to_string(limits::payload_bytes_max));
  std::size_t header_bytes = 0;
  for (const auto& [name, value] : task.headers) {
    if (name.empty())
      return refusal(errc::invalid_argument, "a header's name", "empty", "at least 1 byte");
    header_bytes += name.size() + value.size();
  }
  if (header_bytes > limits::headers_bytes_max)
    return refusal(
      errc::too_large,
      "headers",
      to_string(header_bytes) + " bytes",
      "at most " + to_string(limits::headers_bytes_max));
  return {};
}

result<void> check_group(const task_spec& task) {
  if (task.group.size() <= limits::group_bytes_max)
    return {};
  return refusal(
    errc::too_large,
    "group",
    to_string(task.group.size()) + " bytes",
    "at most " + to_string(limits::group_bytes_max));
}

result<void> check_times(const task_spec& task) {
  constexpr auto zero = duration{0};
  const duration_rule rules[] = {
    {"delay", task.delay, zero, limits::not_before_ahead_max},
    {"retry.base", task.retry.base, zero, limits::retry_max},
    {"retry.cap", task.retry.cap, zero, limits::retry_max},
    {"lease", task.lease, limits::lease_min, limits::lease_max},
    {"run_timeout", task.run_timeout, zero, limits::run_timeout_max},
  };
  for (const auto& rule : rules) {
    if (auto ok = check(rule); !ok)
      return ok;
  }
  if (task.not_before && task.delay != zero)
    return error{errc::invalid_argument, "not_before and delay are both set; set one of them"};
  // How far ahead it may be is the coordinator's to say: it is shard time that counts.
  if (task.not_before && task.not_before->time_since_epoch() <= zero)
    return refusal(
      errc::invalid_argument,
      "not_before",
      in_milliseconds(task.not_before->time_since_epoch()),
      "after 1970");
  return {};
}

} // namespace

result<void> validate(const task_spec& task) {
  if (auto ok = check_name("tenant", task.tenant); !ok)
    return ok;
  if (auto ok = check_name("queue", task.queue); !ok)
    return ok;
  if (task.priority < 0 || task.priority > limits::priority_max)
    return refusal(
      errc::invalid_argument,
      "priority",
      to_string(task.priority),
      "0.." + to_string(limits::priority_max));
  if (task.max_attempts < 1 || task.max_attempts > limits::attempts_max)
    return refusal(
      errc::invalid_argument,
      "max_attempts",
      to_string(task.max_attempts),
      "1.." + to_string(limits::attempts_max));
  if (task.retry.kind > retry_kind::exponential_jitter)
    return refusal(
      errc::invalid_argument,
      "retry.kind",
      to_string(static_cast<unsigned>(task.retry.kind)),
      "fixed, linear, exponential or exponential_jitter");
  if (auto ok = check_times(task); !ok)
    return ok;
  if (auto ok = check_group(task); !ok)
    return ok;
  return check_sizes(task);
}

} // namespace codeq::protocol
