// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"

#include "core/commands/command.hpp"
#include "core/state/shard_state.hpp"

#include <cstddef>
#include <set>
#include <string>

namespace codeq::core {

/// The fairness keys of the tasks of a run: the one that the producer gave to all of them, else the
/// header of each that their queue names. A task has its key from its enqueue on, as if the
/// producer had given it; a later change of the queue, or of the task's body, does not concern it.
///
/// Shard and run must outlive it. The settings of the queue are those of its construction.
class run_fairness {
public:
  run_fairness(const shard_state& state, const enqueue_run& r);

  /// The key and the weight of a task, by its index in the run. Without a key when the header is
  /// too long for one, which only tasks have that are never refused: follow-ups and those of
  /// schedules.
  [[nodiscard]] fairness_mark of(std::size_t task) const;

  /// True when the task has that key. Reads no header when all tasks have the same key.
  [[nodiscard]] bool has_key(std::size_t task, const std::string& key) const;

  /// The keys of all tasks, without the empty one.
  [[nodiscard]] std::set<std::string> keys() const;

  /// Checks that no header is too long for a key. Errors: `too_large`.
  [[nodiscard]] result<void> check() const;

private:
  /// The header of the task. @pre `header_` is not empty
  [[nodiscard]] std::string value_of(std::size_t task) const;
  /// The same, empty when it is too long for a key.
  [[nodiscard]] std::string key_of(std::size_t task) const;

  const shard_state& state_;
  const enqueue_run& run_;
  /// Name of the header that has the keys; empty: all tasks have the key of the run.
  std::string header_;
};

} // namespace codeq::core
