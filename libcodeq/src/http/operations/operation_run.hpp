// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/task.hpp"

#include "client/operator_questions.hpp"
#include "client/operator_replies.hpp"
#include "http/operations/operation.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace codeq::http {

/// Decides what an operation does next. Pure: its driver, `operation_desk`, takes one step after
/// the other, passes the outcome on, and tells the time.
///
/// A part is stored before its tasks are changed, with their tokens. When the outcome of a change
/// is lost, by an error or with the process, the part's range is listed again: the tasks that still
/// match with the same token are changed now, and the others were. So no task is changed twice, and
/// the counts are exact.
class operation_run {
public:
  /// Nothing, until a user changes the operation: it is paused or over, and stored.
  struct idle {};

  struct wait {
    duration pause{0};
  };

  /// Store the record.
  struct save {
    std::uint64_t version = 0;
  };

  struct list {
    task_filter filter;
    client::walk_position at;
  };

  /// Change these tasks, if their tokens are still the same.
  struct change {
    std::uint16_t shard = 0;
    std::vector<core::dead_task> tasks;
  };

  /// Read the states of these tasks.
  struct look {
    std::vector<task_id> tasks;
  };

  using step = std::variant<idle, wait, save, list, change, look>;

  /// A new operation of a coordinator with that many shards; `o` has what the user requests, the
  /// user and the time.
  [[nodiscard]] static operation_run begin(bulk_operation o, std::uint16_t shards);

  /// An operation that was stored.
  [[nodiscard]] static operation_run recover(bulk_operation stored, std::uint16_t shards);

  [[nodiscard]] const bulk_operation& operation() const noexcept { return o_; }

  /// The number of the latest state; the record of each has to be stored.
  [[nodiscard]] std::uint64_t version() const noexcept { return version_; }

  /// Why the operation waits at present; empty when it does not.
  [[nodiscard]] const std::string& problem() const noexcept { return problem_; }

  [[nodiscard]] step next(timestamp now) const;

  // The outcomes of steps. That of a list or a look is dropped if the version has changed since.

  /// The record of that version is durable.
  void saved(std::uint64_t version) noexcept { stored_ = version; }

  void take_list(const client::list_part& part, timestamp now);

  /// The tasks of parts whose outcomes were unknown that were found changed since the last call.
  [[nodiscard]] std::vector<task_id> take_found_changed() {
    return std::exchange(found_changed_, {});
  }

  /// `changed` tasks of the part were changed, the others left alone.
  void take_change(std::uint64_t changed, timestamp now);

  /// The tasks of a `look`, in its order; empty when a task is no longer stored.
  void take_look(const std::vector<std::optional<task_status>>& found, timestamp now);

  /// The outcome of a `change` is unknown.
  void lose_change();

  /// The step failed. It is repeated after a pause when that may help, or when it was a `save`;
  /// else the operation is paused.
  void fail(const error& why, timestamp now);

  // Users' changes. Each returns false when the state does not allow it, and nothing changed.

  bool pause(const operation_user& by, timestamp now);
  bool resume(const operation_user& by, timestamp now);
  bool cancel(const operation_user& by, timestamp now);

  /// Pauses the operation for the coordinator.
  void stop(std::string reason, timestamp now);

private:
  operation_run(bulk_operation o, std::uint16_t shards) : o_(std::move(o)), shards_(shards) {}

  [[nodiscard]] bool is_saved() const noexcept { return stored_ == version_; }

  void touch() noexcept { ++version_; }

  [[nodiscard]] std::uint64_t canary_size() const;
  [[nodiscard]] look next_look() const;
  [[nodiscard]] list list_from(sequence after, std::uint32_t limit) const;
  [[nodiscard]] std::uint32_t next_part() const;
  [[nodiscard]] bool matches(const task_summary& task) const;
  void take_counted(const client::list_part& part);
  void take_again(const client::list_part& part, timestamp now);
  void begin_part(const client::list_part& part, timestamp now);
  void end_part(timestamp now);
  void move_on(sequence after, bool has_more, timestamp now);
  void end_walk(timestamp now);
  void judge_canary(timestamp now);
  void add_event(std::string what, const operation_user& by, timestamp now);
  void change_status(operation_status to);

  bulk_operation o_;
  std::uint16_t shards_;
  std::uint64_t version_ = 1;
  std::uint64_t stored_ = 0;
  std::string problem_;
  /// Nothing is done before that time.
  timestamp due_{};
  /// When the next part may be changed, so that the rate is kept.
  timestamp paced_{};
  /// The part's outcome is unknown: what of it still matches, and up to where it was listed.
  bool is_unsure_ = false;
  std::vector<core::dead_task> left_;
  sequence listed_ = 0;
  std::vector<task_id> found_changed_;
  /// Place of the count.
  std::uint16_t count_shard_ = 0;
  sequence count_after_ = 0;
  std::uint64_t counted_ = 0;
  /// Number of lists without a match behind each other.
  std::size_t empty_lists_ = 0;
  /// The next task of the canary to look at.
  std::size_t looked_ = 0;
};

} // namespace codeq::http
