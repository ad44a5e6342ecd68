// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/time.hpp"

#include "coordinator/replica/replica_host.hpp"
#include "replication/membership.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <span>

namespace codeq::coordinator {

/// Tells the spool of a shard from where on it has to keep deltas: those after the state that a
/// replica was sent as a copy, until the replica has them or is silent. Used by its replica.
class spool_keeper {
public:
  /// @pre `host` outlives the keeper
  explicit spool_keeper(replica_host& host) : host_(host) {}

  /// The replica was sent the state at `after` as a copy.
  void keep(replication::replica_id to, replication::position after, monotonic_time now);

  /// The replica is read what follows `after` from the spool.
  void advance(replication::replica_id to, replication::position after);

  /// These replicas need nothing of the spool any more.
  void release(std::span<const replication::replica_id> replicas);

  /// A message of the replica came.
  void note_heard(replication::replica_id from, monotonic_time now);

  void drop_silent(monotonic_time now);

  void clear();

private:
  struct tail {
    replication::position after;
    monotonic_time heard{};
  };

  /// Tells the spool, if there is news.
  void tell();

  replica_host& host_;
  std::map<replication::replica_id, tail> tails_;
  std::optional<std::uint64_t> told_;
};

} // namespace codeq::coordinator
