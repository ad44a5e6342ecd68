# SPDX-License-Identifier: Apache-2.0
@0xe8d7c6b5a4930217;

using Cxx = import "/capnp/c++.capnp";
using Common = import "common.capnp";
using Limits = import "limit_record.capnp";
using Replica = import "replica_record.capnp";
using Task = import "task.capnp";
$Cxx.namespace("codeq::schema");

# Values stored on disk, one struct per kind of key (`storage/keys/keyspace.hpp`). Fields are only
# appended, never renumbered; a field that is no longer used is renamed `obsolete...`. The procedure
# for changing the format is in `libcodeq/src/storage/README.md`.

struct Record {
  # The catalogue, for tests only: every kind of value has golden bytes.
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
    audit @16 :AuditRecord;
    headers @17 :HeadersRecord;
    schedule @18 :ScheduleRecord;
    scheduleProgress @19 :ScheduleProgressRecord;
    occurrence @20 :OccurrenceRecord;
    replica @21 :Replica.ReplicaRecord;
    replicaPosition @22 :Replica.ReplicaPositionRecord;
    epochStart @23 :Replica.EpochStartRecord;
    boot @24 :Replica.BootRecord;
    delta @25 :Replica.DeltaRecord;
    limit @26 :Limits.LimitRecord;
    limitKey @27 :Limits.LimitKeyRecord;
    permit @28 :Limits.PermitRecord;
  }
}

struct StoreRecord {
  # One per store. Overwritten at each start; synced before the store serves.
  formatVersion @0 :UInt32;
  storeId @1 :UInt64;
  # Random number, fixed when the store was created.
  shardCount @2 :UInt16;
  epoch @3 :UInt32;
  # Raised at each start; the high bits of every token, sequence and position.
}

struct ShardRecord {
  # The snapshot of a shard: the state as of `position` that the records of its segments do not
  # hold.
  position @0 :UInt64;
  atMs @1 :Int64;
  # Shard time.
  queues @2 :List(QueueTotals);
  # Totals of all queues, in stores of format 1. In later formats each queue has a `TotalsRecord`,
  # and this list is empty.

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
  # Blocks contain all segments below this sequence; recovery reads the records of the later ones.
  forgotten @4 :List(ForgottenSessions);

  struct ForgottenSessions {
    # A tenant that had too many producer sessions: unknown sessions created until then are refused.
    tenant @0 :Text;
    createdUntilMs @1 :Int64;
  }
}

struct TotalsRecord {
  # Counts of a queue's tasks by how they ended, since the store was created; the queue is in the
  # key. Overwritten by each snapshot in which the counts changed or the queue is new; removed with
  # the queue, or when the records that it hides have expired.
  completed @0 :UInt64;
  dead @1 :UInt64;
  cancelled @2 :UInt64;
  lost @3 :UInt64;
  # Number of leases that expired.
  purgedBelow @4 :UInt64;
  # All tasks of the queue with a smaller sequence were purged, even where their fate records say
  # otherwise.
  hasRecordTimes @5 :Bool;
  # The next three fields are set. Older versions did not write them.
  recordsUntilMs @6 :Int64;
  # Shard time at which the last record of an ended task that was not purged expires; 0: there is
  # none.
  recordsBelow @7 :UInt64;
  # The tasks with those records are below this sequence.
  purgedUntilMs @8 :Int64;
  # Shard time at which the last record of a purged task expires: `purgedBelow` hides it until then.
  isRemoved @9 :Bool;
  # The queue was removed. `purgedBelow` still hides the records of its purged tasks.
}

struct ProducerRecord {
  # A producer session at a shard. Overwritten by each snapshot in which it changed; removed when it
  # has been idle for too long.
  answeredBelow @0 :UInt64;
  lastUsedMs @1 :Int64;
  # Shard time.
  answers @2 :List(Answer);
  tenant @3 :Text;
  # Tenant of all tasks that the session enqueued; empty when there were several.

  struct Answer {
    number @0 :UInt64;
    tasks @1 :List(Common.SeqRun);
    kinds @2 :Data;
    # Outcome of each task, one byte each (`enqueue_kind`); empty when all were created.
  }
}

