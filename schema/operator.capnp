# SPDX-License-Identifier: Apache-2.0
@0xe3a4b5c6d7f8091b;

using Cxx = import "/capnp/c++.capnp";
using Common = import "common.capnp";
using Task = import "task.capnp";
$Cxx.namespace("codeq::schema");

# What operators ask and learn; a part of `protocol.capnp`, which has the catalogue. Every request
# names the one shard that it is for, by itself or by its task. Comments speak from the sender's
# view.

struct StatusRequest {
  # Reply: StatusReply with the same number.
  number @0 :UInt64;
  task @1 :Common.TaskId;
  key @2 :TaskKey;
  # When set, names the task instead of `task.seq`; `task.shard` is the key's.
  withBody @3 :Bool;
  # Tell me what the task carries, too.
}

struct TaskKey {
  # A task by its producer's own name for it.
  queue @0 :Common.QueueAddress;
  group @1 :Data;
  key @2 :Data;
}

struct StatusReply {
  number @0 :UInt64;
  code @1 :Common.ErrorCode;
  # unknownTask: the rest means nothing.
  task @2 :Common.TaskId;
  queue @3 :Common.QueueAddress;
  priority @4 :UInt8;
  state @5 :Task.TaskState;
  attempt @6 :UInt16;
  maxAttempts @7 :UInt16;
  token @8 :UInt64;
  enqueuedAtMs @9 :Int64;
  eligibleAtMs @10 :Int64;
  # 0 when it does not wait for a time.
  worker @11 :Text;
  lostInRow @12 :UInt8;
  text @13 :Data;
  # The result of a completed task, else the latest error text.
  group @14 :Data;
  key @15 :Data;
  context @16 :Text;
  # Says more about `code`.
  leaseLeftMs @17 :UInt64;
  # Of a leased task: its lease ends then unless it beats.
  body @18 :Data;
  # A `TaskBody`, when it was asked for and is still kept.
}

struct StatsRequest {
  # Reply: StatsReply with the same number.
  number @0 :UInt64;
}

struct StatsReply {
  number @0 :UInt64;
  queues @1 :List(QueueStats);
  gauges @2 :List(Gauge);
  code @3 :Common.ErrorCode;
  context @4 :Text;
  # With a code: why there are no counts; the rest means nothing.

  struct QueueStats {
    queue @0 :Common.QueueAddress;
    scheduled @1 :UInt64;
    ready @2 :UInt64;
    leased @3 :UInt64;
    completed @4 :UInt64;
    # Since the store was created.
    dead @5 :UInt64;
    lost @6 :UInt64;
    # Leases that expired, since the store was created.
    gated @7 :UInt64;
  }

  struct Gauge {
    name @0 :Text;
    value @1 :Int64;
  }
}

enum TaskChange @0xb1a2c3d4e5f60718 {
  cancel @0;
  promote @1;
  redrive @2;
  purge @3;
}

struct ChangeRequest {
  # Change one task, whoever holds it. Reply: ChangeReply with the same number, when the change is
  # durable. Asking again is harmless: what was changed already is then unchanged.
  number @0 :UInt64;
  task @1 :Common.TaskId;
  change @2 :TaskChange;
  key @3 :TaskKey;
  # With cancel and promote; when set, names the task instead of `task.seq`; `task.shard` is the
  # key's.
}

enum ChangeResult @0xc2b3d4e5f6a70819 {
  changed @0;
  requested @1;
  # The task is leased; it changes when the lease ends.
  unchanged @2;
  # The task's state does not allow it, or is already what was asked for.
  guarded @3;
  # The producer's deferral stands, because the task does not allow promotion.
  keyTaken @4;
  # A redrive: another live task has the key.
  notFound @5;
  # No record has the key.
}

struct ChangeReply {
  number @0 :UInt64;
  code @1 :Common.ErrorCode;
  # unknownTask, unsupported: nothing was changed, the rest means nothing.
  result @2 :ChangeResult;
  state @3 :Task.TaskState;
  # Of the task from here on.
  task @4 :Common.TaskId;
  context @5 :Text;
  # Says more about `code`.
}

enum ForceKind @0xd4c5b6a798807162 {
  revoke @0;
  # The lease ends uncharged, the task is ready again.
  complete @1;
  # A live task is completed, with `text` as its result.
  fail @2;
  # A live task is dead, with `text` as the reason.
}

