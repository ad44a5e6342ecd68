// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"
#include "codeq/task.hpp"

#include <cstdint>

namespace codeq::core {

/// The delay after the failure of attempt number `attempt` (from 1), at most the policy's cap.
/// Jitter is a hash of the task and the attempt, not a random number, so that every machine decides
/// the same. At the first retry sixteen neighbours have the same jitter: after an outage most of a
/// batch has failed, and as single tasks its retries cost several times as much. Neighbours that
/// fail again may be in each other's way, so from then on each has its own. Constant time.
[[nodiscard]] duration
retry_delay(const retry_policy& policy, std::uint32_t attempt, const task_id& task) noexcept;

} // namespace codeq::core
