// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"
#include "codeq/time.hpp"

#include "core/commands/permit_command.hpp"
#include "core/flow/held_turns.hpp"
#include "core/flow/permit_recalls.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

namespace codeq::core {

struct shard_state;

/// A permit that another shard wants has a place among the tasks that a limit key holds back, with
/// a number that no task has.
inline constexpr sequence first_permit_place = sequence{1} << 63;

[[nodiscard]] constexpr bool is_permit_place(sequence seq) noexcept {
  return seq >= first_permit_place;
}

/// The permits that other shards have, and want, of limit keys that this shard owns. Those that
/// they have are durable, and count as slots of the keys; those that they want are volatile. Slots
/// of queues are counted here, and wait here.
class permit_book {
public:
  /// Interval at which shards whose permits may have ended without notice are asked.
  static constexpr duration ask_again{500};
  /// An asker that was not heard for so long waits no more, so that no permit is booked for a shard
  /// that cannot be reached. It would have asked again each 500 ms.
  static constexpr duration silent_max{1500};
  /// Time for which a slot is kept for a task of this shard that no worker claims yet.
  static constexpr duration own_claim_wait{50};

  struct wanted_permit {
    shard_id asker{};
    permit what;
    /// It takes the place of a slot that the asker has returned unspent.
    bool is_repeated = false;
  };

  struct asker_state {
    /// The last message heard.
    std::uint32_t session = 0;
    std::uint64_t heard = 0;
    monotonic_time heard_at{};
    std::map<permit_number, permit> booked{};
    /// The places of those that wait.
    std::map<permit_number, sequence> waiting{};
    /// The asker, or this shard, was served anew; the asker has to list its permits.
    bool is_doubtful = false;
  };

  [[nodiscard]] asker_state& of(shard_id asker) { return askers_[asker]; }

  /// Also those without permits.
  [[nodiscard]] const std::map<shard_id, asker_state>& askers() const noexcept { return askers_; }

  /// The shards that have permits or slots.
  [[nodiscard]] std::set<shard_id> having() const;

  /// The shards that have permits of the key, spent or not. Looks at all permits.
  [[nodiscard]] permit_recalls::holders holders_of(const permit_recall& key) const;

  /// The priority, which is negated; then 0 for those that are repeated, else 1; then in order.
  using slot_place = std::tuple<int, int, sequence>;

  /// The slots of a queue.
  struct slot_line {
    /// Number of slots that other shards have.
    std::uint64_t lent = 0;
    /// The places of the slots that other shards want.
    std::set<slot_place> waiting{};
    /// The shards whose workers were busy when a slot came: the next one that they want comes
    /// before those of others, so that the others cannot keep slots away from them.
    std::set<shard_id> has_missed{};
    /// The last slot was given to another shard, so that it is this one's turn.
    bool was_lent = false;
    /// Until then a slot is kept for the first task of this shard. When it is past, no worker has
    /// claimed it, and no slot is kept before this shard has leased a task of the queue.
    std::optional<monotonic_time> kept_until{};
  };

  /// Number of the queue's slots that other shards have.
  [[nodiscard]] std::uint64_t lent_of(const queue_address& queue) const;

  /// Another shard has got, or returned, a slot of the queue. Returns how many are lent now.
  std::uint64_t count_lent(const queue_address& queue, bool is_returned);

  /// The shard returned a slot of the queue because its workers were busy.
  void note_missed(const queue_address& queue, shard_id asker);

  /// The queue leased a task of this shard.
  void note_own_lease(const queue_address& queue);

  /// A slot may be kept for a task of this shard, whose worker is told of it. Returns false when it
  /// was kept in vain. @pre slots of the queue are wanted
  [[nodiscard]] bool keep_slot(const queue_address& queue, monotonic_time now);

  /// More leases of the queue may be possible: its wanted slots are looked at, if there are any.
  void look_at_slots(const queue_address& queue);

  /// The queues to look at. Each of them has slots that are wanted.
  [[nodiscard]] std::vector<queue_address> slots_to_look_at() const {
    return {slots_to_look_at_.begin(), slots_to_look_at_.end()};
  }

  /// No more can be lent for now; `kept`: queues to look at in the next turn, too. What was
  /// remembered of queues of which nothing is wanted or lent is forgotten; not before, since a
  /// message that returns a slot may want the next one.
  void note_slots_seen(std::set<queue_address> kept);

  /// @pre slots of the queue are wanted, or lent
  [[nodiscard]] const slot_line& slots_of(const queue_address& queue) const {
    return slots_.at(queue);
  }

  /// Calls `visit(queue, line)` for all queues with slots that are wanted or lent.
  template <class Visit>
  void for_each_slot_line(Visit&& visit) const {
    for (const auto& [queue, line] : slots_)
      visit(queue, line);
  }

  /// Adds a permit that is wanted; it is looked at in this turn.
  void want(shard_id asker, const permit& what);

  /// The wanted permit at a place, or null when it is not wanted any more.
  [[nodiscard]] const wanted_permit* find(sequence place) const;

  /// It is booked, or not wanted any more.
  void forget(sequence place);

  /// The number of the queue in which the permit waits. @pre it is wanted, and is no slot
  [[nodiscard]] std::uint32_t queue_of(const permit& what) const;

  /// The terms of a fairness key of permits that are wanted in that queue, as the latest of them
  /// says.
  [[nodiscard]] fair_terms terms_of(std::uint32_t queue, std::string_view key) const;

  /// The places of permits that are wanted by shards which were not heard lately, or were served
  /// anew.
  [[nodiscard]] std::vector<sequence> wanted_in_vain(monotonic_time now) const;

  /// Its key may admit it now.
  void look_at(sequence place) { to_look_at_.push_back(place); }

  /// First the permits that waited already, then those that are wanted since the last call.
  [[nodiscard]] std::vector<sequence> take_to_look_at();

  /// All askers that have permits are to list them.
  void doubt_all();
  void doubt(shard_id asker);

  /// The askers that are to be asked for lists now.
  [[nodiscard]] std::vector<shard_id> take_questions(monotonic_time now);

  /// When to ask again, or to look at a slot that is kept; empty: never.
  [[nodiscard]] std::optional<monotonic_time> next_look() const;

private:
  [[nodiscard]] static slot_place place_of(const wanted_permit& wanted, sequence place);
  void note_used(const queue_address& queue, const slot_line& line);

  std::map<shard_id, asker_state> askers_;
  std::map<queue_address, slot_line> slots_;
  /// The queues of which no slot was wanted or lent when that changed last.
  std::set<queue_address> unused_;
  std::set<queue_address> slots_to_look_at_;
  std::map<sequence, wanted_permit> wanted_;
  struct known_terms {
    std::size_t wanted = 0;
    fair_terms now{};
  };
  /// A queue of permits that are wanted: the terms of its fairness keys.
  using queue_terms = std::map<std::string, known_terms, std::less<>>;

  void count_wanted(const permit& what);
  void discount_wanted(const permit& what);

  /// Their numbers, by tenant and queue of the tasks.
  std::map<queue_address, std::uint32_t> queues_;
  std::map<std::uint32_t, queue_terms> terms_;
  std::uint32_t last_queue_ = first_permit_queue;
  sequence next_place_ = first_permit_place + 1;
  std::vector<sequence> to_look_at_;
  std::vector<sequence> fresh_;
  monotonic_time look_{};
};

/// Books or frees the slots of permits that other shards have, as the event says; in turns and in
/// recovery alike.
void change_permits(shard_state& state, const permits_changed& e);

} // namespace codeq::core
