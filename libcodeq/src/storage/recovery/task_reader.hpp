// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"
#include "codeq/result.hpp"

#include "core/commands/effect.hpp"
#include "storage/task_store.hpp"

#include <functional>
#include <optional>
#include <span>

/// Reads of committed data while the store serves. Thread-safe. Errors: `io_error`, `corruption`;
/// after an error for a live task the process must not go on.
namespace codeq::storage {

/// The bodies of a segment's tasks; empty when all of them have ended and the record was removed.
[[nodiscard]] result<std::optional<core::encoded_tasks>>
read_bodies(const task_store& store, shard_id shard, sequence segment, bool aside);

/// Calls `visit` with the bodies of each of these segments, in order; segments whose record was
/// removed are left out. Adjacent segments cost less than separate reads. @pre `segments` ascend
[[nodiscard]] result<void> read_bodies(
  const task_store& store,
  shard_id shard,
  std::span<const sequence> segments,
  bool aside,
  const std::function<void(sequence segment, core::encoded_tasks bodies)>& visit);

/// The body of a task whose body was replaced after its enqueue; empty when the task has ended and
/// the record was removed.
[[nodiscard]] result<std::optional<core::encoded_tasks>>
read_replaced_body(const task_store& store, shard_id shard, sequence seq);

/// Fills in the checkpoints of the tasks of a run; tasks that have ended meanwhile get none.
[[nodiscard]] result<void>
read_checkpoints(const task_store& store, shard_id shard, core::granted_run& run);

/// The text of a task's latest outcome; an empty text when there is none. No value when the task
/// has completed and its retention has passed at the shard time `now`: the task is then unknown.
[[nodiscard]] result<std::optional<bytes>>
read_text(const task_store& store, shard_id shard, const core::task_view& view, timestamp now);

/// Parameters that decide which fates are visible.
struct fate_filter {
  /// Shard time.
  timestamp now;
  /// May be null.
  const core::purge_marks* purged = nullptr;
};

/// False when the task was purged or its retention has passed. @pre the task is one of the fate's
[[nodiscard]] bool
is_known(const core::segment_fate& fate, sequence seq, const fate_filter& as_of);

/// A task of a closed segment. @pre the task is one of the fate's
[[nodiscard]] core::task_view view_of(const core::segment_fate& fate, sequence seq);

/// The final state of a task whose segment is closed; empty when it was purged or its retention has
/// passed. Depends on `as_of` only, not on whether the record still exists on disk.
[[nodiscard]] result<std::optional<core::task_view>>
read_fate(const task_store& store, shard_id shard, sequence seq, const fate_filter& as_of);

/// The latest task with that key among tasks of closed segments; empty when the key has expired or
/// the task was purged.
[[nodiscard]] result<std::optional<core::retained_key>>
read_key(const task_store& store, shard_id shard, const task_key& name, const fate_filter& as_of);

/// Reads the fates of many tasks; consecutive tasks of one segment need a single read. Use it for a
/// short time only, since it does not see later purges.
class fate_reader {
public:
  /// @pre `store` outlives the reader
  explicit fate_reader(const task_store& store) : store_(store) {}

  /// Reads one task; see `read_fate`.
  [[nodiscard]] result<std::optional<core::task_view>>
  read(shard_id shard, sequence seq, const fate_filter& as_of);

private:
  [[nodiscard]] bool has(shard_id shard, sequence seq) const;

  const task_store& store_;
  shard_id shard_{};
  std::optional<core::segment_fate> fate_;
};

} // namespace codeq::storage
