// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/task.hpp"
#include "codeq/time.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace codeq {

/// How an attempt ended, in the handler's words. There is no default: a handler has to say one.
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

  /// Gives the task back unharmed: ready at once in its old place, the attempt not charged.
  [[nodiscard]] static outcome abandon();

  /// Adds a task that is enqueued in the same write as this completion: once when it is accepted,
  /// and never otherwise. At most 64 of together 8 MiB, after any kind of outcome but only enqueued
  /// by `completed`. One whose field is over its limit makes the attempt `failed`, with the reason;
  /// a duplicate of a key follows its `on_duplicate` (`reject` adds nothing), and no limit of a
  /// queue refuses it.
  outcome& then(task_spec follow_up) &;
  [[nodiscard]] outcome&& then(task_spec follow_up) &&;

  /// Never `cancelled`.
  [[nodiscard]] disposition what() const noexcept { return kind_; }

  /// The result, or the reason.
  [[nodiscard]] const std::string& text() const noexcept { return text_; }

  /// The same, which is empty from then on.
  [[nodiscard]] std::string take_text() noexcept { return std::move(text_); }

  /// The nack's own delay; empty when the retry policy decides.
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
