// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/handler.hpp"

#include "worker/lease_book.hpp"
#include "worker/lease_key.hpp"

#include <optional>
#include <string>

namespace codeq::worker {

/// How an attempt ended, as it is reported; in the order of `schema::Disposition`.
enum class disposition : std::uint8_t {
  completed,
  failed,
  failed_permanently,
  nack,
  abandon,
  cancelled,
};

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
};

/// What to report of a handler's answer: a result over its limit is a permanent failure that names
/// both sizes, an error text over its limit is cut with a mark, and what a handler that was told
/// to stop fails with is not held against the task.
[[nodiscard]] report make_report(const lease_key& key, const held_lease& lease, outcome answer);

/// What to report of a task that was never started.
[[nodiscard]] report make_unstarted(const lease_key& key, sequence seq);

/// `text`, or its beginning with a mark that says how much is missing, within the limit of error
/// texts.
[[nodiscard]] std::string cut_error_text(std::string text);

} // namespace codeq::worker
