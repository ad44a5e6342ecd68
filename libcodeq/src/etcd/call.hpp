// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/time.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace codeq::etcd {

/// Which member the next calls ask first: the last one that answered. Pure.
class member_order {
public:
  explicit member_order(std::size_t count) : count_(count) {}

  [[nodiscard]] std::size_t count() const { return count_; }

  [[nodiscard]] std::size_t first() const { return first_; }

  void note_answer(std::size_t member) { first_ = member; }

  void note_silence(std::size_t member) {
    if (member == first_)
      first_ = (first_ + 1) % count_;
  }

private:
  std::size_t count_;
  std::size_t first_ = 0;
};

/// Whom one request is sent to, and when: one member first; the next one when the last one has
/// failed, or has not answered for 300 ms; after the last one the first one again, since a member
/// may have lost the request with its leader. Members that were asked may still answer: the first
/// answer counts. Pure; its owner sends, and says how it ended.
class call {
public:
  /// Without an answer it is over after `limit`.
  call(std::size_t members, std::size_t first, duration limit, monotonic_time now);

  /// One copy of the request.
  struct copy {
    std::uint64_t number = 0;
    std::size_t member = 0;

    bool operator==(const copy&) const = default;
  };

  /// The copy to send now.
  [[nodiscard]] std::optional<copy> next(monotonic_time now);

  /// When to call `next` again, at the latest.
  [[nodiscard]] monotonic_time wake_at() const;

  /// A copy can be answered no more. `words` are for an operator.
  void failed(const copy& what, std::string words, monotonic_time now);

  /// Bytes of the request have left for a member: it may be applied.
  void note_sent() { is_sent_ = true; }

  [[nodiscard]] bool is_sent() const { return is_sent_; }

  [[nodiscard]] bool is_over(monotonic_time now) const { return now >= ends_; }

  /// Describes how a member answered; empty when it was not asked.
  [[nodiscard]] std::string words_of(std::size_t member) const;

private:
  struct view {
    bool is_asked = false;
    /// Copies that may still be answered.
    std::size_t open = 0;
    /// Not asked again before this time.
    monotonic_time free_at{};
    std::string words;
  };

  [[nodiscard]] std::optional<std::size_t> free_member(monotonic_time now) const;

  std::vector<view> views_;
  /// The member that is asked next, if it is free.
  std::size_t turn_;
  std::uint64_t copies_ = 0;
  /// The last copy does not hold up the next one any more.
  bool is_free_ = true;
  monotonic_time last_asked_{};
  monotonic_time ends_;
  bool is_sent_ = false;
};

} // namespace codeq::etcd
