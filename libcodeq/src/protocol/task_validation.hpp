// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"
#include "codeq/task.hpp"

namespace codeq::protocol {

/// Checks every field of a task against `codeq/limits.hpp`. Errors: `invalid_argument`,
/// `too_large`; the context names field, value and limit.
[[nodiscard]] result<void> validate(const task_spec& task);

} // namespace codeq::protocol