struct SegmentRecord {
  # The tasks that one turn enqueued into one lane, all with the same settings. Written once;
  # removed when none of its tasks is live or dead.
  position @0 :UInt64;
  atMs @1 :Int64;
  # When the tasks were enqueued, in shard time.
  queue @2 :Common.QueueAddress;
  priority @3 :UInt8;
  settings @4 :Task.TaskSettings;
  # A lease of 0 takes the queue's lease at the time of the grant.
  notBeforeMs @5 :Int64;
  # The producer's deferral of all these tasks, in shard time; 0: none.
  requests @6 :List(RequestMark);
  # The enqueue requests that added these tasks.
  tasks @7 :Common.Packed;
  # One `TaskBody` per task, unchanged as received.
  allowPromotion @8 :Bool;
  # Allows a promotion to lift the deferral.
  group @9 :Data;
  # Empty: none.
  key @10 :Data;
  # Producer's key of the segment's single task; empty: none.
  fairnessKey @11 :Data;
  # Fairness key of all these tasks, and the weight that they give to it. Older versions did not
  # write them.
  fairnessWeight @12 :UInt16 = 1;
  limits @13 :List(Task.TaskLimit);
  # Limits of the segment's single task. Older versions did not write them.

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
  # One claim batch: these tasks were leased with ascending tokens, and the attempt of each was
  # incremented.
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
  # The run timeout or the progress timeout passed.
  forced @9;
  # An operator ended it without the token. Also used for a task that was not leased; the token is
  # then that of its latest lease, or 0.
  limited @10;
  # The handler gave the task back and closed its limit key.
}

struct OutcomeRecord {
  # Ends of leases, in the order decided. Results and error texts are read from this record.
  position @0 :UInt64;
  atMs @1 :Int64;
  ends @2 :List(LeaseEnd);
  texts @3 :Common.Packed;
  # Result or error text of each end.
  retentionMs @4 :UInt64;
  # How long after `atMs` the record is kept, for all its tasks; 0: for ever.
  grants @5 :List(EndedGrant);
  # Older versions did not write this field, but a `HistoryRecord` for each completion of a task
  # that had one already.

  struct EndedGrant {
    # When tasks were leased, in shard time, and the worker's name.
    atMs @0 :Int64;
    worker @1 :Text;
  }

  struct LeaseEnd {
    seq @0 :UInt64;
    token @1 :UInt64;
    kind @2 :LeaseEndKind;
    charged @3 :Bool;
    state @4 :Task.TaskState;
    # State of the task after the end: scheduled, ready or terminal.
    dueMs @5 :Int64;
    # With `scheduled`: when the task becomes eligible.
    grant @6 :UInt16;
    # With `completed`: the lease's grant is `grants[grant - 1]`; 0: not recorded.
  }
}

enum ChangeKind @0xd1e2f3a4b5c60719 {
  # Stored on disk, never renumber.
  cancelled @0;
  # A task that was not leased was cancelled.
  cancelRequested @1;
  # A leased task is to be cancelled when its lease ends, unless it completes.
  rescheduled @2;
  # The times that an unleased task waits for have changed or were removed.
  redriven @3;
  # A dead task is live again, with all its attempts.
  purged @4;
  # An unleased task was removed for good.
  bodyReplaced @5;
  # An unleased task got another body, in a record of its own.
}

struct ChangeRecord {
  # Changes of tasks that were not made by their leases, in the order decided. Removed by the next
  # snapshot, which contains their effects.
  position @0 :UInt64;
  atMs @1 :Int64;
  changes @2 :List(Change);
  purges @3 :List(QueuePurge);
  answers @4 :List(Answer);
  # Answers to requests that contain tasks with keys; answers to other requests are in the segments.

  struct QueuePurge {
    # All tasks of the queue below this sequence were purged.
    queue @0 :Common.QueueAddress;
    below @1 :UInt64;
  }

  struct Change {
    seq @0 :UInt64;
    kind @1 :ChangeKind;
    notBeforeMs @2 :Int64;
    # With `rescheduled`: the new deferral of the user, and the new one of the shard in retryAtMs;
    # 0: none.
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
    # Tenant of the request's first task.
  }
}

struct QueueRecord {
  # The settings of the queue in the key, as in `QueueSettings`, until the queue is removed.
  position @0 :UInt64;
  atMs @1 :Int64;
  defaults @2 :Task.TaskSettings;
  maxDepth @3 :UInt64;
  maxLeased @4 :UInt64;
  # Parts of the maxima of live tasks and of leases, for older versions; see
  # `QueueSettings.maxLeased`.
  keepPayload @5 :Bool;
  paused @6 :Bool;
  failures @7 :Task.FailureRules;
  pauseReason @8 :Text;
  # With `paused`, which ends all grants: why the queue paused itself; empty: an operator did it.
  limits @9 :List(Task.QueueLimit);
  fairnessHeader @10 :Text;
  fairnessWeights @11 :List(Task.FairnessWeight);
  maxLeasedWhole @12 :UInt64;
  maxDepthWhole @13 :UInt64;
}

