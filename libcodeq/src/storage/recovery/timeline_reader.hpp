// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"
#include "codeq/result.hpp"

#include "core/commands/operator_effect.hpp"
#include "storage/task_store.hpp"

#include <optional>

namespace codeq::storage {

/// The source of a view of a task.
enum class view_source : std::uint8_t {
  /// The shard's memory at some moment: history entries that are newer are left out.
  memory,
  /// The task's fate record: there are no newer entries.
  fate,
};

/// The timeline of a task up to the moment of the view; empty when the task was purged since.
/// Thread-safe. Errors: of the store, and `corruption`.
[[nodiscard]] result<std::optional<task_timeline>> read_timeline(
  const task_store& store, shard_id shard, const core::task_view& view, view_source source);

} // namespace codeq::storage
