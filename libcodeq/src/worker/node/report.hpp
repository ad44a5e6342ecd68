// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/attempt.hpp"

#include "protocol/task_convert.hpp"
#include "worker/node/lease_book.hpp"
#include "worker/node/lease_key.hpp"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace codeq::worker {

/// One report of a result request.
struct report {
  lease_key key;
  sequence seq = 0;
  disposition what = disposition::abandon;
  /// The delay given to `nack` or `limited`; empty: the retry policy's delay.
  std::optional<duration> delay;
  /// False: the attempt never began and is not charged.
  bool started = true;
  /// The result or the error text, within its limit.
  std::string text;
  /// Follow-ups of a completion, within their limits; null: none.
  std::shared_ptr<const protocol::encoded_tasks> follow_ups{};
  /// The attempt's latest checkpoint that is not known to be durable.
  checkpoint_line checkpoint{};
  /// The limit given to `limited`; empty: the task's first one.
  std::string limit_name{};
  /// The actual costs, by the names of limits.
  std::vector<task_limit> costs{};
  /// The attempt and how long it ran; null: it never began.
  std::shared_ptr<const attempt_line> line{};
  duration ran{0};

  /// Approximate size in a request.
  [[nodiscard]] std::size_t byte_size() const noexcept {
    return text.size() + checkpoint.data.size() + (follow_ups ? follow_ups->request_bytes() : 0);
  }
};

/// Encodes the follow-ups of a completion; those that name no tenant belong to `tenant`. Errors:
/// name the follow-up and the limit that it exceeds.
[[nodiscard]] result<std::shared_ptr<const protocol::encoded_tasks>>
encode_follow_ups(const std::vector<task_spec>& tasks, std::string_view tenant);

/// The report of a handler's outcome. A result over its limit becomes a permanent failure that
/// names both sizes; follow-ups over a limit become a failure that names it; an error text over its
/// limit is cut with a mark; a failure of a handler that was cancelled is not charged to the task.
[[nodiscard]] report make_report(const lease_key& key, const held_lease& lease, outcome answer);

/// Limits an outcome before it is sent by a child process: if `make_report` would turn it into a
/// failure, this failure is returned, with a text within its limit.
[[nodiscard]] outcome within_limits(outcome answer);

/// The report of a task that was never started.
[[nodiscard]] report make_unstarted(const lease_key& key, sequence seq);

/// Turns a completion into a failure because of its content: the task is retried, or ends dead,
/// where operators see the reason.
void fail_for_follow_ups(report& made, const std::string& why);

/// True for a report whose content a coordinator may refuse: follow-ups, or names of limits.
[[nodiscard]] bool has_content(const report& made);

/// Turns such a report into a failure that can be taken.
void fail_for_content(report& made, const std::string& why);

/// `text`, cut if it exceeds the limit of error texts, with a mark that says how much is missing.
[[nodiscard]] std::string cut_error_text(std::string text);

} // namespace codeq::worker