struct FollowUpRecord {
  # Tasks that completions of one turn add to other shards, written in the same batch as the
  # completions. Removed by a snapshot when all those shards have added their tasks; until then each
  # start sends them again.
  position @0 :UInt64;
  # Also the number by which the other shards recognise a repeat.
  atMs @1 :Int64;
  runs @2 :List(Run);
  tasks @3 :Common.Packed;
  # One `TaskBody` per task, in the order of the runs.

  struct Run {
    # Fields shared by the next `count` tasks; they have the meaning of the same fields in an
    # enqueue.
    shard @0 :UInt16;
    # The shard that the tasks belong to.
    count @1 :UInt32;
    queue @2 :Common.QueueAddress;
    priority @3 :UInt8;
    settings @4 :Task.TaskSettings;
    leftToQueue @5 :UInt16;
    notBeforeMs @6 :Int64;
    # Shard time; 0: now.
    allowPromotion @7 :Bool;
    group @8 :Data;
    key @9 :Data;
    onDuplicate @10 :UInt8;
    # `codeq::on_duplicate`.
    replacePayload @11 :Bool;
    fairnessKey @12 :Data;
    fairnessWeight @13 :UInt16 = 1;
    limits @14 :List(Task.TaskLimit);
  }
}

struct BlockRecord {
  # Adjacent segments with the state of all their tasks, as of a snapshot; the tasks' bodies are in
  # the segments' own records. Overwritten by each snapshot in which one of the segments changed;
  # removed with the last of them.
  position @0 :UInt64;
  # Position of that snapshot.
  segments @1 :Data;
  # Packed as described in `core/blocks/segment_block.hpp`; begins with the version of that format.
}

struct FateRecord {
  # How the tasks of a closed segment ended. Repeated reports and queries for results are answered
  # from it.
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
  # One byte per task, 1 if it was purged or copied into a record of its own; empty when there is no
  # such task.
  retentionMs @13 :UInt64;
  # How long after `closedAtMs` the record is kept; 0: for ever.
  group @14 :Data;
  # Group and producer's key of the segment's single task; empty: none. Older versions did not write
  # them.
  key @15 :Data;
  fairnessKey @16 :Data;
  # As in `SegmentRecord`. Older versions did not write them.
  fairnessWeight @17 :UInt16 = 1;
  limits @18 :List(Task.TaskLimit);
}

struct HeadersRecord {
  # The headers of a segment's tasks, by which lists find tasks whose bodies were removed. Written
  # in the same batch as the segment, or as the copy of a task, if a task has headers; a copy of the
  # segment's first task leaves the segment's record, which has the same key. Removed when no
  # segment, copy or fate has that key. Older versions did not write it.
  atMs @0 :Int64;
  # When the record was written, in shard time.
  tasks @1 :List(TaskHeaders);
  # In ascending order of `index`; tasks without headers are left out.

  struct TaskHeaders {
    index @0 :UInt32;
    # The task's sequence, less the first one of the segment.
    headers @1 :List(Task.TaskBody.Header);
  }
}

struct KeyRecord {
  # The task that had a key last, once its segment is closed. Overwritten when a later task of the
  # key closes; removed when it expires.
  seq @0 :UInt64;
  since @1 :UInt64;
  # Position at which the task became live; of several tasks the one with the greatest position has
  # the key.
  expiresAtMs @2 :Int64;
  # Shard time from which on the key is free.
}

struct DeadRecord {
  # Why a task is dead. Removed when the task is redriven or purged.
  atMs @0 :Int64;
  # When the task died, in shard time.
  attempt @1 :UInt16;
  # Number of the task's charged attempts.
  token @2 :UInt64;
  # Token of its last lease.
  text @3 :Data;
  # Error text of the last attempt.
}

