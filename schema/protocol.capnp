# SPDX-License-Identifier: Apache-2.0
@0x9f1e2d3c4b5a6978;

using Cxx = import "/capnp/c++.capnp";
using Checkpoint = import "checkpoint.capnp";
using Common = import "common.capnp";
using Operator = import "operator.capnp";
using Task = import "task.capnp";
$Cxx.namespace("codeq::schema");

# Messages between nodes. A frame on the wire is
#   length: UInt32 little-endian, bytes of the body
#   type:   UInt16 little-endian, the ordinal of the body's type in `Message`
#   flags:  UInt16, zero
#   body:   one single-segment Cap'n Proto message without its segment table
# Fields and types are only appended; a field that is no longer used is renamed `obsolete...`.
# Comments speak from the sender's view.

struct Message {
  # The catalogue: every type that may cross a connection. Ordinals are the frames' type numbers.
  union {
    hello @0 :Hello;
    helloAck @1 :HelloAck;
    refused @2 :Refused;
    ping @3 :Ping;
    pong @4 :Pong;
    goodbye @5 :Goodbye;
    enqueueRequest @6 :EnqueueRequest;
    enqueueReply @7 :EnqueueReply;
    claimRequest @8 :ClaimRequest;
    taskBatch @9 :TaskBatch;
    heartbeatRequest @10 :HeartbeatRequest;
    leasesLost @11 :LeasesLost;
    resultRequest @12 :ResultRequest;
    resultReply @13 :ResultReply;
    resumeRequest @14 :ResumeRequest;
    resumeReply @15 :ResumeReply;
    awaitRequest @16 :AwaitRequest;
    tasksEnded @17 :TasksEnded;
    statusRequest @18 :Operator.StatusRequest;
    statusReply @19 :Operator.StatusReply;
    statsRequest @20 :Operator.StatsRequest;
    statsReply @21 :Operator.StatsReply;
    cancelNotice @22 :CancelNotice;
    changeRequest @23 :Operator.ChangeRequest;
    changeReply @24 :Operator.ChangeReply;
    forceRequest @25 :Operator.ForceRequest;
    queueRequest @26 :Operator.QueueRequest;
    queueReply @27 :Operator.QueueReply;
    bulkRequest @28 :Operator.BulkRequest;
    bulkReply @29 :Operator.BulkReply;
    listRequest @30 :Operator.ListRequest;
    listReply @31 :Operator.ListReply;
    explainRequest @32 :Operator.ExplainRequest;
    explainReply @33 :Operator.ExplainReply;
    eventsRequest @34 :Operator.EventsRequest;
    eventsReply @35 :Operator.EventsReply;
    backupRequest @36 :Operator.BackupRequest;
    backupReply @37 :Operator.BackupReply;
    checkpointsSaved @38 :Checkpoint.CheckpointsSaved;
  }
}

enum Role @0xd1c2b3a495867718 {
  worker @0;
  producer @1;
  operator @2;
}

struct Hello {
  # The first frame on a connection, from the side that dialled; at most 4 KiB, within 5 s.
  # Replies: HelloAck, or Refused and the connection is closed.
  minVersion @0 :UInt16;
  maxVersion @1 :UInt16;
  role @2 :Role;
  name @3 :Text;
  # Of the node; `[A-Za-z0-9._-]{1,128}`. Workers' names are unique.
  incarnation @4 :UInt64;
  # Random per process start.
  token @5 :Data;
  # Bearer token, at most 512 bytes; empty in single-user setups.
  queues @6 :List(Common.QueueAddress);
  # What a worker handles.
}

struct HelloAck {
  # You are in. Everything that you send from here on is answered in order per shard.
  version @0 :UInt16;
  shardCount @1 :UInt16;
  coordinatorId @2 :UInt64;
  # Random per start of the coordinator.
  storeId @3 :UInt64;
  # Random, fixed when the store was created.
  pingIntervalMs @4 :UInt32;
  nowMs @5 :Int64;
  # Shard time, which a producer's session is named after; 0 when it is not said.
}

struct Refused {
  # I close the connection for this reason.
  code @0 :Common.ErrorCode;
  context @1 :Text;
}

struct Ping {
  # Answer at once with Pong and the same number.
  number @0 :UInt64;
}

struct Pong {
  number @0 :UInt64;
}

struct Goodbye {
  # An orderly end. From a worker: my leases are to be given back. From a coordinator: I stop, come
  # again.
  code @0 :Common.ErrorCode;
}

