// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/time.hpp"
#include "replication/epoch_index.hpp"
#include "replication/membership.hpp"
#include "replication/messages.hpp"

#include <deque>
#include <map>
#include <optional>

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
  void note_collected(replica_id member);

  /// Whether all members have promised.
  [[nodiscard]] bool has_collected() const;

  /// The history grew by what a member had more. @pre collecting
  void note_fetched(position last) { sent_ = last; }

  /// Adds a delta to the window.
  entry propose(std::shared_ptr<const std::string> data);

  /// The last delta of the window, or of the own log.
  [[nodiscard]] position sent() const { return sent_; }

  /// The deltas of the window that are after `after`.
  [[nodiscard]] std::vector<entry> window_after(position after) const;

  /// The deltas that may be written to the own log: all members that count have confirmed them.
  [[nodiscard]] std::vector<entry> take_ready();

  /// The number of the next beacon, sent now.
  std::uint64_t next_beacon(monotonic_time now);

  /// A replica confirmed. What it confirmed on an earlier connection is void.
  void note_confirm(const envelope& from, const confirm& what, monotonic_time now);

  /// The last position that a replica confirmed; none before its first confirmation.
  [[nodiscard]] std::optional<position> written_by(replica_id replica) const;

  /// Whether requests that are not commits may be answered.
  [[nodiscard]] bool is_entitled(monotonic_time now) const;

  /// The compare-and-set to send now: a member that is silent is removed, a learner that has caught
  /// up is added. One without an answer is sent again, with the same old value.
  [[nodiscard]] std::optional<membership> next_change(monotonic_time now);

  /// etcd's value, from an answer to a compare-and-set. @pre its epoch is this one
  void note_value(const membership& current);

private:
  struct member_view {
    std::uint64_t incarnation = 0;
    std::optional<position> written;
    monotonic_time heard{};
    monotonic_time entitled_until{};
    bool has_promised = false;
  };

  enum class change_kind : std::uint8_t { none, removing, counting, adding };

  [[nodiscard]] bool is_needed(replica_id replica, position at) const;
  [[nodiscard]] bool has_confirmed(replica_id replica, position at) const;
  void start_change(monotonic_time now);
  [[nodiscard]] membership changed_value() const;

  replica_id self_;
  membership value_;
  phase phase_ = phase::collecting;
  position sent_;
  std::deque<entry> window_;
  std::map<replica_id, member_view> views_;
  std::map<std::uint64_t, monotonic_time> beacons_;
  std::uint64_t beacon_ = 0;
  change_kind change_ = change_kind::none;
  replica_id changed_{};
  /// The last delta before those that count a learner.
  position counted_after_;
  std::optional<monotonic_time> asked_;
};

} // namespace codeq::replication
