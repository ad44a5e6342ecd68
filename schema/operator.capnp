# SPDX-License-Identifier: Apache-2.0
@0xe3a4b5c6d7f8091b;

using Cxx = import "/capnp/c++.capnp";
using Common = import "common.capnp";
using Task = import "task.capnp";
$Cxx.namespace("codeq::schema");

# Requests and replies of operators; a part of `protocol.capnp`, which has the catalogue. Every
# request names the one shard that it is for, directly or by its task. Comments speak from the
# sender's view.

struct StatusRequest {
  # Reply: StatusReply with the same number.
  number @0 :UInt64;
  task @1 :Common.TaskId;
  key @2 :TaskKey;
  # When set, identifies the task in place of `task.seq`; `task.shard` is then the key's shard.
  withBody @3 :Bool;
  # Include the task's body in the reply.
}

struct TaskKey {
  # Identifies a task by its producer's key.
  queue @0 :Common.QueueAddress;
  group @1 :Data;
  key @2 :Data;
}

struct StatusReply {
  number @0 :UInt64;
  code @1 :Common.ErrorCode;
  # unknownTask: ignore the other fields.
  task @2 :Common.TaskId;
  queue @3 :Common.QueueAddress;
  priority @4 :UInt8;
  state @5 :Task.TaskState;
  attempt @6 :UInt16;
  maxAttempts @7 :UInt16;
  token @8 :UInt64;
  enqueuedAtMs @9 :Int64;
  eligibleAtMs @10 :Int64;
  # 0 when the task does not wait for a time.
  worker @11 :Text;
  lostInRow @12 :UInt8;
  text @13 :Data;
  # Result of a completed task, else the latest error text.
  group @14 :Data;
  key @15 :Data;
  context @16 :Text;
  # Explains `code`.
  leaseLeftMs @17 :UInt64;
  # Remaining time of a leased task's lease if no further heartbeat arrives.
  body @18 :Data;
  # A `TaskBody`, when the request asked for it and it is still stored.
  cancelRequested @19 :Bool;
  # A cancel of the leased task was requested; its worker was asked to stop.
  hasProgress @20 :Bool;
  progressPercent @21 :UInt8;
  progressNote @22 :Data;
  # With hasProgress: the latest report of the leased task's attempt.
  fairnessKey @23 :Data;
  fairnessWeight @24 :UInt16 = 1;
  limits @25 :List(Task.TaskLimit);
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
  # When `code` is set: why there are no counts; ignore the other fields.
  tellsShards @5 :Bool;
  shards @6 :UInt16;
  # With `tellsShards`: number of the shards that I serve, whose counts these are. Older versions do
  # not say it.

  struct QueueStats {
    queue @0 :Common.QueueAddress;
    scheduled @1 :UInt64;
    ready @2 :UInt64;
    leased @3 :UInt64;
    completed @4 :UInt64;
    # This count, `dead`, `lost` and `cancelled` are those since the store was created.
    dead @5 :UInt64;
    lost @6 :UInt64;
    # Leases that expired.
    gated @7 :UInt64;
    deadNow @8 :UInt64;
    # Dead tasks that are still stored.
    cancelled @9 :UInt64;
    paused @10 :Bool;
    oldestReadyMs @11 :UInt64;
    # Time since the oldest ready task was added, or since the end of its deferral; 0: none is
    # ready.
    maxDepth @12 :UInt64;
    maxLeased @13 :UInt64;
    # Limits of the whole queue: `QueueSettings.maxDepthWhole` and `QueueSettings.maxLeasedWhole`.
    # Older versions say the sum of their shards' parts of the first one.
    held @14 :UInt64;
    # Number of ready tasks that a limit holds back.
    readyByPriority @15 :List(PriorityCount);
    # `ready`, split by priority: those of which there are any. Older versions leave it empty.
  }

  struct PriorityCount {
    priority @0 :UInt8;
    tasks @1 :UInt64;
  }

