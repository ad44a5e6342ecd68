// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "replication/membership.hpp"

#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace codeq::replication {

/// One delta of a shard. Without data it is the start of its epoch.
struct entry {
  position at;
  /// The delta that it was made after.
  position previous;
  std::shared_ptr<const std::string> data;
};

/// From a primary: deltas in order, or none. Each one is a beacon.
struct append {
  epoch_number epoch = 0;
  /// Numbers the primary's beacons, for its entitlement.
  std::uint64_t beacon = 0;
  std::vector<entry> entries;
};

/// Answers an append. `written` is what the replica holds as the durability mode wants it.
struct confirm {
  epoch_number epoch = 0;
  std::uint64_t beacon = 0;
  position written;
  bool doubtful = false;
};

/// Answers an append or a request of an epoch older than the one that was promised.
struct reject {
  epoch_number promised = 0;
};

/// From a primary: the replica has to be copied whole, since its tail does not join.
struct rebuild {
  epoch_number epoch = 0;
  std::vector<entry> entries;
};

/// From a primary: a doubtful replica holds all that is committed.
struct trust {
  epoch_number epoch = 0;
  position committed;
};

/// From a winner that collects the promises of its set.
struct collect {
  epoch_number epoch = 0;
  position last;
};

/// Answers `collect`, with what this replica has after the winner's last delta.
struct collected {
  epoch_number epoch = 0;
  position last;
  std::vector<entry> entries;
};

/// Asks a member about an election.
struct question {
  std::uint64_t number = 0;
};

/// Answers a question.
struct answer {
  std::uint64_t number = 0;
  epoch_number promised = 0;
  position last;
  bool doubtful = false;
  /// Whether a beacon of the primary arrived lately.
  bool hears_primary = false;
};

/// Tells replicas of the shard's value, so that they need not wait until they read it.
struct elected {
  membership value;
};

/// From a primary: it answers nothing more in this epoch.
struct release {
  epoch_number epoch = 0;
};

using message = std::variant<
  append,
  confirm,
  reject,
  rebuild,
  trust,
  collect,
  collected,
  question,
  answer,
  elected,
  release>;

/// A message and its sender. `incarnation` counts the starts of the sender's process; what was said
/// by an earlier one is void.
struct envelope {
  replica_id from{};
  std::uint64_t incarnation = 0;
  message content;
};

} // namespace codeq::replication
