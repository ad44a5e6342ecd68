# SPDX-License-Identifier: Apache-2.0
@0x8c71d2f0a4b6e935;

using Cxx = import "/capnp/c++.capnp";
using Task = import "task.capnp";
$Cxx.namespace("codeq::schema");

# Messages between a worker and the child process that runs the handler of an isolated queue, over
# the child's standard input and output. Both run the same program, and nothing is stored, so the
# format may change freely. A message is its length (UInt32, little-endian) and a body as in frames
# between nodes.

struct ToChild {
  union {
    attempt @0 :Attempt;
    # Run your handler. Reply: `outcome`. Sent only after the previous attempt was answered.
    cancel @1 :Void;
    # The running attempt is cancelled.
    leaseMs @2 :UInt64;
    # Remaining time of the running attempt's lease, from now.
    saved @4 :Saved;
    # Answer to a checkpoint that the handler saved.
  }
  number @3 :UInt64;
  # Number of the attempt, counted by the worker. The child ignores a message for an attempt that is
  # not running.

  struct Attempt {
    shard @0 :UInt16;
    seq @1 :UInt64;
    tenant @2 :Text;
    queue @3 :Text;
    key @4 :Data;
    group @5 :Data;
    priority @6 :UInt8;
    attempt @7 :UInt32;
    maxAttempts @8 :UInt32;
    token @9 :UInt64;
    leaseMs @10 :UInt64;
    enqueuedAtMs @11 :Int64;
    payload @12 :Data;
    headers @13 :List(Task.TaskBody.Header);
    remainingMs @14 :UInt64;
    # Remaining time of the lease.
    checkpoint @15 :Data;
    # Checkpoint of an earlier attempt.
  }
}

struct Saved {
  checkpoint @0 :UInt64;
  # Number of the checkpoint within the child process.
  isDurable @1 :Bool;
}

struct FromChild {
  union {
    outcome @0 :Outcome;
    progress @1 :Progress;
    extendMs @2 :UInt64;
    log @3 :Data;
    checkpoint @5 :Checkpoint;
  }
  number @4 :UInt64;
  # Number of the attempt that the message belongs to.

  struct Outcome {
    kind @0 :UInt8;
    # As `codeq::disposition`.
    text @1 :Data;
    delayMs @2 :Int64 = -1;
    # A nack's own delay; negative: none. With limited: how long the limit key is closed.
    followUps @3 :List(FollowUp);
    limitName @4 :Text;
    costs @5 :List(Limit);
    # As in `ResultRequest.Report`.
  }

  struct Limit {
    # As `codeq::task_limit`.
    name @0 :Text;
    key @1 :Data;
    cost @2 :UInt32 = 1;
  }

  struct FollowUp {
    # As `codeq::task_spec`; a negative value takes the queue's setting.
    tenant @0 :Text;
    queue @1 :Text;
    payload @2 :Data;
    priority @3 :Int64;
    delayMs @4 :Int64;
    isAbsolute @5 :Bool;
    # True when `notBeforeMs` is set.
    notBeforeMs @6 :Int64;
    allowPromotion @7 :Bool;
    maxAttempts @8 :Int64 = -1;
    retryKind @9 :Int16 = -1;
    retryBaseMs @10 :Int64;
    retryCapMs @11 :Int64;
    leaseMs @12 :Int64 = -1;
    runTimeoutMs @13 :Int64 = -1;
    progressTimeoutMs @14 :Int64 = -1;
    retentionMs @15 :Int64 = -1;
    deadRetentionMs @16 :Int64 = -1;
    headers @17 :List(Header);
    group @18 :Data;
    whenDead @19 :Int16 = -1;
    key @20 :Data;
    onDuplicate @21 :UInt8;
    replacePayload @22 :Bool;
    fairnessKey @23 :Data;
    fairnessWeight @24 :UInt32 = 1;
    limits @25 :List(Limit);
  }

  struct Header {
    name @0 :Data;
    value @1 :Data;
  }

  struct Progress {
    percent @0 :UInt8;
    note @1 :Data;
  }

  struct Checkpoint {
    data @0 :Data;
    number @1 :UInt64;
    # As in `Saved`; 0 when no answer is needed.
  }
}