struct ForceRequest {
  # End a lease or a task without its token. Reply: ChangeReply with the same number. Asked twice it
  # may be done twice.
  number @0 :UInt64;
  task @1 :Common.TaskId;
  how @2 :ForceKind;
  text @3 :Data;
  # At most 1 MiB with complete, 16 KiB with fail; empty with revoke.
}

struct QueueSettings {
  # What a shard's part of a queue gives its tasks and how much it takes.
  defaults @0 :Task.TaskSettings;
  # For the fields that a producer leaves to the queue.
  maxDepth @1 :UInt64;
  # Live tasks at most; 0 is no limit.
  maxLeased @2 :UInt64;
  # Leases at the same time at most; 0 is no limit.
  keepPayload @3 :Bool;
  # Keep the payload of a completed task as long as its record.
  paused @4 :Bool;
  # Nothing is handed out. Means nothing in a request.
}

struct QueueRequest {
  # About one shard's part of a queue. Reply: QueueReply with the same number, when the change is
  # durable. Asking again is harmless.
  number @0 :UInt64;
  shard @1 :UInt16;
  queue @2 :Common.QueueAddress;
  union {
    show @3 :Void;
    set @4 :QueueSettings;
    # All of them; `paused` stays as it is.
    pause @5 :Void;
    resume @6 :Void;
  }
}

struct QueueReply {
  number @0 :UInt64;
  code @1 :Common.ErrorCode;
  context @2 :Text;
  # With a code: why nothing was changed; the rest means nothing.
  settings @3 :QueueSettings;
  # From here on.
}

struct TaskFilter {
  # Which tasks of a shard, in the order of their sequences.
  tenant @0 :Text;
  queue @1 :Text;
  # Empty is every queue of the tenant.
  after @2 :UInt64;
  # Only greater sequences.
  below @3 :UInt64;
  # Only smaller sequences; 0 is no bound.
  limit @4 :UInt32;
  # Look at so many tasks at most; 1..1000.
  union {
    anyState @5 :Void;
    state @6 :Task.TaskState;
  }
  blocking @7 :Bool;
  # Only dead tasks that block their group.
  newestFirst @8 :Bool;
  # In falling order of sequences: `below` says where to begin, and the reply's `after` the next
  # `below`.
}

enum BulkKind @0xe5d6c7b8a9901728 {
  redrive @0;
  # Dead tasks live again.
  purgeDead @1;
  # Dead tasks go for good.
  purgeAll @2;
  # Tasks go for good whatever their state; leases are revoked.
}

struct BulkRequest {
  # Do the same to many tasks of one shard, a part per request. Reply: BulkReply with the same
  # number, when the change is durable.
  number @0 :UInt64;
  shard @1 :UInt16;
  what @2 :BulkKind;
  filter @3 :TaskFilter;
  # Of any state: the kind says which.
}

struct BulkReply {
  number @0 :UInt64;
  code @1 :Common.ErrorCode;
  context @2 :Text;
  # With a code: why nothing was changed; the rest means nothing.
  changed @3 :UInt64;
  # How many tasks.
  after @4 :UInt64;
  # Where the next part begins.
  more @5 :Bool;
  # False when nothing is left that the filter could pick.
}

struct ListRequest {
  # Reply: ListReply with the same number.
  number @0 :UInt64;
  shard @1 :UInt16;
  filter @2 :TaskFilter;
}

struct TaskView {
  # What is known of a task but the text of its latest outcome.
  seq @0 :UInt64;
  queue @1 :Common.QueueAddress;
  priority @2 :UInt8;
  state @3 :Task.TaskState;
  attempt @4 :UInt16;
  maxAttempts @5 :UInt16;
  token @6 :UInt64;
  enqueuedAtMs @7 :Int64;
  eligibleAtMs @8 :Int64;
  # 0 when it does not wait for a time.
  worker @9 :Text;
  lostInRow @10 :UInt8;
  group @11 :Data;
  key @12 :Data;
}

struct ListReply {
  number @0 :UInt64;
  code @1 :Common.ErrorCode;
  context @2 :Text;
  # With a code: why there is no list; the rest means nothing.
  tasks @3 :List(TaskView);
  after @4 :UInt64;
  # Where the next part begins.
  more @5 :Bool;
  # False when nothing is left that the filter could pick.
}

struct ExplainRequest {
  # Why does the task not run at this moment? Reply: ExplainReply with the same number.
  number @0 :UInt64;
  task @1 :Common.TaskId;
}