  struct Gauge {
    name @0 :Text;
    value @1 :Int64;
  }
}

struct WorkersRequest {
  # List the workers that are connected or have leases. Reply: WorkersReply with the same number.
  number @0 :UInt64;
  drain @1 :Text;
  # When set: give the worker of that name no further tasks, until it is taken back. The reply lists
  # only this worker, or none when this coordinator does not know it.
  resume @2 :Text;
  # When set: take the worker of that name back. The same reply.
}

struct WorkersReply {
  number @0 :UInt64;
  code @1 :Common.ErrorCode;
  context @2 :Text;
  # When `code` is set: why there is no list; ignore the other fields.
  workers @3 :List(Worker);

  struct Worker {
    name @0 :Text;
    connected @1 :Bool;
    freeSlots @2 :UInt64;
    # Number of tasks that it could accept now.
    leases @3 :UInt64;
    queues @4 :List(Common.QueueAddress);
    # Queues that it claims from; at most 20 of them.
    queueCount @5 :UInt32;
    # Number of all queues that it claims from.
    running @6 :List(Lease);
    # The oldest of its leases, at most 20 of them.
    draining @7 :Bool;
    # An operator has drained it: it gets no further tasks.
  }

  struct Lease {
    task @0 :Common.TaskId;
    queue @1 :Common.QueueAddress;
    grantedAtMs @2 :Int64;
    leaseLeftMs @3 :UInt64;
    # Remaining time of the lease if no further heartbeat arrives.
    waits @4 :Bool;
    # The worker said with its last heartbeat that the task waits there for a free slot.
  }
}

enum TaskChange @0xb1a2c3d4e5f60718 {
  cancel @0;
  promote @1;
  redrive @2;
  purge @3;
}

struct ChangeRequest {
  # Change one task, regardless of its lease. Reply: ChangeReply with the same number, when the
  # change is durable. A repeat is harmless: its result is `unchanged`.
  number @0 :UInt64;
  task @1 :Common.TaskId;
  change @2 :TaskChange;
  key @3 :TaskKey;
  # With cancel and promote only. When set, identifies the task in place of `task.seq`; `task.shard`
  # is then the key's shard.
}

enum ChangeResult @0xc2b3d4e5f6a70819 {
  changed @0;
  requested @1;
  # The task is leased; the change is made when the lease ends.
  unchanged @2;
  # The task's state does not allow the change, or the change was already made.
  guarded @3;
  # The task does not allow promotion, so the producer's deferral stays.
  keyTaken @4;
  # Redrive: another live task has the key.
  notFound @5;
  # No record has the key.
}

struct ChangeReply {
  number @0 :UInt64;
  code @1 :Common.ErrorCode;
  # unknownTask, unsupported: nothing was changed; ignore the other fields.
  result @2 :ChangeResult;
  state @3 :Task.TaskState;
  # State of the task after the change.
  task @4 :Common.TaskId;
  context @5 :Text;
  # Explains `code`.
}

enum ForceKind @0xd4c5b6a798807162 {
  revoke @0;
  # The lease ends uncharged, and the task is ready again.
  complete @1;
  # A live task is completed, with `text` as its result.
  fail @2;
  # A live task is dead, with `text` as the reason.
}

struct ForceRequest {
  # End a lease or a task without its token. Reply: ChangeReply with the same number. Not
  # idempotent: a repeat may make the change twice.
  number @0 :UInt64;
  task @1 :Common.TaskId;
  how @2 :ForceKind;
  text @3 :Data;
  # At most 1 MiB with complete, 16 KiB with fail; empty with revoke.
}

