# SPDX-License-Identifier: Apache-2.0
@0xe8d7c6b5a4930217;

using Cxx = import "/capnp/c++.capnp";
using Common = import "common.capnp";
using Task = import "task.capnp";
$Cxx.namespace("codeq::schema");

# Values stored on disk, one struct per kind of key (`storage/keys/keyspace.hpp`). Fields are only
# appended, never renumbered; a field that is no longer used is renamed `obsolete...`. The procedure
# for a change is in `libcodeq/src/storage/README.md`.

struct Record {
  # The catalogue: every kind of value. Only the tests use the union itself: they walk it for
  # golden bytes.
  union {
    store @0 :StoreRecord;
    shard @1 :ShardRecord;
    segment @2 :SegmentRecord;
    grant @3 :GrantRecord;
    outcome @4 :OutcomeRecord;
    block @5 :BlockRecord;
    fate @6 :FateRecord;
    change @7 :ChangeRecord;
    queue @8 :QueueRecord;
    key @9 :KeyRecord;
    followUp @10 :FollowUpRecord;
    dead @11 :DeadRecord;
    producer @12 :ProducerRecord;
    history @13 :HistoryRecord;
    checkpoint @14 :CheckpointRecord;
    totals @15 :TotalsRecord;
  }
}

struct StoreRecord {
  # One per store; overwritten at each start, synced before the store serves.
  formatVersion @0 :UInt32;
  storeId @1 :UInt64;
  # Random, from the creation.
  shardCount @2 :UInt16;
  epoch @3 :UInt32;
  # Raised at each start; the high bits of every token, sequence and position.
}

struct ShardRecord {
  # The snapshot of a shard: what is not in the records of its segments, as of `position`.
  position @0 :UInt64;
  atMs @1 :Int64;
  # Shard time.
  queues @2 :List(QueueTotals);
  # Of all queues, in stores of format 1. Since then each queue has a `TotalsRecord`, and this is
  # empty.

  struct QueueTotals {
    # As in `TotalsRecord`.
    queue @0 :Common.QueueAddress;
    completed @1 :UInt64;
    dead @2 :UInt64;
    cancelled @3 :UInt64;
    lost @4 :UInt64;
    purgedBelow @5 :UInt64;
  }

  nextSequence @3 :UInt64;
  # Blocks know all segments below it; recovery reads the records of those from it on.
  forgotten @4 :List(ForgottenSessions);

  struct ForgottenSessions {
    # Of a tenant that had too many producer sessions: unknown ones created until then are refused.
    tenant @0 :Text;
    createdUntilMs @1 :Int64;
  }
}

struct TotalsRecord {
  # How tasks of a queue ended since the store was created; the queue is in the key. Overwritten by
  # each snapshot in which it changed, or the queue is new.
  completed @0 :UInt64;
  dead @1 :UInt64;
  cancelled @2 :UInt64;
  lost @3 :UInt64;
  # Leases that ran out.
  purgedBelow @4 :UInt64;
  # All tasks of the queue with a smaller sequence were purged, whatever their fates say.
}

struct ProducerRecord {
  # A producer's session at a shard. Overwritten by each snapshot in which it changed, removed
  # when it has been idle for too long.
  answeredBelow @0 :UInt64;
  lastUsedMs @1 :Int64;
  # Shard time.
  answers @2 :List(Answer);
  tenant @3 :Text;
  # Of the first task that it enqueued.

  struct Answer {
    number @0 :UInt64;
    tasks @1 :List(Common.SeqRun);
    kinds @2 :Data;
    # What became of each task, a byte each (`enqueue_kind`); empty when all were created.
  }
}

struct SegmentRecord {
  # The tasks that one turn enqueued into one lane, all with the same settings. Written once,
  # removed when no task of it is live or dead.
  position @0 :UInt64;
  atMs @1 :Int64;
  # When they were enqueued, shard time.
  queue @2 :Common.QueueAddress;
  priority @3 :UInt8;
  settings @4 :Task.TaskSettings;
  # A lease of 0 is the queue's, as it is at the grant.
  notBeforeMs @5 :Int64;
  # The producer's deferral of all its tasks, shard time; 0 is none.
  requests @6 :List(RequestMark);
  # The enqueue requests that it answers.
  tasks @7 :Common.Packed;
  # A `TaskBody` each, as they came.
  allowPromotion @8 :Bool;
  # Whether the deferral may be brought forward.
  group @9 :Data;
  # Empty is none.
  key @10 :Data;
  # The producer's own name for the one task; empty is none.

