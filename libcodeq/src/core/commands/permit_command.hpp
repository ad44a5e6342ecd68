// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"
#include "codeq/task.hpp"
#include "codeq/time.hpp"

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// The messages of shards about permits, and what the owner of limit keys writes of them. A
/// permit is a slot and a start of limit keys that another shard owns, for one attempt of one task.
///
/// - A ready task that a worker would get, and that its own shard's limits admit, is taken out of
///   its lane, and its shard asks the owner (`permit_desk`). There it waits among the tasks of its
///   keys, where fairness keys take turns; slots go in turns to the owner's own tasks and to other
///   shards. The owner books the slot and the start, in a turn that is synced, and only then gives
///   the permit.
/// - The task returns to its lane, and the grant spends the permit. One that is not spent in time
///   is returned. The end of the lease is synced before the return is told.
/// - The lease is the only durable record of a spent permit at the asking shard. Its next process
///   tells each owner all leases as a list, before anything else; the owner frees all other slots
///   of that shard. So nothing is lost when a return was not told, or not heard. The owner asks for
///   the list when one of the two is served anew.
/// - Numbers of messages ascend, and the owner stores the last one heard with each change. So
///   messages of the past change nothing.
/// - When a key is closed, the owner recalls its permits. A shard that hears it returns those that
///   are not spent, also if they are only asked for, and asks for others under new numbers, which
///   wait until the key is open. So a permit that was given before is not spent afterwards, however
///   late it comes. An operator's close is answered when the shards have confirmed that
///   (`permit_recalls`).
///
/// A task whose keys belong to several other shards needs a permit from each of them.
///
/// The leases that a queue's `max_leased` allows over all shards are such permits as well, called
/// slots. They belong to the queue and not to a task, and its owner counts them beside its own
/// leases, without a limit key.
///
/// The tasks that a queue's `max_depth` allows over all shards are no permits but amounts, which
/// the same messages tell of. The owner books how many live tasks each other shard may have; that
/// is never less than the shard's quota (`depth_desk`), whichever messages are lost, late or
/// repeated:
///
/// - A level says how many tasks a shard has, or may have without asking, and the sum of all grants
///   in it. The owner books the level, and what it has granted since. It books and syncs a grant
///   before it tells the shard the new sum.
/// - When too little is left the owner recalls: each shard keeps as much as it has tasks, and says
///   so. What then does not fit is refused; the queue is full.
/// - A shard stores nothing of it: its next process has a level of as many tasks as it has, and
///   another life, in which nothing was granted yet. Ends of tasks are synced before a lower level
///   is told.
namespace codeq::core {

/// Session of the asking shard, and a counter within it; never used again.
using permit_number = std::uint64_t;

/// A permit of a rate may be spent so long after its owner booked the start. The owner lets starts
/// add up for twice as long, which is within the 50 ms of the contract.
inline constexpr duration permit_late_max{24};

/// Permits that other shards want wait for their limit keys in queues of their own, one for each
/// queue of their tasks, with numbers from this one on.
inline constexpr std::uint32_t first_permit_queue = 0x8000'0000;

/// Where a permit that is wanted has its turn among those of its priority for the same keys.
struct permit_turn {
  /// The name of the task's queue; empty from older versions.
  std::string queue{};
  std::string fairness_key{};
  std::uint32_t key_weight = 1;
  std::uint32_t group_weight = 1;
  /// The expected run time of a task of the fairness key, in milliseconds, at least 1.
  std::uint32_t cost = 1;

  bool operator==(const permit_turn&) const = default;
};

struct permit {
  permit_number number = 0;
  std::string tenant;
  /// All of them are owned by the shard that is asked.
  std::vector<task_limit> uses;
  /// Of the task.
  std::uint8_t priority = 0;
  /// With a booking of a queue's depth, which is stored as a permit: the number of live tasks that
  /// the shard may have, and the sum of what it was granted.
  std::uint64_t booked = 0;
  std::uint64_t granted = 0;
  /// While it is wanted; not stored.
  permit_turn turn{};
  /// When the owner booked the start. Not stored: no surplus comes back of a permit that was booked
  /// by an earlier process, or that the owner knows from a list only.
  timestamp charged_at{};

  bool operator==(const permit&) const = default;
};

/// Name of the limit that a slot names; no tenant can define it. Its key is the name of the queue.
inline constexpr std::string_view slot_limit = "(slot)";

/// The permit is for one lease of a queue.
[[nodiscard]] inline bool is_slot(const permit& what) {
  return what.uses.front().name == slot_limit;
}

/// Name of the limit that a booking of a queue's depth names, as `slot_limit`.
inline constexpr std::string_view depth_limit = "(depth)";

/// It is a booking of a queue's depth; its number is the life.
[[nodiscard]] inline bool is_depth(const permit& what) {
  return what.uses.front().name == depth_limit;
}

/// @pre is_slot(what) or is_depth(what)
[[nodiscard]] inline queue_address queue_of_slot(const permit& what) {
  return {what.tenant, what.uses.front().key};
}

/// The attempt is over, or did not begin.
struct permit_return {
  permit_number number = 0;
  /// The costs of the attempt, by the name of the limit, where that differs.
  std::vector<task_limit> costs{};
  /// The task did not start, so that it cost nothing.
  bool is_unspent = false;

