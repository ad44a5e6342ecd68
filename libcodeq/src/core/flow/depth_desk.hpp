// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"
#include "codeq/task.hpp"
#include "codeq/time.hpp"

#include "core/commands/permit_command.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

namespace codeq::core {

/// The quotas of a shard for queues with a maximum depth that another shard counts. An enqueue that
/// fits the quota needs no message. One that does not waits (`parked_enqueues`) while its shard
/// asks the owner for room. The end of a task leaves the quota as it is, so that a queue that stays
/// below its maximum sends nothing; the owner recalls unused room when it has too little left.
///
/// The level of a queue is what the owner has to book: the quota, or the tasks that there are, if
/// these are more. They are when tasks were added without asking. The quota stays as it is then,
/// and is as great as the level only when the owner gives room, which it has counted with.
///
/// Volatile: a new process has a quota of 0, and a level of as many tasks as it has. Its words to
/// owners are parts of the messages of `permit_desk`, which repeats them until they are heard.
class depth_desk {
public:
  /// Interval at which room that has not come is asked for again, since the answer may be lost.
  static constexpr duration ask_again{150};
  /// After the owner has said that the queue is full, larger enqueues are refused for so long
  /// without asking it.
  static constexpr duration full_for{100};
  /// Queues of which one message says the level at most.
  static constexpr std::size_t message_levels_max = 1000;

  /// A queue that gets a maximum.
  struct start {
    queue_address name;
    shard_id owner{};
    /// Greater than that of each earlier start.
    permit_number life = 0;
    std::uint64_t maximum = 0;
    /// The shard's part of the maximum, which counts for a moment when the owner does not count.
    std::uint64_t part = 0;
    /// Number of live tasks.
    std::uint64_t depth = 0;
  };

  /// A queue of this shard has this maximum from now on. @pre it has no quota
  void open(std::uint32_t queue, const start& with);

  /// The queue has no maximum any more. Does nothing when it has no quota.
  void close(std::uint32_t queue);

  [[nodiscard]] bool has_quota(std::uint32_t queue) const { return quotas_.contains(queue); }

  /// Number of live tasks that enqueues may lead to. @pre has_quota(queue), as for all that follow
  [[nodiscard]] std::uint64_t quota(std::uint32_t queue, monotonic_time now) const;

  /// Number of tasks that the owner has to book.
  [[nodiscard]] std::uint64_t level(std::uint32_t queue) const { return quotas_.at(queue).level; }

  struct need {
    std::uint32_t queue = 0;
    std::uint64_t depth = 0;
    std::uint64_t tasks = 0;
  };

  /// Room that is lacking for so many further tasks, of a queue with `depth` live ones.
  [[nodiscard]] std::uint64_t lacking(const need& what, monotonic_time now) const;

  /// The queue has so many live tasks. If that is above its level, the owner is told.
  void raise(std::uint32_t queue, std::uint64_t depth);

  /// The queue gives up all room beyond its tasks. Returns true if it had any: then the ends of
  /// tasks so far have to be synced before the owner is told.
  bool lower(std::uint32_t queue, std::uint64_t depth);

  /// Room for so many further tasks is needed beyond the quota; 0: none.
  void want(std::uint32_t queue, std::uint64_t tasks);

  /// The owner has not answered yet what was wanted last.
  [[nodiscard]] bool is_wanting(std::uint32_t queue) const { return quotas_.at(queue).wants > 0; }

  /// Takes over the owner's words about one queue. Returns true when the owner needs the room that
  /// is not used.
  [[nodiscard]] bool hear(std::uint32_t queue, const depth_grant& said, monotonic_time now);

  /// The owner does not count depths, as older versions: each queue has its part for a moment.
  void note_uncounted(shard_id owner, monotonic_time now);

  /// The owner said lately that the queue has no room for so many tasks beyond its quota.
  [[nodiscard]] bool is_full(std::uint32_t queue, std::uint64_t tasks, monotonic_time now) const;

  /// The owner left shards out that did not answer when it said so.
  [[nodiscard]] bool is_any_silent(std::uint32_t queue) const {
    return quotas_.at(queue).is_any_silent;
  }

  // For `permit_desk`, which sends the levels.

  /// The owners that are to be told something.
  [[nodiscard]] std::set<shard_id> owners_to_tell(monotonic_time now);
  [[nodiscard]] bool has_news(shard_id owner) const;
  /// The levels for the next message to the owner. Those of the last one that was not heard are
  /// among the next ones.
  [[nodiscard]] std::vector<depth_level> say(shard_id owner, monotonic_time now);
  /// The owner has heard the last message.
  void heard(shard_id owner);
  /// The owner is served anew: all its queues are to be told.
  void moved(shard_id owner);
  /// When to ask again.
  [[nodiscard]] std::optional<monotonic_time> next_look() const;

private:
  struct entry {
    start with{};
    std::uint64_t level = 0;
    std::uint64_t quota = 0;
    /// All that the owner gave in this life.
    std::uint64_t granted = 0;
    std::uint64_t wants = 0;
    /// Number of what is wanted, or was wanted last.
    std::uint32_t ask = 0;
    std::uint64_t recall = 0;
    monotonic_time full_until{};
    /// The shard's part counts until then.
    monotonic_time part_until{};
    /// Number of tasks that there was still room for.
    std::uint64_t left = 0;
    bool is_any_silent = false;
  };

  struct owner_words {
    std::set<std::uint32_t> queues{};
    /// The queues whose levels have to be sent.
    std::set<std::uint32_t> unsaid{};
    /// The queues of the last message.
    std::set<std::uint32_t> said{};
    /// The queues with an open question, and the time to ask again.
    std::set<std::uint32_t> wanting{};
    monotonic_time ask_at{};
  };

  void set_wants(std::uint32_t queue, entry& of, std::uint64_t tasks);
  void note_full(std::uint32_t queue, entry& of, std::uint64_t left, monotonic_time now);

  std::map<std::uint32_t, entry> quotas_;
  std::map<shard_id, owner_words> owners_;
};

} // namespace codeq::core