  struct RequestMark {
    # Tasks offset .. offset + count - 1 of this segment belong to that request.
    producer @0 :Common.ProducerId;
    number @1 :UInt64;
    answeredBelow @2 :UInt64;
    offset @3 :UInt32;
    count @4 :UInt32;
  }
}

struct GrantRecord {
  # One claim batch: these tasks were leased, attempt + 1 each, with ascending tokens.
  position @0 :UInt64;
  atMs @1 :Int64;
  worker @2 :Common.WorkerIdentity;
  leaseMs @3 :UInt64;
  # The effective lease.
  firstToken @4 :UInt64;
  runs @5 :List(Common.SeqRun);
}

enum LeaseEndKind @0xc0ffee1234567891 {
  # Stored on disk, never renumber.
  completed @0;
  failed @1;
  failedPermanently @2;
  nacked @3;
  abandoned @4;
  expired @5;
  revoked @6;
  cancelled @7;
  timedOut @8;
  # Beyond the run timeout or the progress timeout.
  forced @9;
  # By an operator, without the token. Also of a task that was not leased; the token is then that of
  # its latest lease, or 0.
}

struct OutcomeRecord {
  # Ends of leases, in the order decided. Results and errors are read from here.
  position @0 :UInt64;
  atMs @1 :Int64;
  ends @2 :List(LeaseEnd);
  texts @3 :Common.Packed;
  # The result or error text of each.
  retentionMs @4 :UInt64;
  # Of all its tasks: how long after `atMs` the record is kept; 0 is for ever.

  struct LeaseEnd {
    seq @0 :UInt64;
    token @1 :UInt64;
    kind @2 :LeaseEndKind;
    charged @3 :Bool;
    state @4 :Task.TaskState;
    # The task's state from here on: scheduled, ready or terminal.
    dueMs @5 :Int64;
    # With `scheduled`: when it is eligible again.
  }
}

enum ChangeKind @0xd1e2f3a4b5c60719 {
  # Stored on disk, never renumber.
  cancelled @0;
  # A task that was not leased ended.
  cancelRequested @1;
  # A leased task is to end with its lease, unless it completes.
  rescheduled @2;
  # A task that is not leased waits for other times, or for none.
  redriven @3;
  # A dead task lives again, with all its attempts.
  purged @4;
  # Nobody knows a task that is not leased any more.
  bodyReplaced @5;
  # A task that is not leased has another body, in a record of its own.
}

struct ChangeRecord {
  # What was decided about tasks outside of their leases, in the order decided. Removed by the next
  # snapshot, which holds what the changes came to.
  position @0 :UInt64;
  atMs @1 :Int64;
  changes @2 :List(Change);
  purges @3 :List(QueuePurge);
  answers @4 :List(Answer);
  # Of requests some of whose tasks have keys; those of others are in the segments.

  struct QueuePurge {
    # Nobody knows the queue's tasks below a sequence any more.
    queue @0 :Common.QueueAddress;
    below @1 :UInt64;
  }

  struct Change {
    seq @0 :UInt64;
    kind @1 :ChangeKind;
    notBeforeMs @2 :Int64;
    # With `rescheduled`: the user's deferral and the shard's own from then on; 0 is none.
    retryAtMs @3 :Int64;
    bodyBytes @4 :UInt64;
    # With `bodyReplaced`: the size of the new body.
  }

  struct Answer {
    producer @0 :Common.ProducerId;
    number @1 :UInt64;
    answeredBelow @2 :UInt64;
    tasks @3 :List(Common.SeqRun);
    kinds @4 :Data;
    # As in `ProducerRecord.Answer`.
    tenant @5 :Text;
    # Of the first task.
  }
}

struct QueueRecord {
  # The settings of a queue; the queue is in the key. Overwritten by each change of them.
  position @0 :UInt64;
  atMs @1 :Int64;
  defaults @2 :Task.TaskSettings;
  # For the fields that producers leave to the queue.
  maxDepth @3 :UInt64;
  # Live tasks of the shard at most; 0 is no limit.
  maxLeased @4 :UInt64;
  # Leases of the shard at most; 0 is no limit.
  keepPayload @5 :Bool;
  # Of a completed task, as long as its record.
  paused @6 :Bool;
  # Nothing is handed out.
}

