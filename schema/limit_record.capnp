# SPDX-License-Identifier: Apache-2.0
@0xb3a1f06d2c84e759;

using Cxx = import "/capnp/c++.capnp";
using Task = import "task.capnp";
$Cxx.namespace("codeq::schema");

# Values about limits of tasks, a part of `record.capnp`, which has the catalogue and the rules.

struct LimitRecord {
  # A limit of a tenant; both names are in the key. Overwritten by each change of its definition,
  # removed with it. Every shard has it.
  atMs @0 :Int64;
  rule @1 :Task.LimitRule;
}

struct LimitKeyRecord {
  # The starts of a limit key that are not paid for, and until when it is closed; tenant, limit and
  # key are in the record's key. Written in the same batch as the starts; removed when neither
  # matters any more. The record without names is about all keys, see `usedUpAtMs`.
  atMs @0 :Int64;
  # Shard time.
  paidAtNs @1 :Int64;
  # Time in nanoseconds at which the starts so far are paid for.
  closedUntilMs @2 :Int64;
  usedUpAtMs @3 :Int64;
  # At this time the burst of each key counted as used up, since a power cut may have forgotten
  # starts.
}

struct PermitRecord {
  # A permit that another shard has of limit keys of this one; that shard and the permit's number
  # are in the key. Written when it is booked and synced before the shard is told; removed when it
  # ends. The record of number 0 is about the shard, overwritten in the batch of each change.
  atMs @0 :Int64;
  # Shard time.
  tenant @1 :Text;
  uses @2 :List(Task.TaskLimit);
  # A slot of a queue with `max_leased` has one use: of limit "(slot)", with the queue's name as its
  # key.
  priority @3 :UInt8;
  session @4 :UInt32;
  # This and `heard`: the last message of the shard that was heard, in the record of number 0.
  heard @5 :UInt64;
  booked @6 :UInt64;
  # The number of live tasks that the shard may have of a queue with `maxDepth`. Such a record has
  # one use: of limit "(depth)", with the queue's name as its key. The number in the record's key is
  # `NeighbourMessage.DepthLevel.life`. Overwritten with each change.
  granted @7 :UInt64;
  # With `booked`: the sum of what the shard was given.
}
