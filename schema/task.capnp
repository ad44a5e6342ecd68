# SPDX-License-Identifier: Apache-2.0
@0xc4d2e6f8a0b31527;

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("codeq::schema");

# A producer's description of a task. `TaskBody` travels from producer to disk to worker as one
# single-segment message that the coordinator never parses or changes; the fields that the
# coordinator needs for its decisions are in `TaskSettings` and in the messages that carry the body.

struct TaskBody {
  payload @0 :Data;
  # Opaque; at most 1 MiB.
  headers @1 :List(Header);
  # At most 16 KiB in total.

  struct Header {
    name @0 :Text;
    value @1 :Text;
  }
}

enum RetryKind @0xa6c1d2e3f4b50718 {
  # Stored on disk, never renumber.
  fixed @0;
  linear @1;
  exponential @2;
  exponentialJitter @3;
}

enum OnDead @0xb7c8d9eafb0c1d2e {
  # Stored on disk, never renumber.
  skip @0;
  block @1;
}

struct TaskSettings {
  # Settings that all tasks of a segment share. Times are in milliseconds.
  maxAttempts @0 :UInt16 = 5;
  retryKind @1 :RetryKind = exponentialJitter;
  retryBaseMs @2 :UInt64 = 1000;
  retryCapMs @3 :UInt64 = 900000;
  leaseMs @4 :UInt64 = 10000;
  runTimeoutMs @5 :UInt64 = 0;
  # 0: unlimited; so is 0 for progressTimeoutMs.
  progressTimeoutMs @6 :UInt64 = 0;
  retentionMs @7 :UInt64 = 86400000;
  # How long records of completed and cancelled tasks are kept.
  deadRetentionMs @8 :UInt64 = 0;
  # 0: dead tasks are kept until they are purged.
  onDead @9 :OnDead = skip;
}

struct FailureRules {
  # What a queue does about tasks that fail.
  quarantineAfter @0 :UInt16;
  # Number of started attempts lost in a row after which a task is dead; 0: off.
  pausePercent @1 :UInt8;
  # The queue is paused when more than that part of the attempts that ended failed; 0: never.
  pauseWindowMs @2 :UInt64 = 60000;
  # The time in which they ended.
}

struct TaskLimit {
  # A task's use of a limit of its tenant.
  name @0 :Text;
  key @1 :Data;
  # The limit applies to each key by itself; at most 256 bytes.
  cost @2 :UInt32 = 1;
  # Number of starts that it counts as, 1..1000.
}

struct QueueLimit {
  # A limit that a queue gives to those of its tasks that do not name it.
  limit @0 :TaskLimit;
  header @1 :Text;
  # Name of the task's header whose value is the key, in place of that of `limit`; empty: none. At
  # most 256 bytes.
}

struct FairnessWeight {
  # The weight of a fairness key of a queue, in place of that of its tasks.
  key @0 :Data;
  # At most 256 bytes.
  weight @1 :UInt32;
  # 1..1000
}

struct LimitRule {
  # How many tasks may be leased at once, and how fast they may start; for each limit key.
  hasConcurrency @0 :Bool;
  concurrency @1 :UInt32;
  # 0..1,000,000
  rateCount @2 :UInt32;
  # Number of starts in a period, 1..1,000,000; 0: there is no rate.
  ratePeriodMs @3 :UInt64;
  rateBurst @4 :UInt32;
  # Number of starts at once after a pause, 1..1,000,000.
}

enum TaskState @0xe1f2a3b4c5d60718 {
  # Stored on disk, never renumber; mirrors `codeq::task_state`.
  scheduled @0;
  gated @1;
  ready @2;
  leased @3;
  completed @4;
  dead @5;
  cancelled @6;
}