struct QueueSettings {
  # Configuration of one shard's part of a queue: the defaults of its tasks, and its limits.
  defaults @0 :Task.TaskSettings;
  # Values for the fields that a producer leaves unset.
  maxDepth @1 :UInt64;
  # As `maxLeased`, of `maxDepthWhole`.
  maxLeased @2 :UInt64;
  # For older versions, which limit each shard by itself: a shard's part of `maxLeasedWhole`,
  # rounded up. If `maxLeasedWhole` is not set, the queue's maximum is this number times the number
  # of shards.
  keepPayload @3 :Bool;
  # Keep the payload of a completed task as long as its record.
  paused @4 :Bool;
  # The queue grants no leases. Ignored in a request.
  failures @5 :Task.FailureRules;
  pauseReason @6 :Text;
  # Why the queue paused itself; empty when an operator paused it. Ignored in a request.
  limits @7 :List(Task.QueueLimit);
  # Limits of tasks that do not name them; at most 4, each name once.
  fairnessHeader @8 :Text;
  # Name of the header whose value is the fairness key of tasks that give none; empty: none. At most
  # 256 bytes.
  fairnessWeights @9 :List(Task.FairnessWeight);
  # At most 100, each key once. In a request, an absent or empty list takes them away; they stay
  # when the struct is one of an earlier version, which ends before this field.
  maxLeasedWhole @10 :UInt64;
  # Maximum number of concurrent leases of the whole queue, over all shards; 0, with `maxLeased` 0:
  # unlimited.
  maxDepthWhole @11 :UInt64;
  # Maximum number of live tasks of the whole queue, over all shards; 0, with `maxDepth` 0:
  # unlimited.
}

struct QueueRequest {
  # Read or change one shard's part of a queue. Reply: QueueReply with the same number, when the
  # change is durable. A repeat is harmless.
  number @0 :UInt64;
  shard @1 :UInt16;
  queue @2 :Common.QueueAddress;
  union {
    show @3 :Void;
    set @4 :QueueSettings;
    # Sets all fields but `paused`, which does not change. With `weightChanges`, `fairnessWeights`
    # is only for coordinators that do not know that field.
    pause @5 :Void;
    resume @6 :Void;
    fairness @8 :FairnessPart;
    # As `show`; the reply also lists fairness keys, and accounts for the waiting tasks.
    explain @9 :Void;
    # As `show`; the reply also accounts for the waiting tasks.
    weigh @11 :Void;
    # Changes the weights in `weightChanges` and nothing else.
  }
  operation @7 :UInt64;
  # As in `BulkRequest`.
  weightChanges @10 :List(Task.FairnessWeight);
  # With `set` and `weigh`: new weights of at most 100 keys, each once; 0 takes the weight of a key
  # away. Those of other keys stay. Present, even if empty, it takes the place of
  # `set.fairnessWeights`.

  struct FairnessPart {
    after @0 :Data;
    # List the keys that come after this one in the order of their bytes.
    fromStart @1 :Bool;
    # List the keys from the empty one on; `after` is ignored.
    limit @2 :UInt32;
    # Maximum number of keys, 1..1000.
  }
}

struct QueueReply {
  number @0 :UInt64;
  code @1 :Common.ErrorCode;
  context @2 :Text;
  # When `code` is set: why nothing was changed; ignore the other fields.
  settings @3 :QueueSettings;
  # Settings after the change.
  isUnknown @4 :Bool;
  # With `show`: the shard has no such queue, and the settings are the defaults.
  fairness @5 :Fairness;
  # With `fairness`. Coordinators that do not know it refuse the request.
  waits @6 :Waits;
  # With `explain`, which coordinators that do not know it refuse, and with `fairness`, where older
  # ones leave it out.

  struct Waits {
    reasons @0 :List(Reason);
    # They sum to the shard's scheduled, gated and ready tasks of the queue.
    leased @1 :UInt64;
    workers @2 :UInt32;
    # Number of connected workers that claim from the queue.
    blocking @3 :UInt64;
    # Dead tasks that block their groups.
    limits @4 :List(Held);
    # At most 10, the one that holds most tasks of the queue first; `tasks` is set, `key` is not.
    keys @5 :List(Held);
    # The same for the keys of all limits.
    partialKeys @6 :Bool;
    # There were too many keys to look at all of them.
    startsPerMinute @7 :UInt64;
    # Leases that began in the last 30 to 60 seconds.
    limitsNeedMs @8 :UInt64;
    # Until the last ready task can start by the maximum of leases and by the limits, at the
    # earliest; 0: unknown, the largest value: never.
    maxLeasedNeedMs @9 :UInt64;
    # The same for the ready tasks of my shard, by the maximum of leases alone; those of all shards
    # are to be added, since they share the maximum.
  }

