# SPDX-License-Identifier: Apache-2.0
@0x9f1e2d3c4b5a6978;

using Cxx = import "/capnp/c++.capnp";
using Checkpoint = import "checkpoint.capnp";
using Claim = import "claim.capnp";
using Cluster = import "cluster.capnp";
using Common = import "common.capnp";
using Limit = import "limit.capnp";
using Operator = import "operator.capnp";
using Replication = import "replication.capnp";
using Schedule = import "schedule.capnp";
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
  # The catalogue: every type that may cross a connection. The ordinals are the type numbers in
  # frames.
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
    workersRequest @39 :Operator.WorkersRequest;
    workersReply @40 :Operator.WorkersReply;
    auditRequest @41 :Operator.AuditRequest;
    auditReply @42 :Operator.AuditReply;
    logLevelRequest @43 :Operator.LogLevelRequest;
    logLevelReply @44 :Operator.LogLevelReply;
    scheduleRequest @45 :Schedule.ScheduleRequest;
    scheduleReply @46 :Schedule.ScheduleReply;
    replicaFrame @47 :Replication.ReplicaFrame;
    clusterMap @48 :ClusterMap;
    creditNews @49 :CreditNews;
    clusterRequest @50 :Cluster.ClusterRequest;
    clusterReply @51 :Cluster.ClusterReply;
    actingFor @52 :Cluster.ActingFor;
    limitRequest @53 :Limit.LimitRequest;
    limitReply @54 :Limit.LimitReply;
    claimAt @55 :Claim.ClaimAt;
    claimNews @56 :Claim.ClaimNews;
    heartbeatReply @57 :HeartbeatReply;
    shardEpochs @58 :ShardEpochs;
  }
}

enum Role @0xd1c2b3a495867718 {
  worker @0;
  producer @1;
  operator @2;
  coordinator @3;
  # Another coordinator of the cluster, for its replicas: it sends `ReplicaFrame` and gets none.
  gateway @4;
  # The HTTP gateway of another coordinator of the cluster, for clients of any tenant: it sends what
  # producers and operators send, and heartbeats and results under the tokens of leases.
}

struct Hello {
  # The first frame on a connection, from the side that dialled; at most 4 KiB, within 5 s.
  # Replies: HelloAck, or Refused and the connection is closed.
  minVersion @0 :UInt16;
  maxVersion @1 :UInt16;
  role @2 :Role;
  name @3 :Text;
  # Name of the node; `[A-Za-z0-9._-]{1,128}`. Unique among connected workers.
  incarnation @4 :UInt64;
  # Random number per process start. From a coordinator: counts the starts of its store.
  token @5 :Data;
  # Bearer token, at most 512 bytes; empty in single-user setups.
  queues @6 :List(Common.QueueAddress);
  # Queues that a worker handles.
  prefixes @7 :List(Common.QueueAddress);
  # It also handles all queues of the tenant whose names begin with `queue`, now and later; an empty
  # one means every queue. At most 64.
  cluster @8 :Text;
  # From a coordinator: name of its cluster; any other one is refused.
  copies @9 :Bool;
  # From a coordinator: this connection is for copies of shards, so that they delay no delta.
  takesMap @10 :Bool;
  # I heed `ClusterMap`. A coordinator of a cluster refuses a client that does not.
}

struct HelloAck {
  # The connection is accepted. Requests that follow are answered in order per shard.
  version @0 :UInt16;
  shardCount @1 :UInt16;
  coordinatorId @2 :UInt64;
  # Random number per start of the coordinator.
  storeId @3 :UInt64;
  # Random number, fixed when the store was created.
  pingIntervalMs @4 :UInt32;
  nowMs @5 :Int64;
  # Shard time, from which a producer derives its session id; 0: not given.
  tenant @6 :Text;
  # Tenant of the token that was shown; `*`: all tenants; empty: no token was needed.
  takesPrefixes @7 :Bool;
  # I heed `Hello.prefixes` and `ClaimRequest.prefixes`.
  node @8 :Text;
  # Name of this coordinator in its cluster, as in `ClusterMap`, which follows at once. Empty: it is
  # alone and serves every shard. In a cluster `shardCount` and `storeId` are the cluster's.
  takesClaims @9 :Bool;
  # I heed `ClaimAt`.
  takesReach @10 :Bool;
  # I heed `ClaimRequest.reach`.
  answersHeartbeats @11 :Bool;
  # I heed `HeartbeatRequest.number`.
  takesEpochs @12 :Bool;
  # I heed `ShardEpochs`.
}

struct Refused {
  # I refuse the connection for this reason and close it.
  code @0 :Common.ErrorCode;
  context @1 :Text;
}

struct Ping {
  # Reply at once: Pong with the same number.
  number @0 :UInt64;
}

struct Pong {
  number @0 :UInt64;
}

