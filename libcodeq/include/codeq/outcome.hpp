// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/task.hpp"
#include "codeq/time.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace codeq {

/// How an attempt ended, as its handler reports it. There is no default constructor: a handler has
/// to choose an outcome.
class outcome {
public:
  /// The work is done; `result` (at most 1 MiB) is stored and can be read by producers.
  [[nodiscard]] static outcome completed(std::string result = {});

  /// The attempt failed; the task is retried by its policy, or dead when attempts are used up.
  [[nodiscard]] static outcome failed(std::string reason);

  /// No further attempt can succeed; the task is dead.
  [[nodiscard]] static outcome failed_permanently(std::string reason);

  /// As `failed`, with the handler's own delay (0 is at once).
  [[nodiscard]] static outcome nack(duration delay, std::string reason);

  /// As `failed`; the delay comes from the task's retry policy.
  [[nodiscard]] static outcome nack(std::string reason);

  /// Gives the task back: it is ready at once in its old place, and the attempt is not charged.
  [[nodiscard]] static outcome abandon();

  /// Adds a follow-up task. It is enqueued in the same write as this completion: exactly once if
  /// the completion is accepted, never otherwise. At most 64 follow-ups of 8 MiB in total. They may
  /// be added to any outcome, but only `completed` enqueues them. A follow-up with a field over its
  /// limit makes the attempt `failed`, with the reason. A duplicate key is handled by its
  /// `on_duplicate` (`reject` adds nothing). Queue limits do not apply to follow-ups.
  outcome& then(task_spec follow_up) &;
  [[nodiscard]] outcome&& then(task_spec follow_up) &&;

  /// Never `cancelled`.
  [[nodiscard]] disposition what() const noexcept { return kind_; }

  /// The result, or the reason.
  [[nodiscard]] const std::string& text() const noexcept { return text_; }

  /// Moves the text out; it is empty afterwards.
  [[nodiscard]] std::string take_text() noexcept { return std::move(text_); }

  /// The delay given to `nack`; empty when the retry policy decides.
  [[nodiscard]] std::optional<duration> delay() const noexcept { return delay_; }

  /// In the order they were added.
  [[nodiscard]] const std::vector<task_spec>& follow_ups() const noexcept { return follow_ups_; }

private:
  outcome(disposition what, std::string text) : kind_(what), text_(std::move(text)) {}

  disposition kind_;
  std::string text_;
  std::optional<duration> delay_;
  std::vector<task_spec> follow_ups_;
};

} // namespace codeq
