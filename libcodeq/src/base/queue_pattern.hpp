// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"

#include <algorithm>
#include <compare>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace codeq::base {

/// One queue, or all queues whose names begin with a prefix: `mail`, `print-*`, `*`. The two sets
/// of a pair are disjoint, or one contains the other.
class queue_pattern {
public:
  /// Errors: `invalid_argument` names the text and what is allowed.
  [[nodiscard]] static result<queue_pattern> parse(std::string_view text);

  /// @pre `name` is the valid name of a queue
  [[nodiscard]] static queue_pattern of_queue(std::string name) {
    return {std::move(name), false};
  }

  /// All queues whose names begin with the prefix.
  [[nodiscard]] static queue_pattern of_prefix(std::string prefix) {
    return {std::move(prefix), true};
  }

  [[nodiscard]] bool is_one_queue() const noexcept { return !is_prefix_; }

  /// The name of the queue, or the prefix.
  [[nodiscard]] const std::string& stem() const noexcept { return stem_; }

  [[nodiscard]] std::string text() const { return is_prefix_ ? stem_ + "*" : stem_; }

  [[nodiscard]] bool matches(std::string_view queue) const noexcept {
    return is_prefix_ ? queue.starts_with(stem_) : queue == stem_;
  }

  /// True when every queue of `other` matches.
  [[nodiscard]] bool covers(const queue_pattern& other) const noexcept {
    return is_prefix_ ? other.stem_.starts_with(stem_) : *this == other;
  }

  /// The queues that both match; empty when there can be none.
  [[nodiscard]] std::optional<queue_pattern> common_with(const queue_pattern& other) const;

  /// Orders a set of queues after those that contain it.
  friend auto operator<=>(const queue_pattern&, const queue_pattern&) = default;

private:
  queue_pattern(std::string stem, bool is_prefix) : stem_(std::move(stem)), is_prefix_(is_prefix) {}

  std::string stem_;
  bool is_prefix_ = false;
};

/// The pattern that decides for `wanted`: a queue's name before prefixes, a longer prefix before a
/// shorter one. Null when none of them covers it.
[[nodiscard]] const queue_pattern*
most_specific(const std::vector<queue_pattern>& patterns, const queue_pattern& wanted);

} // namespace codeq::base