enum TaskReason @0xf6e7d8c9baa12839 {
  # Mirrors `codeq::task_reason`.
  deferred @0;
  # Its producer deferred it, until untilMs.
  retryWaiting @1;
  # It waits for its next attempt, until untilMs.
  gated @2;
  # `blocker` of its group is before it.
  blocked @3;
  # `blocker` of its group is dead and blocks it.
  queuePaused @4;
  noWorker @5;
  # No connected worker claims from its queue.
  queueAtMaxLeased @6;
  # The queue has as many leases as its settings allow.
  noFreeSlots @7;
  # All workers that claim from its queue are busy.
  next @8;
  # It is handed out with the next turn.
  leased @9;
  # It runs at view.worker; the lease ends in leaseLeftMs unless it beats.
  completed @10;
  dead @11;
  cancelled @12;
}

struct ExplainReply {
  number @0 :UInt64;
  code @1 :Common.ErrorCode;
  context @2 :Text;
  # With a code: why nothing is known; the rest means nothing.
  shard @3 :UInt16;
  reason @4 :TaskReason;
  view @5 :TaskView;
  untilMs @6 :Int64;
  blocker @7 :UInt64;
  # Of the same shard.
  blockerState @8 :Task.TaskState;
  leaseLeftMs @9 :UInt64;
  queue @10 :QueueSettings;
  workers @11 :UInt32;
  # That claim from its queue.
}

struct EventsRequest {
  # What happened to the task? Reply: EventsReply with the same number.
  number @0 :UInt64;
  task @1 :Common.TaskId;
}

enum TaskEventKind @0x87f8e9dacbb2394a {
  # Mirrors `codeq::task_event::kind`.
  enqueued @0;
  granted @1;
  completed @2;
  failed @3;
  failedPermanently @4;
  nacked @5;
  abandoned @6;
  lost @7;
  # The lease expired or its worker was replaced.
  revoked @8;
  cancelRequested @9;
  cancelled @10;
  rescheduled @11;
  # Promoted, or deferred by a duplicate.
  redriven @12;
  forcedToComplete @13;
  forcedToFail @14;
  timedOut @15;
  # The attempt ran longer, or longer without progress, than it may.
  payloadReplaced @16;
  # By a duplicate.
}

enum TaskEventAuthor @0x98a1b2c3d4e5f60b {
  # Mirrors `codeq::task_event::author`.
  coordinator @0;
  producer @1;
  worker @2;
  operatorUser @3;
  # Whoever asked for a change of the task.
}

struct EventsReply {
  number @0 :UInt64;
  code @1 :Common.ErrorCode;
  context @2 :Text;
  # With a code: why nothing is known; the rest means nothing.
  events @3 :List(Event);
  # In the order in which they happened: the enqueue, and of very many after it the latest.
  dropped @4 :UInt64;
  # Events behind the enqueue that are not remembered any more.
  state @5 :Task.TaskState;
  # How the task is now.
  untilMs @6 :Int64;
  # 0 when it does not wait for a time.

  struct Event {
    atMs @0 :Int64;
    kind @1 :TaskEventKind;
    attempt @2 :UInt16;
    token @3 :UInt64;
    worker @4 :Text;
    text @5 :Data;
    # Of an attempt that ended: the result or the error text, cut to 1 KiB with a mark.
    by @6 :TaskEventAuthor;
    state @7 :Task.TaskState;
    # The task's from then on.
    untilMs @8 :Int64;
    # With `scheduled`: when it is eligible.
  }
}

struct BackupRequest {
  # How is the latest backup, or begin one? Reply: BackupReply with the same number.
  number @0 :UInt64;
  start @1 :Bool;
  # Begin one now. Where it goes is not for me to say.
}

enum BackupState @0xa7c3d5e1f2046b8d {
  # Mirrors `codeq::backup_state`.
  none @0;
  running @1;
  done @2;
  failed @3;
}

struct BackupReply {
  # Of the latest backup since the coordinator was started.
  number @0 :UInt64;
  code @1 :Common.ErrorCode;
  context @2 :Text;
  # With a code: why none was begun; the rest means nothing.
  state @3 :BackupState;
  backup @4 :UInt32;
  # Its own number.
  bytes @5 :UInt64;
  # Of all its files, those included that it shares with earlier ones.
  files @6 :UInt32;
  problem @7 :Text;
  # Why it failed.
}
