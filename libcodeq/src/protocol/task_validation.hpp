// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"
#include "codeq/task.hpp"

#include "core/commands/queue_settings.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace codeq::protocol {

/// The tenant of a task that names none, unless something else determines it.
inline constexpr std::string_view default_tenant = "default";

/// The task's tenant, or `unset` when it names none.
[[nodiscard]] std::string
tenant_of(const task_spec& task, std::string_view unset = default_tenant);

/// Checks every field of a task against `codeq/limits.hpp`; its tenant may be unset. Errors:
/// `invalid_argument`, `too_large`; the context names field, value and limit.
[[nodiscard]] result<void> validate(const task_spec& task);

/// A task's settings for attempts, lease, retries and retention. Those left to the queue have
/// default values.
struct chosen_settings {
  task_settings settings;
  /// Bit set of `core::setting_bit`.
  std::uint16_t left_to_queue = 0;

  friend bool operator==(const chosen_settings&, const chosen_settings&) = default;
};

/// @pre validate(task)
[[nodiscard]] chosen_settings settings_of(const task_spec& task);

} // namespace codeq::protocol