  struct Reason {
    reason @0 :TaskReason;
    tasks @1 :UInt64;
  }

  struct Held {
    limit @0 :Text;
    key @1 :Data;
    tasks @2 :UInt64;
    # Number of tasks of the queue that it holds back.
    leased @3 :UInt64;
    hasNextStart @4 :Bool;
    nextStartMs @5 :Int64;
    # As in `LimitReply.Key`, like the next one.
    closedUntilMs @6 :Int64;
  }

  struct Fairness {
    keys @0 :List(Share);
    # Keys with live tasks, in the order of their bytes.
    activeKeys @1 :UInt64;
    # Number of all keys with live tasks.
    more @2 :Bool;
    # Further keys follow the last one.
  }

  struct Share {
    key @0 :Data;
    weight @1 :UInt32;
    ready @2 :UInt64;
    # Number of ready tasks.
    sharePpm @3 :UInt32;
    # Part of the shard's run time that the key gets, in millionths.
    expectedRunMs @4 :UInt64;
    waitMs @5 :UInt64;
    # Maximum time until a task of the key starts; 0 without ready tasks.
  }
}

struct TaskFilter {
  # Selects tasks of one shard, in the order of their sequences.
  tenant @0 :Text;
  queue @1 :Text;
  # Empty: every queue of the tenant.
  after @2 :UInt64;
  # Only tasks with greater sequences.
  below @3 :UInt64;
  # Only tasks with smaller sequences; 0: no bound.
  limit @4 :UInt32;
  # Maximum number of tasks to examine, 1..1000.
  union {
    anyState @5 :Void;
    state @6 :Task.TaskState;
  }
  blocking @7 :Bool;
  # Only dead tasks that block their group.
  newestFirst @8 :Bool;
  # Descending order of sequences: the scan starts at `below`, and the reply's `after` is the next
  # `below`.
  group @9 :Data;
  # With a list only, as all fields below; an empty one selects any task.
  key @10 :Data;
  workers @11 :List(Text);
  # At most 16 names; one is that of the worker of the current attempt, or of the last one.
  headers @12 :List(Task.TaskBody.Header);
  # At most 16 headers, which the task has, with these values.
  error @13 :Text;
  # A part of the latest error text.
  enqueuedSinceMs @14 :Int64;
  enqueuedUntilMs @15 :Int64;
  # When the task was enqueued, in shard time; the end is exclusive, and 0 is no bound.
  endedSinceMs @16 :Int64;
  endedUntilMs @17 :Int64;
  # The same for its end; a bound leaves out live tasks.
}

enum BulkKind @0xe5d6c7b8a9901728 {
  redrive @0;
  # Redrives dead tasks.
  purgeDead @1;
  # Removes dead tasks for good.
  purgeAll @2;
  # Removes tasks of any state for good; leases are revoked.
  redriveListed @3;
  # As `redrive`, for the tasks in `tasks`; so are the next three.
  purgeListed @4;
  countRedrive @5;
  # `changed` is the number of tasks that `redriveListed` would redrive; the next: `purgeListed`.
  countPurge @6;
}

struct DeadTask {
  # A dead task as a list showed it.
  seq @0 :UInt64;
  token @1 :UInt64;
  # Token of its last lease; a task with another one is left alone.
}

