# SPDX-License-Identifier: Apache-2.0
@0xd4c1798e20b65fa3;

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("codeq::schema");

# Values about the replicas of shards, a part of `record.capnp`, which has the catalogue and the
# rules.

struct ReplicaRecord {
  # The store's replica of a shard. Overwritten, and synced in both durability modes. A store that
  # is alone has none.
  id @0 :UInt64;
  # Random number, new with the data: an emptied disk has another replica.
  promisedEpoch @1 :UInt32;
  # Deltas of earlier epochs are refused.
  isIncomplete @2 :Bool;
  # The data are a part of a copy, and have to be copied again.
  isDoubtful @3 :Bool;
  # The end of the data may have been lost with the power, although it was confirmed.
}

struct ReplicaPositionRecord {
  # The last delta that a replica has. Overwritten in the same batch as each delta.
  epoch @0 :UInt32;
  number @1 :UInt64;
}

struct EpochStartRecord {
  # Where an epoch began in a replica's history, in that delta's batch. The latest ones are kept.
  number @0 :UInt64;
}

struct BootRecord {
  # The boot under which the store was open last. Overwritten at start and orderly end, and synced.
  bootId @0 :Text;
  # The kernel's id of the boot; empty: unknown.
  isClosed @1 :Bool;
  # The store was closed in order, so that all of it is on the disk.
  isSynced @2 :Bool;
  # Writes were confirmed only when they were on the disk.
}

struct DeltaRecord {
  # The writes of one turn of one shard, as replicas send them to each other and keep them in files
  # that may be lost. Not a value of the store.
  shard @0 :UInt16;
  epoch @1 :UInt32;
  # Place of the delta in the history of the shard: the epoch whose primary made it,
  number @2 :UInt64;
  # and its number, which is greater by one than that of the delta before.
  previousEpoch @3 :UInt32;
  # Epoch of the delta before.
  writes @4 :Data;
  # The writes in order, each as kind:u8 key:u16 value:u32, the little-endian sizes, and then key
  # and value. 1: put, 2: remove, 3: single_remove. Empty: the start of an epoch.
  checksum @5 :UInt32;
  # CRC-32C of the fields before, as little-endian numbers of their width, and of `writes`.
  isSynced @6 :Bool;
  # Every replica syncs its log before it confirms the delta.
  horizon @7 :Data;
  # The horizon of the delta's snapshot, packed as in `horizon_codec.hpp`; empty: it carries none.
  horizonChecksum @8 :UInt32;
  # CRC-32C of `horizon` that continues `checksum`; 0 without one.
}
