// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"
#include "codeq/result.hpp"

#include "core/commands/effect.hpp"
#include "storage/recovery/fate_walk.hpp"
#include "storage/task_store.hpp"

#include <cstddef>
#include <optional>
#include <string>

namespace codeq::storage {

/// A part of a list: the tasks in memory, as the shard listed them, merged with those of closed
/// segments in the order of their sequences. A task that was in memory then and is closed by now is
/// listed as it was; so each task is listed once, however often it moves between two parts. Reads
/// the texts, workers and headers that the filter asks for.
///
/// The work is done in steps, so that other look-ups need not wait for all of it. Use it for a
/// short time only, since it does not see later purges.
class task_list {
public:
  /// `now`: shard time. @pre every event before `in_memory` is committed
  task_list(shard_id shard, core::tasks_listed in_memory, timestamp now);

  /// Goes on until the part is complete or about that many more records were read; returns true
  /// when it is complete. Errors: of the store.
  [[nodiscard]] result<bool> read_on(const task_store& store, std::size_t reads);

  /// The part. @pre it is complete; call once
  [[nodiscard]] core::tasks_listed take() { return std::move(found_); }

private:
  /// A task, and the number of the record of its headers.
  struct candidate {
    core::task_view view;
    sequence headers = 0;
  };

  /// The next task of memory or store; empty when there is none, or when the budget is used up.
  [[nodiscard]] result<std::optional<candidate>>
  next(const task_store& store, read_budget& budget);

  /// Brings both walks to their next tasks. Returns false when the budget is used up before.
  [[nodiscard]] result<bool> advance(const task_store& store, read_budget& budget);

  [[nodiscard]] bool is_over() const;
  [[nodiscard]] bool is_before(sequence a, sequence b) const;

  /// The first sequence, in the order of the list, that was not considered yet. @pre !is_over()
  [[nodiscard]] sequence place() const;

  /// Fills in what the store knows of a task; false when the task does not match.
  [[nodiscard]] result<bool>
  consider(const task_store& store, candidate& task, read_budget& budget);
  [[nodiscard]] result<bool>
  match_headers(const task_store& store, const candidate& task, read_budget& budget);
  [[nodiscard]] result<bool>
  read_end(const task_store& store, core::task_view& view, read_budget& budget);
  [[nodiscard]] result<void>
  read_error(const task_store& store, core::task_view& view, read_budget& budget);
  [[nodiscard]] result<void>
  read_worker(const task_store& store, core::task_view& view, read_budget& budget);
  [[nodiscard]] bool matches(const core::task_view& view) const;

  void finish(bool more);

  shard_id shard_;
  /// The list from memory; `known_` is the place in it.
  core::tasks_listed memory_;
  std::size_t known_ = 0;
  timestamp now_;
  fate_walk segments_;
  fate_walk copied_;
  core::tasks_listed found_;
  std::size_t reads_ = 0;
  /// A task that was found and not considered yet.
  std::optional<candidate> open_;
  /// The outcome record that was read last: many tasks share one.
  core::log_position outcome_ = 0;
  std::optional<core::leases_ended> ended_;
};

} // namespace codeq::storage