struct Goodbye {
  # I end the connection in order. From a worker: give its leases back. From a coordinator: it
  # stops; reconnect later.
  code @0 :Common.ErrorCode;
  finished @1 :Common.ProducerId;
  # From a producer: all requests of this session were sent on this connection only and have been
  # answered, and I send no more of them; forget the session. Zero: none.
}

struct EnqueueRequest {
  # Add these tasks to one shard, all or none. Reply: EnqueueReply, sent when they are durable. A
  # repeat with the same producer and number returns the first answer and adds nothing.
  producer @0 :Common.ProducerId;
  number @1 :UInt64;
  # Number of the request; starts at 1 and increases within the producer session.
  answeredBelow @2 :UInt64;
  # I have received the answers to all requests to this shard with smaller numbers; you may forget
  # them.
  shard @3 :UInt16;
  runs @4 :List(EnqueueRun);
  tasks @5 :Common.Packed;
  # One `TaskBody` per task, in the order of the runs.
}

struct EnqueueRun {
  # Fields shared by the next `count` tasks of the request.
  count @0 :UInt32;
  queue @1 :Common.QueueAddress;
  priority @2 :UInt8;
  settings @3 :Task.TaskSettings;
  notBeforeMs @4 :Int64;
  # Shard time; 0: now.
  delayMs @5 :UInt64;
  # Delay from the time of the coordinator's decision; excludes notBeforeMs.
  allowPromotion @6 :Bool;
  # Allows a promotion to lift notBeforeMs or delayMs, too.
  group @7 :Data;
  # At most one task of a group is leased at a time, in order of arrival; empty: no group. At most
  # 256 bytes. Determines the shard of the run.
  key @8 :Data;
  # Producer's key of the run's single task; empty: none. At most 256 bytes. Determines the shard of
  # a run without a group.
  onDuplicate @9 :OnDuplicate;
  # Policy for a key that already has a record.
  replacePayload @10 :Bool;
  # Lets a duplicate replace the body of an unleased record, too.
  leftToQueue @11 :UInt16;
  # Bit set of the `settings` fields that take the queue's value: 1 maxAttempts, 2 retry, 4 leaseMs,
  # 8 runTimeoutMs, 16 progressTimeoutMs, 32 retentionMs, 64 onDead, 128 deadRetentionMs. The values
  # sent in those fields are ignored.
  fairnessKey @12 :Data;
  # Ready tasks of one priority take turns by this key; at most 256 bytes.
  fairnessWeight @13 :UInt16 = 1;
  # Weight that the key has from now on, 1..1000.
  limits @14 :List(Task.TaskLimit);
  # The tasks start only when each of these admits them; at most 4, each name once. A run without
  # group and key belongs to the shard of its first limit's key.
}

enum OnDuplicate @0x93a4b5c6d7e80f1a {
  # Never renumber; mirrors `codeq::on_duplicate`.
  existing @0;
  reject @1;
  defer @2;
  promote @3;
  replaceEnded @4;
  # `existing` while the record is live; once it has ended, a new task takes the key.
}

struct EnqueueReply {
  # The tasks are durable; or, when `code` is set, the request was refused and nothing was added.
  number @0 :UInt64;
  shard @1 :UInt16;
  tasks @2 :List(Common.SeqRun);
  # Ids of the request's tasks, in order.
  code @3 :Common.ErrorCode;
  context @4 :Text;
  retryAfterMs @5 :UInt32;
  # With `overloaded`: wait at least this long before a repeat.
  kinds @6 :Data;
  # Outcome of each task, one byte each: 0 created, 1 existing, 2 deferred, 3 promoted, 4 unchanged,
  # 5 running, 6 duplicate. Empty when all were created. For a task that was not created, `tasks`
  # has the id of the record that already has its key.
}

struct ClaimRequest {
  # I can take this many more tasks. Credits add up; each task sent uses one. After a reconnect they
  # start from zero. Replies: TaskBatch, whenever there is work. With 0 credits I take no more tasks
  # on this connection, and unused credits are void.
  credits @0 :UInt32;
  leaseMs @1 :UInt64;
  # Requested lease duration; 0: the task's own.
  setsQueues @2 :Bool;
  # From now on I take tasks of `queues` only, in place of the queues named before. Such a request
  # with 0 credits does not void any.
  queues @3 :List(Common.QueueAddress);
  batchTasks @4 :UInt32;
  # Maximum number of tasks in one TaskBatch; 0: the coordinator's limit.
  prefixes @5 :List(Common.QueueAddress);
  # With `setsQueues`: as in Hello, in place of those named before.
  without @6 :List(Common.QueueAddress);
  # With `setsQueues`: queues, named above or matched by the prefixes, that the worker serves and
  # takes no tasks of for now.
  takeBack @7 :UInt32;
  # In a cluster: return this many of my unused credits, by CreditNews. Such a request with 0
  # credits does not void any.
  reach @8 :Reach;
  # Other than `same`: whether I am connected to the coordinators of all shards. Such a request with
  # 0 credits does not void any.

