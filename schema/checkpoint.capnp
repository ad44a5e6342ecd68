# SPDX-License-Identifier: Apache-2.0
@0xb6a1f0c3d29e4857;

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("codeq::schema");

# What attempts of tasks hand on to the next ones, in messages between nodes (`protocol.capnp`).

struct LeaseCheckpoint {
  # The handler of the lease has saved this.
  seq @0 :UInt64;
  token @1 :UInt64;
  number @2 :UInt32;
  # Counts what this attempt saved, from 1; of two the later one counts, however they come.
  data @3 :Data;
  # At most 64 KiB.
}

struct TaskCheckpoint {
  # What an earlier attempt of the task saved last.
  seq @0 :UInt64;
  data @1 :Data;
}

struct CheckpointsSaved {
  # These, and all that their attempts saved before, are durable.
  shard @0 :UInt16;
  checkpoints @1 :List(Saved);

  struct Saved {
    seq @0 :UInt64;
    token @1 :UInt64;
    number @2 :UInt32;
  }
}
