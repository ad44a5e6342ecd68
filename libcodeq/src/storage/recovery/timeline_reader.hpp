// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"
#include "codeq/operator_types.hpp"
#include "codeq/result.hpp"

#include "core/commands/operator_effect.hpp"
#include "storage/task_store.hpp"

#include <optional>

namespace codeq::storage {

/// What a view of a task is, and so what it says of the task's history.
enum class view_source : std::uint8_t {
  /// The shard's, at some moment: what was noted later is left out.
  memory,
  /// The task's fate: nothing comes after it.
  fate,
};

/// What happened to a task up to the view of it; nothing when it was purged since. Any thread.
/// Errors: as of the store, and `corruption`.
[[nodiscard]] result<std::optional<task_timeline>> read_timeline(
  const task_store& store, shard_id shard, const core::task_view& view, view_source source);

} // namespace codeq::storage
