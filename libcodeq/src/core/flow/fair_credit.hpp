// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>

namespace codeq::core {

/// The credit of a member of a ring.
struct fair_credit {
  /// The run time that the member may still use, in milliseconds. Negative: a debt.
  std::int64_t credit = 0;
  /// The time of the ring up to which the member has got its allowance.
  std::int64_t given = 0;

  bool operator==(const fair_credit&) const = default;
};

/// A turn adds this to a credit: the member's weight times the time from `fair_credit::given` to
/// the end of the round. All times are in milliseconds.
struct fair_allowance {
  /// The time of the ring at which the round ends.
  std::int64_t until = 0;
  std::int64_t weight = 1;
  /// The largest cost of a task, which is the length of the round.
  std::int64_t largest = 1;
  /// The length of the rounds of the other shards, if theirs are longer.
  std::int64_t longest = 1;
};

/// The credit after a turn begins. A turn adds a round's allowance at most. A debt is at most that
/// of a round, and what is left from before at most that and the cost of a task.
[[nodiscard]] constexpr fair_credit
add_allowance(fair_credit to, const fair_allowance& a) noexcept {
  if (to.given >= a.until)
    return to;
  // The largest cost may have been greater when the member came into debt.
  auto longest = std::max(a.largest, a.longest);
  auto left = std::clamp(to.credit, -a.weight * longest, (a.weight + 1) * longest);
  return {left + a.weight * std::min(a.until - to.given, a.largest), a.until};
}

/// The credit of a fairness key, or of the keys with the same first part, at all shards of the
/// process: what one of them gave for a time, no other one gives again.
class shared_credit {
public:
  virtual ~shared_credit() = default;

  [[nodiscard]] virtual fair_credit read() const = 0;

  /// As `add_allowance`. Returns the credit of then.
  virtual fair_credit add(const fair_allowance& a) = 0;

  /// Adds to the credit, or subtracts from it when negative.
  virtual void change(std::int64_t difference) = 0;

  /// A task was granted in a round of that length which begins at that time of its ring.
  virtual void note_round(std::int64_t time, std::int64_t length) = 0;

  /// The most that turns have given so far and that was not used, at all shards. For checks.
  [[nodiscard]] virtual std::int64_t most() const = 0;
};

/// The credits of one key; null when no other shard shares them.
struct key_credits {
  std::shared_ptr<shared_credit> group;
  std::shared_ptr<shared_credit> key;
};

} // namespace codeq::core
