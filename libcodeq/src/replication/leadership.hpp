// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/time.hpp"
#include "replication/epoch_index.hpp"
#include "replication/lag_marks.hpp"
#include "replication/membership.hpp"
#include "replication/messages.hpp"

#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace codeq::replication {

/// The memory of a primary in one epoch: its window of deltas, what the others confirmed, and its
/// change of the set. It is forgotten with the epoch, never resumed. Decides; its owner,
/// `shard_replica`, sends and writes.
class leadership {
public:
  enum class phase : std::uint8_t {
    /// Waits for the promises of the set.
    collecting,
    /// Waits until all hold the start of the epoch.
    starting,
    /// Waits until the entitlement of the old primary has ended.
    waiting,
    serving,
  };

  /// @pre `value` names `self` as the primary
  leadership(replica_id self, membership value, position last, monotonic_time now);

  [[nodiscard]] const membership& value() const { return value_; }

  [[nodiscard]] epoch_number epoch() const { return value_.epoch; }

  [[nodiscard]] phase at() const { return phase_; }

  void set_phase(phase next) { phase_ = next; }

  /// All others whose confirmation counts: etcd's set, and an addition that is under way.
  [[nodiscard]] std::vector<replica_id> others() const;

  /// Notes that a member has promised the epoch and that its history is a part of this one.
  void note_collected(replica_id member, monotonic_time now);

  /// Whether the member was heard lately.
  [[nodiscard]] bool is_heard(replica_id member, monotonic_time now) const;

  /// Whether all members have promised.
  [[nodiscard]] bool has_collected() const;

  /// The history grew by what a member had more. @pre collecting
  void note_fetched(position last) { sent_ = last; }

  /// Whether the shard was recovered from the own store, with which it can be served.
  [[nodiscard]] bool has_recovered() const { return has_recovered_; }

  void note_recovered() { has_recovered_ = true; }

  /// Adds a delta to the window.
  entry propose(std::shared_ptr<const delta_body> body, monotonic_time now);

  /// The last delta of the window, or of the own log.
  [[nodiscard]] position sent() const { return sent_; }

  /// The next deltas of the window after `after`, as many as fit into a message; none when others
  /// come before them.
  [[nodiscard]] std::vector<entry> window_after(position after) const;

  /// The delta after which a replica is sent more. None while that is not known, while the replica
  /// is copied, or when it has to confirm first.
  [[nodiscard]] std::optional<position> next_for(replica_id replica) const;

  /// The message has the number of the latest beacon.
  void note_sent(replica_id replica, const std::vector<entry>& entries);

  /// To be called with each beacon: what was sent and brought no confirmation for so long is sent
  /// again, as soon as a beacon that was sent after it is confirmed. Until then it may wait for a
  /// slow connection, where further copies would only add to it.
  void resend_if_stuck(replica_id replica);

  /// The replica cannot be sent what it lacks. As a member it is removed, since it could not be
  /// copied before.
  void note_lost(replica_id replica);

  /// The process of the replica has ended, as its connection says. As a member it is removed
  /// without the time to confirm, unless it is heard again before.
  void note_gone(replica_id replica);

  /// Whether the replica said that it has no usable data.
  [[nodiscard]] bool needs_copy(replica_id replica) const;

  /// Whether a copy may begin: one at a time, and never of a replica that counts.
  [[nodiscard]] bool may_copy(replica_id replica) const;
  void note_copying(replica_id replica);
  void note_copy_ended(replica_id replica);

  /// The deltas that may be written to the own log: all members that count have confirmed them.
  [[nodiscard]] std::vector<entry> take_ready();

  /// The number of the next beacon, sent now.
  std::uint64_t next_beacon(monotonic_time now);

  /// A replica confirmed. What it confirmed on an earlier connection is void.
  void note_confirm(const envelope& in, const confirm& what, monotonic_time now);

  /// Whether a member confirms what it is sent, and would be elected with it.
  [[nodiscard]] bool may_take_over(replica_id member) const;

  /// The last position that a replica confirmed; none before its first confirmation.
  [[nodiscard]] std::optional<position> written_by(replica_id replica) const;

  /// How long the replica has lacked the oldest delta of this epoch that it has not confirmed. None
  /// before its first confirmation.
  [[nodiscard]] std::optional<duration> lag_of(replica_id replica, monotonic_time now) const;

  /// Whether requests that are not commits may be answered.
  [[nodiscard]] bool is_entitled(monotonic_time now) const;

  /// The compare-and-set to send now. A member that is silent is removed, and one that is late if
  /// enough others are in sync; a learner that has caught up is added. A compare-and-set without an
  /// answer is sent again, with the same old value, but no removal of a member that confirms again.
  [[nodiscard]] std::optional<membership> next_change(monotonic_time now);

  /// etcd's value, from an answer to a compare-and-set. @pre its epoch is this one
  void note_value(const membership& current);

private:
  /// A message that is not confirmed.
  struct sent_message {
    /// Its last delta.
    position last;
    std::size_t byte_size = 0;
    std::uint64_t beacon = 0;
  };

  struct member_view {
    std::uint64_t incarnation = 0;
    std::optional<position> written;
    /// The last delta that was sent; each one follows the one before.
    std::optional<position> sent;
    /// `written` as of the last beacon.
    std::optional<position> written_before;
    /// Beacons without a confirmation of what was sent.
    std::size_t stuck_beacons = 0;
    std::deque<sent_message> in_flight;
    std::size_t in_flight_bytes = 0;
    /// The latest beacon that it confirmed.
    std::uint64_t confirmed_beacon = 0;
    monotonic_time heard{};
    /// When it last confirmed another delta, or had none to confirm.
    monotonic_time progressed{};
    monotonic_time entitled_until{};
    /// When the last beacon was sent that it confirmed in time to entitle its sender.
    monotonic_time in_time{};
    bool has_promised = false;
    bool is_doubtful = false;
    bool is_lost = false;
    bool is_gone = false;
    bool needs_copy = false;
    bool is_copying = false;

    /// What it has is not known any more.
    void forget_written();
    void resend_if_stuck();
  };

  enum class change_kind : std::uint8_t { none, removing, counting, adding };

  [[nodiscard]] bool is_needed(replica_id replica, position at) const;
  [[nodiscard]] bool has_confirmed(replica_id replica, position at) const;
  [[nodiscard]] bool is_failing(replica_id member, monotonic_time now) const;
  /// Whether it confirms, but seconds late: its connection or disk is slower than the others'.
  [[nodiscard]] bool is_late(const member_view& view, monotonic_time now) const;
  /// Whether a learner is so little behind that others can wait for it.
  [[nodiscard]] bool is_close(const member_view& view, monotonic_time now) const;
  void start_change(monotonic_time now);
  [[nodiscard]] membership changed_value() const;

  replica_id self_;
  membership value_;
  phase phase_ = phase::collecting;
  position sent_;
  std::deque<entry> window_;
  std::map<replica_id, member_view> views_;
  bool has_recovered_ = false;
  std::map<std::uint64_t, monotonic_time> beacons_;
  std::uint64_t beacon_ = 0;
  /// The last delta of the window at earlier times.
  std::deque<std::pair<monotonic_time, position>> marks_;
  lag_marks begun_;
  change_kind change_ = change_kind::none;
  replica_id changed_{};
  /// The last delta before those that count a learner.
  position counted_after_;
  std::optional<monotonic_time> asked_;
};

} // namespace codeq::replication
