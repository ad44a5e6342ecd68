// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/time.hpp"

#include "replication/epoch_index.hpp"
#include "replication/membership.hpp"

#include <cstddef>
#include <memory>
#include <variant>
#include <vector>

namespace codeq::replication {

/// The content of a delta, which no rule here looks at.
class delta_body {
public:
  virtual ~delta_body() = default;

  /// Size of the delta in a message, in bytes.
  [[nodiscard]] virtual std::size_t byte_size() const = 0;
};

/// One delta of a shard. Without a body it is the start of its epoch.
struct entry {
  position at;
  /// The delta that it was made after.
  position previous;
  std::shared_ptr<const delta_body> body;

  [[nodiscard]] std::size_t byte_size() const { return body ? body->byte_size() : 0; }
};

/// From a primary: deltas in order, or none. Each one is a beacon.
struct append {
  epoch_number epoch = 0;
  /// Numbers the primary's beacons, for its entitlement.
  std::uint64_t beacon = 0;
  std::vector<entry> entries;
  /// The primary's shard time, from which a later primary goes on.
  timestamp shard_time{};
};

/// Answers an append; and, with beacon 0, says that further writes are through. `written` is what
/// the replica holds as the durability mode wants it.
struct confirm {
  epoch_number epoch = 0;
  std::uint64_t beacon = 0;
  position written;
  bool doubtful = false;
  /// The replica has no data that could be completed: it needs a copy.
  bool incomplete = false;
};

/// Answers an append or a request of an epoch older than the one that was promised.
struct reject {
  epoch_number promised = 0;
};

/// Identifies a copy: who sends it, in which of its lives, and a number.
struct copy_id {
  replica_id from{};
  std::uint64_t incarnation = 0;
  std::uint64_t number = 0;

  auto operator<=>(const copy_id&) const = default;
};

/// From a primary: the replica has to replace its data by a copy, since its tail does not join, or
/// since nobody has the deltas any more that it lacks. The data follow by other means.
struct copy_offer {
  epoch_number epoch = 0;
  copy_id id;
  /// The history of the copy.
  epoch_index log;
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
  /// The deltas after the winner's last one cannot be read any more, so they are lost. None of them
  /// was acknowledged, since the winner has not got them.
  bool gone = false;
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
  copy_offer,
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
  replica_id sender{};
  std::uint64_t incarnation = 0;
  message content;
};

} // namespace codeq::replication