  enum Reach {
    same @0;
    # As I said before; `some` at first.
    some @1;
    all @2;
    # Leave me no task while one that comes first waits at another coordinator.
  }
}

struct CreditNews {
  # From a coordinator of a cluster to a worker, which spreads its credits over coordinators.
  returned @0 :UInt32;
  # This many of your credits are void, since you asked for them.
  wants @1 :Bool;
  # Tasks are ready for you here, and I have none of your credits; until I say that it is no longer
  # so.
}

struct TaskBatch {
  # You hold leases on these tasks.
  shard @0 :UInt16;
  redelivered @1 :Bool;
  # After a resume: you already held these leases without knowing it. They use no credits.
  runs @2 :List(TaskRun);
  tasks @3 :Common.Packed;
  # One `TaskBody` per task, in the order of the runs.
}

struct TaskRun {
  first @0 :UInt64;
  count @1 :UInt32;
  firstToken @2 :UInt64;
  # Task i of the run has the token firstToken + i.
  attempts @3 :List(UInt16);
  # One per task; empty when all are at attempt 1.
  queue @4 :Common.QueueAddress;
  priority @5 :UInt8;
  leaseMs @6 :UInt64;
  maxAttempts @7 :UInt16;
  enqueuedAtMs @8 :Int64;
  group @9 :Data;
  # Group of all tasks of the run; empty: none.
  key @10 :Data;
  # Producer's key of the run's single task; empty: none.
  checkpoints @11 :List(Checkpoint.TaskCheckpoint);
  # Checkpoints of the tasks of the run that have one.
}

struct TaskLease {
  seq @0 :UInt64;
  token @1 :UInt64;
}

enum LeasePhase @0x8a7b6c5d4e3f2011 {
  running @0;
  queued @1;
  # Received, but not started: such a lease ends uncharged, for whatever reason it ends.
}

struct HeartbeatRequest {
  # Extend these leases; their handlers are alive. Replies: LeasesLost for the leases that cannot be
  # extended; for the others HeartbeatReply if there is a number, else nothing.
  shard @0 :UInt16;
  leases @1 :List(Beat);

  struct Beat {
    seq @0 :UInt64;
    token @1 :UInt64;
    phase @2 :LeasePhase;
    progressed @3 :Bool;
    # The handler has reported progress since the last heartbeat.
    extendMs @4 :UInt64;
    # Extends the lease by this much from now, 1 s to 12 h, when that is longer than the lease
    # duration. 0: by the lease duration.
  }

  progress @2 :List(Progress);
  # Progress of handlers, for clients that watch the tasks; not stored. At most one per lease.

  struct Progress {
    seq @0 :UInt64;
    token @1 :UInt64;
    percent @2 :UInt8;
    note @3 :Text;
    # At most 1 KiB.
  }

  checkpoints @3 :List(Checkpoint.LeaseCheckpoint);
  # Checkpoints that handlers saved. Replies: CheckpointsSaved when they are durable, or when there
  # is no room for them; LeasesLost for leases that have ended. At most 8 MiB of checkpoints in one
  # request.
  number @4 :UInt64;
  # Chosen by the worker, which may count its leases from the time when it sent this. 0: no reply.
}

struct HeartbeatReply {
  # I have extended these leases by the request with this number. It is only sent while no other
  # coordinator may serve the shard: a worker that gets none ends its attempts when their leases
  # end, since others may have the tasks by then.
  shard @0 :UInt16;
  number @1 :UInt64;
  leases @2 :List(TaskLease);
}

struct LeasesLost {
  # You no longer hold these leases; stop their handlers and report nothing.
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
  limited @6;
  # The task is given back uncharged, and its limit key is closed; see `Report.limitName`.
}

struct ResultRequest {
  # How these attempts ended. I keep and resend each report until a ResultReply answers it.
  shard @0 :UInt16;
  reports @1 :List(Report);
  texts @2 :Common.Packed;
  # Result or error text of each report, in order.

  struct Report {
    seq @0 :UInt64;
    token @1 :UInt64;
    disposition @2 :Disposition;
    delayMs @3 :Int64 = -1;
    # With nack: the handler's own delay; negative: the retry policy's delay. With limited: how long
    # the limit key is closed.
    started @4 :Bool = true;
    # False: the attempt never began and is not charged.
    followUps @5 :FollowUps;
    # With completed: enqueue these tasks in the same write as the result. When one of them is
    # refused, the report is refused, too, and the lease stays.
    checkpointNumber @6 :UInt32;
    checkpoint @7 :Data;
    # The attempt's latest checkpoint, if it is not known to be saved; as in a heartbeat. Number 0:
    # none. Ignored when the task ends.
    limitName @8 :Text;
    # With limited: the limit of the task whose key is closed; empty: the task's first one. A task
    # without limits only waits.
    costs @9 :List(Task.TaskLimit);
    # Actual costs of the attempt, by the names of limits of the task. They replace the task's own
    # costs; `key` is ignored. A cost of 0 is allowed here.
  }
}