struct EnqueueRequest {
  # Add these tasks to one shard, all or nothing. Reply: EnqueueReply, sent when they are durable.
  # A repeat with the same producer and number returns the first answer and adds nothing.
  producer @0 :Common.ProducerId;
  number @1 :UInt64;
  # Of the request, from 1, increasing within the producer session.
  answeredBelow @2 :UInt64;
  # I have the answers to all requests with smaller numbers; they may be forgotten.
  shard @3 :UInt16;
  runs @4 :List(EnqueueRun);
  tasks @5 :Common.Packed;
  # A `TaskBody` each, in the order of the runs.
}

struct EnqueueRun {
  # The next `count` tasks of the request share what stands here.
  count @0 :UInt32;
  queue @1 :Common.QueueAddress;
  priority @2 :UInt8;
  settings @3 :Task.TaskSettings;
  notBeforeMs @4 :Int64;
  # Shard time; 0 is now.
  delayMs @5 :UInt64;
  # From when the coordinator decides; excludes notBeforeMs.
  allowPromotion @6 :Bool;
  # Whether a promotion may also lift notBeforeMs or delayMs.
  group @7 :Data;
  # At most one task of a group is leased, in order of arrival; empty is no group. At most 256
  # bytes; a run with a group goes to the shard that the group's name gives.
  key @8 :Data;
  # My own name for the one task of this run; empty is none. At most 256 bytes; without a group it
  # gives the shard.
  onDuplicate @9 :OnDuplicate;
  # What to do when the key has a record already.
  replacePayload @10 :Bool;
  # Whether a duplicate also swaps the body of an unleased record.
  leftToQueue @11 :UInt16;
  # The fields of `settings` that the queue decides, as bits: 1 maxAttempts, 2 retry, 4 leaseMs,
  # 8 runTimeoutMs, 16 progressTimeoutMs, 32 retentionMs, 64 onDead, 128 deadRetentionMs. Their
  # values mean nothing.
}

enum OnDuplicate @0x93a4b5c6d7e80f1a {
  # Never renumber; mirrors `codeq::on_duplicate`.
  existing @0;
  reject @1;
  defer @2;
  promote @3;
}

struct EnqueueReply {
  # Durable (or refused, when `code` is set: nothing was added).
  number @0 :UInt64;
  shard @1 :UInt16;
  tasks @2 :List(Common.SeqRun);
  # The ids of the request's tasks, in order.
  code @3 :Common.ErrorCode;
  context @4 :Text;
  retryAfterMs @5 :UInt32;
  # With `overloaded`: wait this long.
  kinds @6 :Data;
  # What became of each task, a byte each: 0 created, 1 existing, 2 deferred, 3 promoted,
  # 4 unchanged, 5 running, 6 duplicate. Empty when all were created. The id of a task that was not
  # created is the one of the record that has its key.
}

struct ClaimRequest {
  # I can take this many more tasks. Credits add up; each task sent uses one. After a reconnect
  # they start from zero. The answer is TaskBatch, whenever there is work. 0 says that I take no
  # more for as long as I am connected, and that unused credits are void.
  credits @0 :UInt32;
  leaseMs @1 :UInt64;
  # Wish for the lease; 0 leaves it to the task.
  setsQueues @2 :Bool;
  # From here on I take tasks of `queues` only, instead of those that I named before. A request that
  # says so and has no credits voids none.
  queues @3 :List(Common.QueueAddress);
}

struct TaskBatch {
  # These tasks are yours under the leases given.
  shard @0 :UInt16;
  redelivered @1 :Bool;
  # After a resume: you hold these leases already, though you did not know. They use no credits.
  runs @2 :List(TaskRun);
  tasks @3 :Common.Packed;
  # A `TaskBody` each, in the order of the runs.
}

struct TaskRun {
  first @0 :UInt64;
  count @1 :UInt32;
  firstToken @2 :UInt64;
  # Task i of the run has token firstToken + i.
  attempts @3 :List(UInt16);
  # One per task, or empty when all are at attempt 1.
  queue @4 :Common.QueueAddress;
  priority @5 :UInt8;
  leaseMs @6 :UInt64;
  maxAttempts @7 :UInt16;
  enqueuedAtMs @8 :Int64;
  group @9 :Data;
  # Of the tasks of the run; empty is none.
  key @10 :Data;
  # Of the one task of the run; empty is none.
  checkpoints @11 :List(Checkpoint.TaskCheckpoint);
  # What earlier attempts of tasks of the run handed on, for those that did.
}

struct TaskLease {
  seq @0 :UInt64;
  token @1 :UInt64;
}

enum LeasePhase @0x8a7b6c5d4e3f2011 {
  running @0;
  queued @1;
  # Received, not started: ends uncharged, whatever ends it.
}