  bool operator==(const permit_return&) const = default;
};

/// A handler met a foreign limit: nothing of the key starts for so long.
struct permit_closure {
  std::string tenant;
  task_limit use;
  duration lasting{0};

  bool operator==(const permit_closure&) const = default;
};

/// A limit key whose permits are recalled, because its owner has closed it.
struct permit_recall {
  std::string tenant;
  std::string limit;
  std::string key;

  auto operator<=>(const permit_recall&) const = default;
};

/// The level of a shard in a queue with `max_depth`.
struct depth_level {
  queue_address queue;
  /// Another one, from the shard's counter of permits, for each process and each time that the
  /// queue gets a maximum.
  permit_number life = 0;
  /// The queue's maximum, as far as the shard knows it.
  std::uint64_t maximum = 0;
  /// Number of live tasks that it has, or may have without asking.
  std::uint64_t level = 0;
  /// Sum of all that the owner has granted in this life, as far as this shard has heard.
  std::uint64_t granted = 0;
  /// Room for so many further tasks is needed now, and the number of that question.
  std::uint64_t wants = 0;
  std::uint32_t ask = 0;
  /// The latest recall that the shard has followed.
  std::uint64_t recall = 0;

  bool operator==(const depth_level&) const = default;
};

enum class depth_answer : std::uint8_t {
  none,
  full, ///< There is no room for what is wanted.
  uncounted, ///< The owner knows another maximum of the queue, or none.
};

/// The owner's words about a level.
struct depth_grant {
  queue_address queue;
  /// 0 when the owner knows no level; then it is a recall only.
  permit_number life = 0;
  /// Sum of all grants in this life.
  std::uint64_t granted = 0;
  /// The shard is to keep no more than it has tasks; greater for each recall. 0: it is none.
  std::uint64_t recall = 0;
  depth_answer answer = depth_answer::none;
  /// The question that is answered, by a grant too; with an answer, the number of tasks that there
  /// is still room for.
  std::uint32_t ask = 0;
  std::uint64_t left = 0;
  /// With `full`: shards did not answer the recall, whose unused room counts as used.
  bool is_any_silent = false;

  bool operator==(const depth_grant&) const = default;
};

/// The shard `from` wants permits and returns others. Sent again, with another number, until it is
/// heard. Effect: `shard_told` with `give_permits`.
struct ask_permits {
  shard_id from{};
  /// Greater for each process that serves the shard.
  std::uint32_t session = 0;
  /// Number of this message within the session; ascending. One that is not greater than the last
  /// one heard is of the past.
  std::uint64_t number = 0;
  /// `held` are all permits that the shard has: those of its leases, and unspent ones. The owner
  /// drops all others.
  bool is_list = false;
  std::vector<permit> held{};
  std::vector<permit> wanted{};
  std::vector<permit_return> returned{};
  std::vector<permit_closure> closed{};
  std::vector<depth_level> levels{};
  /// `give_permits::recall` of the latest recall that the shard has followed; 0: of none.
  std::uint64_t recall = 0;
};

/// The answer, and permits that became possible later. They are booked durably, and synced.
struct give_permits {
  /// The owner.
  shard_id by{};
  /// The session of the shard that asked.
  std::uint32_t session = 0;
  /// `ask_permits::number` of the last message heard.
  std::uint64_t heard = 0;
  std::vector<permit_number> given{};
  /// The owner does not know what the shard has.
  bool wants_list = false;
  /// The owner counts the slots of queues; older versions do not.
  bool counts_slots = true;
  std::vector<depth_grant> depths{};
  /// The owner counts the depths of queues; older versions do not.
  bool counts_depths = true;
  /// The keys whose permits are recalled.
  std::vector<permit_recall> recalled{};
  /// Number of the recall, which the shard has to confirm; ascending, also over processes of the
  /// owner. The message has the keys of all earlier ones that the shard has not confirmed. 0: it
  /// need not be confirmed.
  std::uint64_t recall = 0;
};

/// Changes in a turn of the permits that a shard has from this one.
struct permits_changed {
  std::uint64_t position = 0;
  timestamp at;
  shard_id asker{};
  /// The last message heard of that shard.
  std::uint32_t session = 0;
  std::uint64_t heard = 0;
  std::vector<permit> booked{};
  /// Ended; some may have been booked in the same turn.
  std::vector<permit_number> freed{};
};

} // namespace codeq::core