struct FollowUps {
  # Tasks without key and group stay on the shard of the completed task; every other task goes to
  # the shard of its group or key.
  runs @0 :List(EnqueueRun);
  tasks @1 :Common.Packed;
  # One `TaskBody` per task, in the order of the runs; at most 64 tasks and 8 MiB.
}

struct ResultReply {
  # Each report is durable, or refused for good; forget it in both cases. When a report was refused
  # for its content, the lease stays: report another outcome.
  shard @0 :UInt16;
  answers @1 :List(Answer);

  struct Answer {
    seq @0 :UInt64;
    token @1 :UInt64;
    code @2 :Common.ErrorCode;
    # none: accepted now; already: accepted before; staleLease, unknownTask: refused;
    # invalidArgument, tooLarge: refused for its content.
    context @3 :Text;
    # Names the field that was refused.
  }
}

struct ResumeRequest {
  # Sent after a reconnect, once the unanswered results have been resent: the leases that I hold.
  # Replies: a LeasesLost for leases unknown to you, a TaskBatch for leases unknown to me, then
  # ResumeReply. At most one per shard and connection; with another one you close the connection.
  # You deliver at most 8 MiB of the leases unknown to me, and give back the others uncharged.
  shard @0 :UInt16;
  leases @1 :List(TaskLease);
  epoch @2 :UInt32;
  # In a cluster: the epoch of the shard's place, as I know it. You ignore a request of an earlier
  # epoch than that in which you serve the shard. 0: I name none.
}

struct ResumeReply {
  shard @0 :UInt16;
}

struct AwaitRequest {
  # Notify me when each of these tasks ends, by TasksEnded; at once for those that have ended. Valid
  # until the connection ends.
  shard @0 :UInt16;
  seqs @1 :List(UInt64);
  progress @2 :Bool;
  # Also notify me of the progress of their handlers.
  withdraws @3 :Bool;
  # I no longer wait for these tasks; forget that I did. No reply.
}

struct TasksEnded {
  shard @0 :UInt16;
  tasks @1 :List(Ended);
  texts @2 :Common.Packed;
  # Result or error text of each task, in order.

  struct Ended {
    seq @0 :UInt64;
    state @1 :Task.TaskState;
    code @2 :Common.ErrorCode;
    # unknownTask: the task does not exist, or its retention has passed; ignore `state`.
    # overloaded: too many of the connection's look-ups wait; await the task again after a while.
    attempt @3 :UInt16;
    percent @4 :UInt8;
    # With the state `leased`: the task has not ended; this is its handler's progress, and the text
    # is the handler's note. Sent only to clients that asked for progress.
  }
}

struct ShardEpochs {
  # From a client of a cluster: I send what follows on this connection for these shards to their
  # places in these epochs. If you serve a shard in a later one, ignore it: the network has held it
  # up while the shard was elsewhere. When I hear of the later epoch, I send again, or give up, what
  # you have not answered.
  shards @0 :List(Line);

  struct Line {
    shard @0 :UInt16;
    epoch @1 :UInt32;
  }
}

struct CancelNotice {
  # Stop the handler of this lease; report `cancelled` or `completed` within the grace.
  shard @0 :UInt16;
  lease @1 :TaskLease;
  graceMs @2 :UInt64;
}

struct ClusterMap {
  # Where shards are served. From a coordinator of a cluster to a client: all places that it knows
  # directly after `HelloAck`, later those that have changed, and the place of a shard in front of
  # an answer with `notOwner`. Per shard the place with the highest `version` counts.
  shards @0 :UInt16;
  # Number of shards of the cluster.
  nodes @1 :List(Node);
  # The coordinators of `places`, each once.
  places @2 :List(Place);
  # Ascending by shard. A shard that is missing keeps its known place.
  notHere @3 :List(UInt16);
  # I do not serve these shards. I have answered all that I will of your messages about them on this
  # connection: claims, results, heartbeats, resumes and awaited tasks. Send what is open to their
  # places.

  struct Node {
    name @0 :Text;
    address @1 :Text;
    # Where clients connect, `host:port`; at most 255 bytes.
    httpAddress @2 :Text;
    # Empty: it serves no HTTP.
  }

  struct Place {
    shard @0 :UInt16;
    node @1 :UInt16;
    # Index in `nodes`.
    epoch @2 :UInt32;
    # Counts the primaries of the shard; what is unanswered from an earlier one is to be resent.
    version @3 :UInt64;
  }
}
