// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"
#include "codeq/time.hpp"

#include "core/commands/permit_command.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace codeq::core {

/// The live tasks that other shards may have of queues whose depth this shard counts. What is
/// booked for them is durable; who waits for room, and recalls, are volatile.
class depth_book {
public:
  /// Shards that do not answer a recall for so long are left out; what is booked for them stays.
  static constexpr duration recall_wait{300};
  /// The same when only shards are left that did not answer the last one either.
  static constexpr duration silent_wait{100};
  /// Interval at which shards that have not answered a recall are asked again.
  static constexpr duration recall_again{100};
  /// Between the end of a recall and the next one of the queue.
  static constexpr duration recall_pause{100};
  /// Maximum number of tasks that one grant gives room for beyond what is wanted.
  static constexpr std::uint64_t grant_max = 4096;

  /// The part of a queue that a shard has.
  struct booking {
    permit_number life = 0;
    std::uint64_t booked = 0;
    std::uint64_t granted = 0;
  };

  /// A shard that waits for room, which may be this one.
  struct asking {
    shard_id asker{};
    std::uint64_t wants = 0;
    std::uint32_t ask = 0;
  };

  /// The count of a queue.
  struct count {
    std::map<shard_id, booking> booked{};
    /// Sum of what is booked.
    std::uint64_t total = 0;
    /// In the order in which they came.
    std::vector<asking> line{};
    /// Number of the recall that is under way, or was the last one; 0: there was none.
    std::uint64_t recall = 0;
    bool is_recalling = false;
    monotonic_time recall_until{};
    monotonic_time silent_until{};
    monotonic_time recall_again{};
    /// When the last recall ended.
    monotonic_time recalled_at{};
    /// The shards that have not answered the recall yet.
    std::set<shard_id> unanswered{};
    /// The shards that did not answer the last recall in time and have sent nothing since.
    std::set<shard_id> silent{};
    /// Shards of which nothing is booked had the time to answer a recall.
    bool are_all_asked = false;
    /// The maximum was another one meanwhile, in which shards may have got more tasks than is
    /// booked: nothing is given before the next recall has ended.
    bool is_doubtful = false;

    /// No further answer to the recall is waited for.
    [[nodiscard]] bool is_recall_over(monotonic_time now) const;
  };

  /// The count of the queue, or null when nothing is booked and nobody waits.
  [[nodiscard]] const count* find(const queue_address& queue) const;
  [[nodiscard]] count* find(const queue_address& queue);

  /// The booking of the shard; null: there is none.
  [[nodiscard]] const booking* find(const queue_address& queue, shard_id asker) const;

  /// Number of live tasks that all other shards together may have.
  [[nodiscard]] std::uint64_t total(const queue_address& queue) const;

  // By events, in turns and in recovery alike.

  void book(shard_id asker, const permit& what);
  /// Does nothing when no booking has that number.
  void free(shard_id asker, permit_number life);

  // Volatile.

  /// The shard waits for room; it keeps its place when it waits already.
  void ask(const queue_address& queue, const asking& what);
  /// The shard does not wait any more.
  void leave(const queue_address& queue, shard_id asker);
  /// The queue has another maximum: nobody waits, and all shards are to be asked again. What is
  /// booked stays, also without a maximum, since those shards have not heard of the change yet.
  void drop(const queue_address& queue);
  /// The queue was removed: what is booked is to be freed.
  void abandon(const queue_address& queue);
  [[nodiscard]] std::set<queue_address> take_abandoned() { return std::exchange(abandoned_, {}); }
  /// The shard has answered that recall, if it is under way.
  void note_answer(const queue_address& queue, shard_id asker, std::uint64_t recall);

  /// A number for the next recall, greater than those of earlier processes.
  [[nodiscard]] std::uint64_t next_recall(std::uint32_t epoch);

  /// The queues for which shards wait.
  [[nodiscard]] std::vector<queue_address> waiting() const {
    return {waiting_.begin(), waiting_.end()};
  }

  /// When to look at those queues if nothing else happens.
  [[nodiscard]] std::optional<monotonic_time> next_look() const;

  /// The bookings of all shards, with their numbers.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const auto& [queue, of] : counts_)
      visit(queue, of);
  }

private:
  std::map<queue_address, count> counts_;
  std::map<std::pair<shard_id, permit_number>, queue_address> names_;
  std::set<queue_address> waiting_;
  std::set<queue_address> abandoned_;
  std::uint64_t recalls_ = 0;
};

} // namespace codeq::core
