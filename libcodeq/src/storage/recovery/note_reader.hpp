// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"
#include "codeq/result.hpp"

#include "core/commands/task_note.hpp"
#include "storage/task_store.hpp"

#include <vector>

namespace codeq::storage {

/// The stored history entries of a task, in order, with the first one also when it shares that with
/// its neighbours. At most `limits::history_events_max`, the latest. Costs two scans of at most the
/// histories of `core::shared_note_tasks_max` tasks. Thread-safe. Errors: of the store, and
/// `corruption`.
[[nodiscard]] result<std::vector<core::task_note>>
read_notes(const task_store& store, shard_id shard, sequence seq);

} // namespace codeq::storage
