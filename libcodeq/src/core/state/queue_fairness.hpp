// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/limits.hpp"
#include "codeq/operator_types.hpp"

#include "core/blocks/segment.hpp"
#include "core/commands/operator_command.hpp"
#include "core/flow/fair_keys.hpp"
#include "core/state/fair_lanes.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <optional>

namespace codeq::core {

struct queue_state;
struct shard_state;

/// The ready tasks of a queue whose tasks have fairness keys, by priority and key, and the keys of
/// all its live tasks. Owned by `queue_state`, from the first task with a fairness key on, until
/// the queue is removed or the process ends. Volatile: recovery counts the tasks again, and keys
/// begin without credit, debt and measured run times.
class queue_fairness {
public:
  /// Takes the lanes of a queue over as those of the empty key. @pre the counts of the queue are
  /// those of its tasks
  explicit queue_fairness(queue_state& queue);

  /// Tasks of the segment become live.
  void take(const segment& s, std::uint64_t tasks = 1) { keys_.take(s.fairness_key(), tasks); }

  /// A live task of the segment ended.
  void drop(const segment& s) { keys_.drop(key_of(s)); }

  /// Lets the key have the weight that the segment's producer gave it, if any.
  void take_weight(const segment& s);

  /// Live tasks of the segment become ready; the caller adds them to the lane that is returned.
  lane& enter(const segment& s, std::uint64_t tasks);

  /// One task of the segment is not ready any more. As `fair_lanes::leave`.
  void leave(const segment& s, sequence seq, bool was_returned);

  /// The lane of the segment's key. @pre it has ready tasks
  [[nodiscard]] lane& lane_of(const segment& s) {
    return lanes_[s.priority]->at(key_of(s));
  }

  /// The lanes of a priority; null when none of its tasks was ready so far.
  [[nodiscard]] fair_lanes* lanes(std::size_t priority) { return lanes_[priority].get(); }

  [[nodiscard]] const fair_lanes* lanes(std::size_t priority) const {
    return lanes_[priority].get();
  }

  [[nodiscard]] const fair_keys& keys() const noexcept { return keys_; }

  /// The tasks to grant next: of one segment, at most `limit`. Removes nothing. @pre the priority
  /// has ready tasks
  [[nodiscard]] fair_lanes::turn
  front(std::size_t priority, segment_table& segments, std::uint32_t limit) {
    return lanes_[priority]->front(segments, keys_, limit);
  }

  /// Charges the key for the first of these tasks, before they leave their lane. Returns the
  /// expected run time of one of them, in milliseconds. @pre `front` returned the key last
  std::uint32_t charge(std::size_t priority, fair_key who, std::uint32_t tasks);

  /// The lease of a task ended, for which its key was charged `charged`. `ran`: how long the lease
  /// was held; empty when the attempt never began.
  void settle(const segment& s, std::uint32_t charged, std::optional<duration> ran);

  /// Lists keys. `leased`: the number of the queue's leases.
  [[nodiscard]] fairness_page list(const fairness_part& part, std::uint64_t leased) const;

private:
  [[nodiscard]] fair_key key_of(const segment& s) const {
    return *keys_.find(s.fairness_key());
  }

  [[nodiscard]] fairness_share describe(fair_key who) const;

  /// Number of the key's ready tasks, of all priorities.
  [[nodiscard]] std::uint64_t ready_of(fair_key who) const;

  fair_keys keys_;
  std::array<std::unique_ptr<fair_lanes>, limits::priority_max + 1> lanes_;
};

/// The end of a lease settles what its fairness key was charged. `began`: the attempt began.
/// @pre the lease is in the table
void settle_fairness(
  shard_state& state, const segment& s, fencing_token token, bool began, timestamp now);

} // namespace codeq::core
