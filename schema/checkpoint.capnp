# SPDX-License-Identifier: Apache-2.0
@0xb6a1f0c3d29e4857;

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("codeq::schema");

# Checkpoints, which an attempt saves for the next attempt at its task, in messages between nodes
# (`protocol.capnp`).

struct LeaseCheckpoint {
  # A checkpoint that the handler of the lease saved.
  seq @0 :UInt64;
  token @1 :UInt64;
  number @2 :UInt32;
  # Number of the checkpoint within the attempt, from 1. The greatest number counts, in whatever
  # order checkpoints arrive. 0: the number after the greatest one so far.
  data @3 :Data;
  # At most 64 KiB.
}

struct TaskCheckpoint {
  # The latest checkpoint of the task's earlier attempts.
  seq @0 :UInt64;
  data @1 :Data;
}

struct CheckpointsSaved {
  # These checkpoints and all earlier ones of their attempts are durable.
  shard @0 :UInt16;
  checkpoints @1 :List(Saved);
  postponed @2 :List(Saved);
  # I have no room for these at present and keep nothing of them. Send the latest checkpoint of the
  # attempt again after a pause. Older nodes ignore this; they send it with the report, if not
  # before.

  struct Saved {
    seq @0 :UInt64;
    token @1 :UInt64;
    number @2 :UInt32;
  }
}
