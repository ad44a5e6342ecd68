// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"
#include "codeq/result.hpp"

#include "core/commands/effect.hpp"
#include "storage/task_store.hpp"

#include <functional>
#include <optional>
#include <span>

/// What is read back from the store while it serves, all of it committed before. Any thread.
/// Errors: `io_error`, `corruption`; the process must not go on after one of a live task.
namespace codeq::storage {

/// The bodies of a segment's tasks, or nothing when all of them have ended and it is gone.
[[nodiscard]] result<std::optional<core::encoded_tasks>>
read_bodies(const task_store& store, shard_id shard, sequence segment, bool aside);

/// Calls `visit` with the bodies of each of these segments, in their order; those that are gone are
/// left out. Segments that lie side by side on the disk cost less than reading each. @pre they
/// ascend
[[nodiscard]] result<void> read_bodies(
  const task_store& store,
  shard_id shard,
  std::span<const sequence> segments,
  bool aside,
  const std::function<void(sequence segment, core::encoded_tasks bodies)>& visit);

/// The body of a task that was replaced since its enqueue, or nothing when the task has ended and
/// it is gone.
[[nodiscard]] result<std::optional<core::encoded_tasks>>
read_replaced_body(const task_store& store, shard_id shard, sequence seq);

/// Fills in what the tasks of a run were handed on; leaves those out that have ended meanwhile.
[[nodiscard]] result<void>
read_checkpoints(const task_store& store, shard_id shard, core::granted_run& run);

/// The text of a task's latest outcome, empty when there is none. Nothing when the task completed
/// so long before the shard time `now` that its result is past its retention: then it is unknown.
[[nodiscard]] result<std::optional<bytes>>
read_text(const task_store& store, shard_id shard, const core::task_view& view, timestamp now);

/// What a shard knows of what is not to be seen any more.
struct fate_filter {
  /// Shard time.
  timestamp now;
  /// May be null.
  const core::purge_marks* purged = nullptr;
};

/// What became of a task whose segment is closed, or nothing when it was purged or is past its
/// retention. Depends on `as_of` only, never on whether the record is still on the disk.
[[nodiscard]] result<std::optional<core::task_view>>
read_fate(const task_store& store, shard_id shard, sequence seq, const fate_filter& as_of);

/// Who had a key last of the tasks whose segments are closed, or nothing when its time is over or
/// nobody knows the task any more.
[[nodiscard]] result<std::optional<core::retained_key>>
read_key(const task_store& store, shard_id shard, const task_key& name, const fate_filter& as_of);

/// Reads the fates of many tasks; of those in a row that were closed together it reads the record
/// once. For a short time only, since it does not see later purges.
class fate_reader {
public:
  /// @pre `store` outlives it
  explicit fate_reader(const task_store& store) : store_(store) {}

  /// As `read_fate`.
  [[nodiscard]] result<std::optional<core::task_view>>
  read(shard_id shard, sequence seq, const fate_filter& as_of);

private:
  [[nodiscard]] bool has(shard_id shard, sequence seq) const;

  const task_store& store_;
  shard_id shard_{};
  std::optional<core::segment_fate> fate_;
};

} // namespace codeq::storage
