// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/tuning.hpp"

#include <compare>
#include <cstdint>
#include <vector>

namespace codeq::replication {

/// Random, minted when the data of a replica is created: an emptied disk is another replica.
enum class replica_id : std::uint64_t {};

/// Counts the changes of the primary of one shard; a counter of our own inside the shard's value.
using epoch_number = std::uint32_t;

/// Place of a delta in the history of its shard. Later epochs are larger.
struct position {
  epoch_number epoch = 0;
  std::uint64_t number = 0;

  auto operator<=>(const position&) const = default;
};

/// Whether the shard's value was set by the rules alone.
enum class shard_condition : std::uint8_t {
  normal,
  /// All members had lost power, and the one with the largest position was made primary.
  loss_accepted,
};

/// The shard's value in etcd. It changes only by compare-and-set of all its bytes, and carries its
/// version, so that equal bytes are the same state.
struct membership {
  std::uint64_t version = 0;
  epoch_number epoch = 0;
  replica_id primary{};
  /// Sorted; contains the primary. Each of them holds every acknowledged delta.
  std::vector<replica_id> in_sync;
  /// Sorted; all replicas of the shard.
  std::vector<replica_id> replicas;
  /// New writes are refused while fewer replicas are in sync.
  std::uint32_t min_in_sync = 1;
  shard_condition condition = shard_condition::normal;

  bool operator==(const membership&) const = default;
};

[[nodiscard]] bool contains(const std::vector<replica_id>& set, replica_id replica);

/// The next value after an election. @pre `winner` is in `reachable`, which is a part of the set,
/// and `epoch` is larger than the value's.
[[nodiscard]] membership elect(
  const membership& old,
  replica_id winner,
  std::vector<replica_id> reachable,
  epoch_number epoch);

/// How far the epoch rises when an operator sets it: beyond all that any replica can have promised.
inline constexpr epoch_number forced_epochs = 65'536;

/// The largest epoch that may rise by `forced_epochs`: a token has no bits for an epoch beyond
/// `tuning::epoch_max`, and one is left for the next election.
inline constexpr auto forceable_epoch_max =
  static_cast<epoch_number>(tuning::epoch_max - 1 - forced_epochs);

/// The next value with a replica as the only member, although others may hold acknowledged deltas
/// that it has not got: an operator has accepted the loss. @pre it is a replica, and neither epoch
/// is beyond `forceable_epoch_max`
[[nodiscard]] membership
force_primary(const membership& old, replica_id replica, epoch_number promised);

/// The next value without a member. @pre it is in sync and not the primary
[[nodiscard]] membership remove_member(const membership& old, replica_id member);

/// The next value with a learner as a member. @pre it is a replica that is not in sync
[[nodiscard]] membership add_member(const membership& old, replica_id learner);

} // namespace codeq::replication