struct BulkRequest {
  # Make the same change to many tasks of one shard, one part per request. Reply: BulkReply with the
  # same number, when the change is durable.
  number @0 :UInt64;
  shard @1 :UInt16;
  what @2 :BulkKind;
  filter @3 :TaskFilter;
  # Its state must be `anyState`; `what` determines the states.
  operation @4 :UInt64;
  # The same random number in all parts of one command, which the audit log then shows as one; 0:
  # this request is a command of its own.
  tasks @5 :List(DeadTask);
  # With `what` about a list: 1..1000, ascending; those outside of the filter's queues are left out.
}

struct BulkReply {
  number @0 :UInt64;
  code @1 :Common.ErrorCode;
  context @2 :Text;
  # When `code` is set: why nothing was changed; ignore the other fields.
  changed @3 :UInt64;
  # Number of tasks changed.
  after @4 :UInt64;
  # Where the next part begins.
  more @5 :Bool;
  # False when no further tasks can match the filter.
}

struct ListRequest {
  # Reply: ListReply with the same number.
  number @0 :UInt64;
  shard @1 :UInt16;
  filter @2 :TaskFilter;
}

struct TaskView {
  # A task's status without the text of its latest outcome.
  seq @0 :UInt64;
  queue @1 :Common.QueueAddress;
  priority @2 :UInt8;
  state @3 :Task.TaskState;
  attempt @4 :UInt16;
  maxAttempts @5 :UInt16;
  token @6 :UInt64;
  enqueuedAtMs @7 :Int64;
  eligibleAtMs @8 :Int64;
  # 0 when the task does not wait for a time.
  worker @9 :Text;
  lostInRow @10 :UInt8;
  group @11 :Data;
  key @12 :Data;
  endedAtMs @13 :Int64;
  # In a list: when an ended task ended; else 0. `worker` is then also that of a completed task.
  error @14 :Data;
  # In a list: the latest error text of a dead task, or with a filter by error; at most 1 KiB.
  cancelRequested @15 :Bool;
  # A cancel of the leased task was requested; its worker was asked to stop.
  fairnessKey @16 :Data;
  fairnessWeight @17 :UInt16 = 1;
  limits @18 :List(Task.TaskLimit);
}

struct ListReply {
  number @0 :UInt64;
  code @1 :Common.ErrorCode;
  context @2 :Text;
  # When `code` is set: why there is no list; ignore the other fields.
  tasks @3 :List(TaskView);
  after @4 :UInt64;
  # Where the next part begins.
  more @5 :Bool;
  # False when no further tasks can match the filter. True with fewer tasks than requested: the part
  # examined as many records as one request may.
  knowsAllFilters @6 :Bool;
  # Set by coordinators that evaluate all fields of the filter and list ended tasks; older ones
  # ignored what they did not know.
}

struct ExplainRequest {
  # Explain why the task does not run at this moment. Reply: ExplainReply with the same number.
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
  # `blocker`, an earlier task of its group, has not ended.
  blocked @3;
  # `blocker`, an earlier task of its group, is dead and blocks it.
  queuePaused @4;
  noWorker @5;
  # No connected worker claims from its queue.
  queueAtMaxLeased @6;
  # The queue has as many leases as its settings allow.
  noFreeSlots @7;
  # All workers that claim from its queue are busy.
  next @8;
  # It is granted in the next turn.
  leased @9;
  # view.worker runs it; the lease ends in leaseLeftMs if no further heartbeat arrives.
  completed @10;
  dead @11;
  cancelled @12;
  limited @13;
  # The limit `limitName` holds it back.
  fairness @14;
  # The slots are taken, and tasks of other fairness keys than `fairnessKey` get the next one.
}