struct HeartbeatRequest {
  # The handlers of these leases are alive. Only those that are not extended are answered, by
  # LeasesLost.
  shard @0 :UInt16;
  leases @1 :List(Beat);

  struct Beat {
    seq @0 :UInt64;
    token @1 :UInt64;
    phase @2 :LeasePhase;
    progressed @3 :Bool;
    # The handler got on with its work since the last beat.
    extendMs @4 :UInt64;
    # Longer than the lease: be content without a beat for that long from now, 1 s to 12 h. 0 is as
    # long as the lease.
  }

  progress @2 :List(Progress);
  # How far handlers are, for those who watch; kept nowhere. At most one per lease.

  struct Progress {
    seq @0 :UInt64;
    token @1 :UInt64;
    percent @2 :UInt8;
    note @3 :Text;
    # At most 1 KiB.
  }

  checkpoints @3 :List(Checkpoint.LeaseCheckpoint);
  # What handlers hand on to the next attempts of their tasks. Reply: CheckpointsSaved, when they
  # are durable; LeasesLost for those whose lease is over. At most 8 MiB of them in one request.
}

struct LeasesLost {
  # These leases are not yours any more; stop their handlers and report nothing.
  shard @0 :UInt16;
  leases @1 :List(TaskLease);
}

enum Disposition @0xf0e1d2c3b4a59687 {
  completed @0;
  failed @1;
  failedPermanently @2;
  nack @3;
  abandon @4;
  cancelled @5;
}

struct ResultRequest {
  # How these attempts ended. I keep and resend each until it is answered in a ResultReply.
  shard @0 :UInt16;
  reports @1 :List(Report);
  texts @2 :Common.Packed;
  # The result or error text of each report, in order.

  struct Report {
    seq @0 :UInt64;
    token @1 :UInt64;
    disposition @2 :Disposition;
    delayMs @3 :Int64 = -1;
    # With nack: the handler's own delay; negative leaves it to the retry policy.
    started @4 :Bool = true;
    # False: the attempt never began and is not charged.
    followUps @5 :FollowUps;
    # With completed: enqueue these tasks in the same write as the result. When one of them is
    # refused, so is the report, and the lease stays.
    checkpointNumber @6 :UInt32;
    checkpoint @7 :Data;
    # What the attempt handed on last and was not told to be saved, as in a heartbeat; the number 0
    # is none. Of no account when the task ends.
  }
}

struct FollowUps {
  # Tasks without key and group stay on the shard of the completed task; each other one goes to its
  # own shard.
  runs @0 :List(EnqueueRun);
  tasks @1 :Common.Packed;
  # A `TaskBody` each, in the order of the runs; at most 64 and 8 MiB.
}

struct ResultReply {
  # Durable, or refused for good; either way forget the report. Refused for what it carries, the
  # lease stays: report another end.
  shard @0 :UInt16;
  answers @1 :List(Answer);

  struct Answer {
    seq @0 :UInt64;
    token @1 :UInt64;
    code @2 :Common.ErrorCode;
    # none: accepted now; already: accepted before; staleLease, unknownTask: refused;
    # invalidArgument, tooLarge: refused for what it carries.
    context @3 :Text;
    # What is out of bounds.
  }
}

struct ResumeRequest {
  # After a reconnect, when the unanswered results are sent again: the leases that I hold. Reply:
  # ResumeReply, with a LeasesLost before it for what you do not know and a TaskBatch for what I do
  # not know.
  shard @0 :UInt16;
  leases @1 :List(TaskLease);
}

struct ResumeReply {
  shard @0 :UInt16;
}

struct AwaitRequest {
  # Tell me when each of these tasks ends, by TasksEnded; at once for those that have. Lasts as
  # long as the connection.
  shard @0 :UInt16;
  seqs @1 :List(UInt64);
  progress @2 :Bool;
  # Tell me as well how far their handlers are.
}

struct TasksEnded {
  shard @0 :UInt16;
  tasks @1 :List(Ended);
  texts @2 :Common.Packed;
  # The result or error text of each task, in order.

  struct Ended {
    seq @0 :UInt64;
    state @1 :Task.TaskState;
    code @2 :Common.ErrorCode;
    # unknownTask: there is no such task, or it is past its retention; `state` means nothing.
    attempt @3 :UInt16;
    percent @4 :UInt8;
    # With the state `leased`: the task has not ended, its handler is that far, and the text is the
    # handler's note. Only told to who asked for progress.
  }
}

struct CancelNotice {
  # Stop the handler of this lease; answer `cancelled` or complete within the grace.
  shard @0 :UInt16;
  lease @1 :TaskLease;
  graceMs @2 :UInt64;
}
