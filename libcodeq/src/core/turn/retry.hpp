// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"
#include "codeq/task.hpp"

#include <cstdint>

namespace codeq::core {

/// The delay after the failure of attempt number `attempt` (from 1), at most the policy's cap.
/// Jitter is a hash of the task and the attempt, not a random number, so that every machine decides
/// the same. Constant time.
[[nodiscard]] duration
retry_delay(const retry_policy& policy, std::uint32_t attempt, const task_id& task) noexcept;

} // namespace codeq::core