struct FollowUpRecord {
  # Tasks that completions of one turn add to other shards, in the same write as the completions.
  # Removed by a snapshot when all those shards have theirs; until then handed to them again by
  # each start.
  position @0 :UInt64;
  # Also the number under which the other shards know them.
  atMs @1 :Int64;
  runs @2 :List(Run);
  tasks @3 :Common.Packed;
  # A `TaskBody` each, in the order of the runs.

  struct Run {
    # The next `count` tasks share what stands here; the fields mean what they mean in an enqueue.
    shard @0 :UInt16;
    # Who must own them.
    count @1 :UInt32;
    queue @2 :Common.QueueAddress;
    priority @3 :UInt8;
    settings @4 :Task.TaskSettings;
    leftToQueue @5 :UInt16;
    notBeforeMs @6 :Int64;
    # Shard time; 0 is now.
    allowPromotion @7 :Bool;
    group @8 :Data;
    key @9 :Data;
    onDuplicate @10 :UInt8;
    # `codeq::on_duplicate`.
    replacePayload @11 :Bool;
  }
}

struct BlockRecord {
  # Segments that are neighbours with the state of all their tasks, as of a snapshot; their bodies
  # are in their own records. Overwritten by each snapshot in which one of them changed, removed
  # with the last of them.
  position @0 :UInt64;
  # Of that snapshot.
  segments @1 :Data;
  # Packed as `core/blocks/segment_block.hpp` says; begins with the version of that form.
}

struct FateRecord {
  # What became of the tasks of a segment that is closed. Reports that come again and results are
  # answered from it.
  position @0 :UInt64;
  closedAtMs @1 :Int64;
  enqueuedAtMs @2 :Int64;
  queue @3 :Common.QueueAddress;
  priority @4 :UInt8;
  maxAttempts @5 :UInt16;
  states @6 :Data;
  attempts @7 :List(UInt16);
  tokens @8 :List(UInt64);
  outcomePositions @9 :List(UInt64);
  outcomeIndexes @10 :List(UInt32);
  lastEnds @11 :Data;
  gone @12 :Data;
  # 1 for a task that was purged or copied into a record of its own, a byte each; empty when there
  # is none.
  retentionMs @13 :UInt64;
  # How long after `closedAtMs` the record is kept; 0 is for ever.
}

struct KeyRecord {
  # Which task had a key last, when its segment is closed. Overwritten when a later task of the key
  # closes, removed when its time is over.
  seq @0 :UInt64;
  since @1 :UInt64;
  # The position at which the task became live; the key belongs to the one with the latest.
  expiresAtMs @2 :Int64;
  # Shard time from which on the key is free.
}

struct DeadRecord {
  # Why a task is dead. Removed when it is redriven or purged.
  atMs @0 :Int64;
  # When it died, shard time.
  attempt @1 :UInt16;
  # The charged attempts that it had.
  token @2 :UInt64;
  # Of its last lease.
  text @3 :Data;
  # The error of the last attempt.
}

struct HistoryRecord {
  # One of the latest events of a task's life, of those that are out of the ordinary: other ends of
  # leases than plain completions, changes, and all that follows one. Written with the record of
  # what it tells of; goes with the task.
  number @0 :UInt32;
  # Of all such events of the task, from 0. The key has it modulo 32.
  atMs @1 :Int64;
  # Shard time.
  kind @2 :UInt8;
  # `codeq::task_event::kind`.
  by @3 :UInt8;
  # `codeq::task_event::author`.
  state @4 :Task.TaskState;
  # The task's state from here on.
  untilMs @5 :Int64;
  # With `scheduled`: when it is eligible.
  attempt @6 :UInt16;
  # This and the next three with an event of a leased task.
  token @7 :UInt64;
  grantedAtMs @8 :Int64;
  worker @9 :Text;
  text @10 :Data;
  # The result or the error text, cut to 1 KiB with a mark.
  segment @11 :UInt64;
  # The first sequence of the task's segment. When neither that nor its fate is there, nothing of
  # the task is left, and this is not needed either.
  aside @12 :Bool;
  # The segment has an aside's key.
}

struct CheckpointRecord {
  # What an attempt of a live task saved for the next one. Overwritten by each that is saved later,
  # removed when the task ends.
  token @0 :UInt64;
  # Of the attempt that saved it.
  number @1 :UInt32;
  # Counts what that attempt saved, from 1.
  data @2 :Data;
  atMs @3 :Int64;
  # When it was saved, shard time.
}
