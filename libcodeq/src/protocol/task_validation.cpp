// SPDX-License-Identifier: Apache-2.0
#include "protocol/task_validation.hpp"

#include "codeq/limits.hpp"

#include "protocol/bounds.hpp"

#include <string>

namespace codeq::protocol {

namespace {

template <class T>
void choose(
  const std::optional<T>& given, core::setting_bit bit, T& value, std::uint16_t& left_to_queue) {
  if (given)
    value = *given;
  else
    left_to_queue |= static_cast<std::uint16_t>(bit);
}

result<void> check_body(const task_spec& task) {
  if (auto ok = check_size("payload", task.payload.size(), limits::payload_bytes_max); !ok)
    return ok;
  std::size_t header_bytes = 0;
  for (const auto& [name, value] : task.headers) {
    if (name.empty())
      return out_of_range("a header's name", "empty", "at least 1 byte");
    header_bytes += name.size() + value.size();
  }
  return check_size("headers", header_bytes, limits::headers_bytes_max);
}

result<void> check_deferral(const task_spec& task) {
  constexpr auto zero = duration{0};
  if (auto ok = check_duration("delay", task.delay, zero, limits::not_before_ahead_max); !ok)
    return ok;
  if (task.not_before && task.delay != zero)
    return error{errc::invalid_argument, "not_before and delay are both set; set one of them"};
  // The maximum is checked by the coordinator, since it is relative to shard time.
  if (task.not_before && task.not_before->time_since_epoch() <= zero)
    return out_of_range(
      "not_before",
      std::to_string(task.not_before->time_since_epoch().count()) + " ms",
      "after 1970");
  return {};
}

} // namespace

chosen_settings settings_of(const task_spec& task) {
  using bit = core::setting_bit;
  chosen_settings s;
  choose(task.max_attempts, bit::max_attempts, s.settings.max_attempts, s.left_to_queue);
  choose(task.retry, bit::retry, s.settings.retry, s.left_to_queue);
  choose(task.lease, bit::lease, s.settings.lease, s.left_to_queue);
  choose(task.run_timeout, bit::run_timeout, s.settings.run_timeout, s.left_to_queue);
  choose(
    task.progress_timeout, bit::progress_timeout, s.settings.progress_timeout, s.left_to_queue);
  choose(task.retention, bit::retention, s.settings.retention, s.left_to_queue);
  choose(task.dead_retention, bit::dead_retention, s.settings.dead_retention, s.left_to_queue);
  choose(task.when_dead, bit::on_dead, s.settings.when_dead, s.left_to_queue);
  return s;
}

std::string tenant_of(const task_spec& task, std::string_view unset) {
  return task.tenant.empty() ? std::string(unset) : task.tenant;
}

result<void> validate(const task_spec& task) {
  if (auto ok = check_queue({tenant_of(task), task.queue}); !ok)
    return ok;
  if (task.priority < 0 || task.priority > limits::priority_max)
    return out_of_range(
      "priority", std::to_string(task.priority), "0.." + std::to_string(limits::priority_max));
  auto chosen = settings_of(task);
  if (auto ok = check_settings(chosen.settings, chosen.left_to_queue); !ok)
    return ok;
  if (auto ok = check_deferral(task); !ok)
    return ok;
  if (auto ok = check_key(task.group, task.key, task.duplicate, task.replace_payload); !ok)
    return ok;
  if (auto ok = check_fairness(task.fairness_key.size(), task.fairness_weight); !ok)
    return ok;
  if (auto ok = check_limits(task.limits); !ok)
    return ok;
  return check_body(task);
}

} // namespace codeq::protocol