struct ExplainReply {
  number @0 :UInt64;
  code @1 :Common.ErrorCode;
  context @2 :Text;
  # When `code` is set: why there is no explanation; ignore the other fields.
  shard @3 :UInt16;
  reason @4 :TaskReason;
  view @5 :TaskView;
  untilMs @6 :Int64;
  blocker @7 :UInt64;
  # Sequence of a task of the same shard.
  blockerState @8 :Task.TaskState;
  leaseLeftMs @9 :UInt64;
  queue @10 :QueueSettings;
  workers @11 :UInt32;
  # Number of connected workers that claim from its queue.
  limitName @12 :Text;
  # With `limited`: the limit and its key; `untilMs` is when the key admits the next start, 0 when a
  # lease has to end first.
  limitKey @13 :Data;
  limitBefore @14 :UInt64;
  # Number of tasks that the key holds back before this one.
  waitsAtWorker @15 :Bool;
  # With `leased`: the worker said with its last heartbeat that the task waits there for a slot.
  fairnessKey @16 :Data;
  # With `fairness`: the key under which the task takes its turns.
  fairnessBefore @17 :UInt64;
  # Number of turns of other keys before the next one of that key.
  fairnessWaitMs @18 :UInt64;
  # Maximum time until a task of the key starts.
}

struct EventsRequest {
  # Read the task's history. Reply: EventsReply with the same number.
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
  # The lease expired, or its worker was replaced.
  revoked @8;
  cancelRequested @9;
  cancelled @10;
  rescheduled @11;
  # Promoted, or deferred by a duplicate.
  redriven @12;
  forcedToComplete @13;
  forcedToFail @14;
  timedOut @15;
  # The attempt exceeded its run timeout or its progress timeout.
  payloadReplaced @16;
  # Replaced by a duplicate.
  limited @17;
  # Its handler gave it back, and closed its limit key.
}

enum TaskEventAuthor @0x98a1b2c3d4e5f60b {
  # Mirrors `codeq::task_event::author`.
  coordinator @0;
  producer @1;
  worker @2;
  operatorUser @3;
  # A user or tool that asked for a change of the task.
}

struct EventsReply {
  number @0 :UInt64;
  code @1 :Common.ErrorCode;
  context @2 :Text;
  # When `code` is set: why there is no history; ignore the other fields.
  events @3 :List(Event);
  # In order: the enqueue, then as many of the latest events as are kept.
  dropped @4 :UInt64;
  # Number of events after the enqueue that are no longer kept.
  state @5 :Task.TaskState;
  # Current state of the task.
  untilMs @6 :Int64;
  # 0 when the task does not wait for a time.

  struct Event {
    atMs @0 :Int64;
    kind @1 :TaskEventKind;
    attempt @2 :UInt16;
    token @3 :UInt64;
    worker @4 :Text;
    text @5 :Data;
    # Result or error text of an attempt that ended, cut to 1 KiB with a mark.
    by @6 :TaskEventAuthor;
    state @7 :Task.TaskState;
    # State of the task after the event.
    untilMs @8 :Int64;
    # With `scheduled`: when the task becomes eligible.
    subject @9 :Text;
    # With `operatorUser`: who asked for the change, the holder of the token.
  }
}

struct AuditRequest {
  # Read operators' commands of the last 30 days, latest first. An admin of one tenant gets the
  # commands that changed something of this tenant. Reply: AuditReply with the same number.
  number @0 :UInt64;
  shard @1 :UInt16;
  # Any shard; the reply covers all that the store of its coordinator has.
  sinceMs @2 :Int64;
  # Only commands from this shard time on; 0: no bound.
  afterMs @3 :Int64;
  afterOperation @4 :UInt64;
  # Only commands before this one: where the previous reply ended; 0: from the latest on.
  limit @5 :UInt32;
  # Maximum number of commands, 1..1000.
  tenant @6 :Text;
  # Only commands that changed something of this tenant; empty: all that my token may see.
  ofShard @7 :Bool;
  # Only what `shard` has of them, so that the replies of all shards, of whatever coordinators, add
  # up.
}

