// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/outcome.hpp"

#include "protocol/task_convert.hpp"
#include "worker/node/lease_book.hpp"
#include "worker/node/lease_key.hpp"

#include <memory>
#include <optional>
#include <string>

namespace codeq::worker {

/// One line of a result request.
struct report {
  lease_key key;
  sequence seq = 0;
  disposition what = disposition::abandon;
  /// A nack's own delay; empty leaves it to the retry policy.
  std::optional<duration> delay;
  /// False: the attempt never began and is not charged.
  bool started = true;
  /// The result or the error text, within its limit.
  std::string text;
  /// Of a completion, within their limits; null is none.
  std::shared_ptr<const protocol::encoded_tasks> follow_ups{};
  /// What the attempt saved last and was not told to be durable.
  checkpoint_line checkpoint{};

  /// What it takes in a request, near enough.
  [[nodiscard]] std::size_t byte_size() const noexcept {
    return text.size() + checkpoint.data.size() + (follow_ups ? follow_ups->request_bytes() : 0);
  }
};

/// What to report of a handler's answer: a result over its limit is a permanent failure that names
/// both sizes, follow-ups over a limit are a failure that names it, an error text over its limit is
/// cut with a mark, and what a handler that was told to stop fails with is not held against the
/// task.
[[nodiscard]] report make_report(const lease_key& key, const held_lease& lease, outcome answer);

/// The answer as it may travel from a child process: one that carries more than `make_report` takes
/// is the failure that it would make of it, with a text within its limit.
[[nodiscard]] outcome within_limits(outcome answer);

/// What to report of a task that was never started.
[[nodiscard]] report make_unstarted(const lease_key& key, sequence seq);

/// Turns a completion into a failure, because of what it carries: the work has to be done again, or
/// the task ends dead, where people see why.
void fail_for_follow_ups(report& made, const std::string& why);

/// `text`, or its beginning with a mark that says how much is missing, within the limit of error
/// texts.
[[nodiscard]] std::string cut_error_text(std::string text);

} // namespace codeq::worker