struct HistoryRecord {
  # One of the latest events of a task: a change, or the end of a lease other than a completion.
  # Written in the same batch as the record of the event itself; removed with the task.
  number @0 :UInt32;
  # Number of the event among the recorded ones of the task, from 0. The key contains it modulo 32.
  atMs @1 :Int64;
  # Shard time.
  kind @2 :UInt8;
  # `codeq::task_event::kind`.
  by @3 :UInt8;
  # `codeq::task_event::author`.
  state @4 :Task.TaskState;
  # State of the task after the event.
  untilMs @5 :Int64;
  # With `scheduled`: when the task becomes eligible.
  attempt @6 :UInt16;
  # This field and the next three are set for events of a leased task.
  token @7 :UInt64;
  grantedAtMs @8 :Int64;
  worker @9 :Text;
  text @10 :Data;
  # Result or error text, cut to 1 KiB with a mark.
  segment @11 :UInt64;
  # First sequence of the task's segment. This record can be removed when neither the segment nor
  # its fate record exists, nor a copy of the task, nor the copy's fate.
  aside @12 :Bool;
  # The segment is stored under an aside key.
  subject @13 :Text;
  # Who asked for a change: the holder of the token, with events of a user or tool; empty when there
  # was no token.
  tasks @14 :UInt16;
  # How many tasks share this record as their first one: the task of the key and those after it,
  # whose tokens follow each other. 0 is 1.
}

struct AuditRecord {
  # An operator's command, and what it changed on this shard; its time and its operation are in the
  # key. Written in the same batch as the change, and overwritten in that of each further part of
  # the same command. Dropped 30 days after the command, or earlier when there are too many.
  action @0 :UInt8;
  # `codeq::operator_action`.
  tenant @1 :Text;
  # Tenant of what was changed; empty: the coordinator itself.
  queue @2 :Text;
  # Empty when the command was about several queues, or none.
  task @3 :UInt64;
  # Sequence of the task; 0 when the command was not about exactly one.
  changed @4 :UInt64;
  # Number of tasks that were changed.
  subject @5 :Text;
  # Holder of the token; empty when there was none.
  bearerTenant @6 :Text;
  # Tenant of the token, `*` for all.
  remote @7 :Text;
  # Address that the command came from.
  detail @8 :Text;
  # At most 512 bytes: the settings that were changed, or the text of a forced end.
}

struct CheckpointRecord {
  # The latest checkpoint of a live task, kept for its next attempt. Overwritten by each later
  # checkpoint; removed when the task ends.
  token @0 :UInt64;
  # Token of the attempt that saved it.
  number @1 :UInt32;
  # Number of the checkpoint within that attempt, from 1.
  data @2 :Data;
  atMs @3 :Int64;
  # When the checkpoint was saved, in shard time.
}

struct ScheduleRecord {
  # A schedule. Its name is in the key. Overwritten when the schedule is set.
  spec @0 :Data;
  # A packed `ScheduleSpec`.
  overlap @1 :UInt8;
  # The number of its overlap policy.
}

struct ScheduleProgressRecord {
  # How far a schedule has come, written in the same batch as the tasks of its occurrences. Its name
  # is in the key.
  position @0 :UInt64;
  atMs @1 :Int64;
  paused @2 :Bool;
  markOrder @3 :Int64;
  markLocal @4 :Int64;
  # The newest nominal time that fired or was passed over, in seconds since 1970 on the local clock.
  occurrences @5 :UInt64;
  # Number of entries of its history so far.
  waiting @6 :OccurrenceRecord;
  # The occurrence that waits for its predecessor; unset: none.
  open @7 :List(Open);
  # Occurrences whose tasks have not ended.
  latest @8 :OccurrenceRecord;
  # The latest entry of the history; unset: none.

  struct Open {
    entry @0 :OccurrenceRecord;
    sent @1 :UInt64;
    # The `FollowUpRecord` that has its task for another shard; 0: that shard has it.
    place @2 :UInt32;
    # Place of the task among those for that shard in the record.
    isUnwanted @3 :Bool;
    # It is cancelled as soon as its task is known.
  }
}

struct OccurrenceRecord {
  # An entry of a schedule's history. The key has its number modulo 100.
  number @0 :UInt64;
  order @1 :Int64;
  local @2 :Int64;
  # The nominal time, as in `ScheduleProgressRecord`.
  atMs @3 :Int64;
  # When it was due.
  decidedAtMs @4 :Int64;
  cause @5 :UInt8;
  state @6 :UInt8;
  # The numbers of `OccurrenceCause` and `OccurrenceState`.
  count @7 :UInt64;
  shard @8 :UInt16;
  task @9 :UInt64;
  # The task; 0: none, or not confirmed yet.
  endedAtMs @10 :Int64;
}