enum OperatorAction @0xb9d4c6e7f8a90b1d {
  # Mirrors `codeq::operator_action`.
  cancel @0;
  promote @1;
  redrive @2;
  purge @3;
  forceRevoke @4;
  forceComplete @5;
  forceFail @6;
  queueSet @7;
  queuePause @8;
  queueResume @9;
  deadRedrive @10;
  deadPurge @11;
  queuePurge @12;
  tenantPurge @13;
  backup @14;
  scheduleSet @15;
  schedulePause @16;
  scheduleResume @17;
  scheduleDelete @18;
  scheduleRun @19;
  scheduleBackfill @20;
  logLevel @21;
  limitSet @22;
  limitDelete @23;
  limitClose @24;
  limitOpen @25;
  clusterChange @26;
  workerDrain @27;
  workerResume @28;
}

struct AuditReply {
  number @0 :UInt64;
  code @1 :Common.ErrorCode;
  context @2 :Text;
  # When `code` is set: why there is no list; ignore the other fields.
  commands @3 :List(Command);
  more @4 :Bool;
  # There may be earlier ones, before the last command here or the place below.
  afterMs @5 :Int64;
  afterOperation @6 :UInt64;
  # Where the next request continues.
  ofShard @7 :Bool;
  # The reply has the commands of the shard that was asked, as requested. Older versions do not know
  # that request, and reply with those of all shards in their store.

  struct Command {
    atMs @0 :Int64;
    operation @1 :UInt64;
    action @2 :OperatorAction;
    tenant @3 :Text;
    queue @4 :Text;
    shard @5 :UInt16;
    task @6 :UInt64;
    # Sequence of the task, on that shard; 0: not exactly one.
    changed @7 :UInt64;
    subject @8 :Text;
    bearerTenant @9 :Text;
    remote @10 :Text;
    detail @11 :Text;
  }
}

struct BackupRequest {
  # Read the status of the latest backup, or start one. Reply: BackupReply with the same number.
  number @0 :UInt64;
  start @1 :Bool;
  # Start a backup now, into the directory that the coordinator is configured with.
  list @2 :Bool;
  # List the backups in that directory.
  isHold @3 :Bool;
  holdMs @4 :UInt32;
  # With `isHold`: for so long from now no shard that the coordinator serves takes follow-ups from
  # others, or drops those that others have taken, so that backups of several coordinators fit
  # together; 0 ends that.
  run @5 :UInt64;
  # With `start`: the backup of a cluster that this one is a part of; 0: none. Kept with the backup.
}

enum BackupState @0xa7c3d5e1f2046b8d {
  # Mirrors `codeq::backup_state`.
  none @0;
  running @1;
  done @2;
  failed @3;
}

struct BackupReply {
  # Status of the latest backup since the coordinator was started.
  number @0 :UInt64;
  code @1 :Common.ErrorCode;
  context @2 :Text;
  # When `code` is set: why no backup was started; ignore the other fields.
  state @3 :BackupState;
  backup @4 :UInt32;
  # Number of the backup.
  bytes @5 :UInt64;
  # Size of all its files, including those that it shares with earlier backups.
  files @6 :UInt32;
  problem @7 :Text;
  # Why the backup failed.
  backups @8 :List(Backup);
  # With `list`: all backups in the directory, oldest first.

  hold @9 :UInt64;
  # With `isHold`: the number of the hold; another one when the hold was interrupted. 0 without one.
  node @10 :Text;
  # Name of the coordinator in its cluster; empty when it is alone.
  isFixed @11 :Bool;
  # What the backup will contain does not change any more, though it may still be copied.

  struct Backup {
    number @0 :UInt32;
    bytes @1 :UInt64;
    files @2 :UInt32;
    atMs @3 :Int64;
    # When it was made, in wall-clock time.
  }
}

struct LogLevelRequest {
  # Read or change the level of the coordinator's log. Reply: LogLevelReply with the same number.
  number @0 :UInt64;
  level @1 :Text;
  # The new level, until the coordinator stops: trace, debug, info, warn, error or off. Empty: only
  # read it.
}

struct LogLevelReply {
  number @0 :UInt64;
  code @1 :Common.ErrorCode;
  context @2 :Text;
  # When `code` is set: why the level was not changed; ignore the other field.
  level @3 :Text;
  # The level from now on.
}
