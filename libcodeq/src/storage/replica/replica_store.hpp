// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"
#include "codeq/result.hpp"

#include "replication/epoch_index.hpp"
#include "storage/records/replica_codec.hpp"
#include "storage/task_store.hpp"

#include <optional>
#include <string>
#include <string_view>

/// The replicas of a store: what each keeps beside the data of its shard.
namespace codeq::storage {

/// A replica as it is on disk.
struct stored_replica {
  replica_record record;
  replication::epoch_index log;
};

/// True when the store is of a coordinator of a cluster. Errors: of the store.
[[nodiscard]] result<bool> has_replicas(const task_store& store);

/// Reads the store's replica of a shard; empty when it has none. Errors: `io_error`, `corruption`.
[[nodiscard]] result<std::optional<stored_replica>>
read_replica(const task_store& store, shard_id shard);

/// Reads the history of the store's replica of a shard. Errors: as `read_replica`.
[[nodiscard]] result<replication::epoch_index> read_history(store_view& view, shard_id shard);

/// Makes the store's data of a shard its first replica, whose history begins with them at this
/// epoch. Synced. Errors: of the store.
[[nodiscard]] result<stored_replica> found_replica(
  task_store& store,
  shard_id shard,
  replication::replica_id id,
  replication::epoch_number epoch);

/// Makes a replica without data, which has to be copied; removes what the store has of the shard.
/// Synced. Errors: of the store.
[[nodiscard]] result<stored_replica>
create_replica(task_store& store, shard_id shard, replication::replica_id id);

/// Adds the replica's record, which has to be synced.
void put_replica(shard_id shard, const replica_record& record, write_set& writes);

/// Adds the position of the next delta of the history to its writes, and to the history.
void put_position(
  shard_id shard,
  replication::position next,
  replication::epoch_index& log,
  write_set& writes);

/// Removes a history. @pre the replica is incomplete, synced with or before this write
void remove_history(shard_id shard, const replication::epoch_index& log, write_set& writes);

/// Adds the history of a copy whose data are written.
void put_history(shard_id shard, const replication::epoch_index& log, write_set& writes);

/// Notes under which boot of the machine the store is open, before it serves; synced. When the
/// store was open under another boot, was not closed in order, and confirmed writes before they
/// were on the disk, all its replicas become doubtful, and true is returned: the end of what was
/// confirmed may be missing. Errors: of the store, `corruption`.
[[nodiscard]] result<bool>
begin_boot(task_store& store, std::string_view boot_id, durability mode);

/// Notes that the store is closed in order. @pre nothing is written after that
[[nodiscard]] result<void> end_boot(task_store& store);

/// The kernel's id of the current boot; empty when it cannot be read.
[[nodiscard]] std::string kernel_boot_id();

} // namespace codeq::storage
