// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"
#include "codeq/time.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>

namespace codeq::core {

/// By so much a task must be older to come before a task of the same priority on another shard, or
/// the turn of its fairness key earlier.
inline constexpr duration rival_age_margin{1000};

/// The same for a task at another coordinator, which tells of its tasks a little later, by its own
/// clock: half of the 10 s within which the contract promises the order of ages.
inline constexpr duration far_rival_age_margin{5000};

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
  /// The time before this round that the member was not given for, since the last round became
  /// longer after its turn, or since rounds were left out until a debt was paid.
  std::int64_t owed = 0;
  /// The time for which the member may have waited for other shards; see `waiting_ring`.
  std::int64_t waited = 0;
  /// The length of the rounds of the other shards, if theirs are longer.
  std::int64_t longest = 1;
};

/// The credit after a turn begins. A turn adds a round's allowance at most, and what the member is
/// owed. A debt is at most that of a round, and what is left from before at most that and the cost
/// of a task. The time for which the member waited is added to both.
[[nodiscard]] constexpr fair_credit
add_allowance(fair_credit to, const fair_allowance& a) noexcept {
  if (to.given >= a.until)
    return to;
  // The largest cost may have been greater when the member came into debt.
  auto longest = std::max(a.largest, a.longest);
  auto most = (a.weight + 1) * longest + a.weight * a.waited;
  auto left = std::clamp(to.credit, -a.weight * longest, most);
  auto added = std::min(a.until - to.given, a.largest + a.owed + a.waited);
  return {left + a.weight * added, a.until};
}

/// A shard that takes turns of a queue together with others, as these see it. Shared by threads.
class turn_shard {
public:
  virtual ~turn_shard() = default;

  [[nodiscard]] virtual shard_id number() const = 0;

  /// True when a claim would get a task there.
  [[nodiscard]] virtual bool may_grant() const = 0;
};

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

  /// The ring of the key's group has come to that time at the shard. The other shards see it until
  /// `withdraw`, or until the shard may not grant. Returns what `shard_behind` does.
  virtual std::optional<shard_id>
  show(const std::shared_ptr<const turn_shard>& at, std::int64_t time) = 0;

  /// The ring at the shard has no keys any more.
  virtual void withdraw(const turn_shard& at) = 0;

  /// The shard whose ring of the same keys' group is the furthest behind that time, by more than
  /// `rival_age_margin`; its keys come before those at `at`. Empty when there is none.
  [[nodiscard]] virtual std::optional<shard_id>
  shard_behind(const turn_shard& at, std::int64_t time) const = 0;

  /// The most that turns have given so far and that was not used, at all shards. For checks.
  [[nodiscard]] virtual std::int64_t most() const = 0;
};

/// The ring of a group's keys at a shard, which waits for the rings of that group at other shards.
struct waiting_ring {
  /// That of a key in the ring; null when no ring waits.
  std::shared_ptr<const shared_credit> key;
  std::shared_ptr<const turn_shard> at;
  std::int64_t time = 0;

  /// See `shared_credit::shard_behind`. Empty when the ring waits no more.
  [[nodiscard]] std::optional<shard_id> shard_behind() const {
    return key ? key->shard_behind(*at, time) : std::nullopt;
  }
};

/// The credits of one key; null when no other shard shares them.
struct key_credits {
  std::shared_ptr<shared_credit> group;
  std::shared_ptr<shared_credit> key;
  /// The shard that uses them.
  std::shared_ptr<const turn_shard> here;
};

} // namespace codeq::core
