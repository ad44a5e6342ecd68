// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/time.hpp"

#include "coordinator/replica/copy_messages.hpp"
#include "coordinator/shard/shard_messages.hpp"
#include "replication/membership.hpp"
#include "replication/messages.hpp"

#include <cstdint>
#include <optional>

namespace codeq::coordinator {

/// The outside of a `replica_driver`. Calls return before they call the driver back.
class replica_host {
public:
  virtual ~replica_host() = default;

  /// To another replica of the shard; a message may be lost with its connection.
  virtual void send(replication::replica_id to, const replication::message& what) = 0;
  virtual void send(replication::replica_id to, const copy_message& what) = 0;

  /// Adds writes to the journal, in order; answered by `committed` with the number of the turn, and
  /// `settle`.
  virtual void gather(turn_commit turn) = 0;

  /// See `replication::replica_port`; answered by `etcd_answered`, or not at all.
  virtual void
  compare_and_set(const replication::membership& old, const replication::membership& next) = 0;

  /// Adds the delta to the spool.
  virtual void spool(const replication::entry& e) = 0;

  /// Reads the spool; answered by `spool_read`.
  virtual void read_spool(replication::replica_id to, replication::position after) = 0;

  /// See `storage::delta_spool::keep_from`.
  virtual void keep_spool(std::optional<std::uint64_t> from) = 0;

  /// Opens a view of the shard's data; answered by `copy_opened`.
  virtual void open_copy(const replication::copy_id& id) = 0;

  /// Reads the next part of an open copy; answered by `part_read`.
  virtual void read_part(const replication::copy_id& id) = 0;
  virtual void close_copy(const replication::copy_id& id) = 0;

  /// Reads the next removals of the shard's own data, which this copy replaces, as they were at the
  /// first call for it; answered by `removals_read`.
  virtual void read_removals(const replication::copy_id& id) = 0;

  /// False while the disk has too little space for new tasks: no copy is taken then, and one that
  /// is under way ends.
  [[nodiscard]] virtual bool takes_copies() const { return true; }

  /// Recovers the shard from the store; answered by `recovered` or `recovery_failed`. Replaces
  /// a recovery before it.
  virtual void recover(replication::epoch_number epoch, timestamp shard_time) = 0;
  virtual void drop_recovery() = 0;

  /// The recovered shard is served from now on, or is dropped with all that it has not committed.
  virtual void serve(replication::epoch_number epoch) = 0;
  virtual void stop_serving() = 0;

  /// All commits of the shard that is served, up to this number, are durable on all members.
  virtual void acknowledged(std::uint64_t number) = 0;

  /// The time of the shard that is served.
  [[nodiscard]] virtual timestamp shard_time() = 0;

  /// See `replication::replica_port`.
  [[nodiscard]] virtual bool reaches_etcd() const = 0;
};

} // namespace codeq::coordinator
