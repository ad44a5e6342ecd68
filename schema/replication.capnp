# SPDX-License-Identifier: Apache-2.0
@0xf1a6b3c7d2e84950;

using Cxx = import "/capnp/c++.capnp";
using Common = import "common.capnp";
using Schedule = import "schedule.capnp";
using Task = import "task.capnp";
$Cxx.namespace("codeq::schema");

# Messages between the replicas of a shard, from one coordinator to another, and between shards that
# different coordinators serve. The rules are in `libcodeq/src/replication` and in
# `libcodeq/src/coordinator`. The incarnation is that of the connection's hello.

struct ReplicaFrame {
  # Many messages, of any shards, in the order in which they were sent.
  ends @0 :List(UInt32);
  # Where each message ends within `messages`.
  messages @1 :Data;
  # Each one is a `ReplicaMessage` of its own, of a single segment and without its segment table.
  heads @2 :ReadyHeads;
  # Null: no news.
}

struct ReadyHeads {
  # The first ready tasks of queues on the shards that the sender serves, so that other coordinators
  # leave it the workers for those that come first. They do not count while the coordinator has sent
  # no such news, not even without `heads`, for 400 ms.
  isWhole @0 :Bool;
  # Earlier news are void.
  heads @1 :List(ReadyHead);
  # At most 512. The others are as they were.
}

struct ReadyHead {
  queue @0 :Common.QueueAddress;
  isReady @1 :Bool;
  # Otherwise there is no such task any more, and the rest means nothing.
  priority @2 :UInt8;
  isTurn @3 :Bool;
  # Fairness keys take turns in the queue; `enqueuedAtMs` means nothing.
  enqueuedAtMs @4 :Int64;
  shard @5 :UInt16;
}

struct ReplicaMessage {
  shard @0 :UInt16;
  union {
    append @1 :ReplicaAppend;
    confirm @2 :ReplicaConfirm;
    reject @3 :ReplicaReject;
    copyOffer @4 :ReplicaCopyOffer;
    trust @5 :ReplicaTrust;
    collect @6 :ReplicaCollect;
    collected @7 :ReplicaCollected;
    question @8 :ReplicaQuestion;
    answer @9 :ReplicaAnswer;
    elected @10 :ReplicaElected;
    release @11 :ReplicaRelease;
    copyPart @12 :ReplicaCopyPart;
    copyAnswer @13 :ReplicaCopyAnswer;
    neighbour @16 :NeighbourMessage;
    # From another shard to the primary of this one; `from` and `to` are 0. Dropped when the shard
    # is not served here; what matters is sent again.
    copyQuestion @17 :ReplicaCopyQuestion;
  }
  from @14 :UInt64;
  to @15 :UInt64;
  # Identities of the two replicas. A message for another replica than the one that is there is
  # dropped: an emptied disk is another replica.
}

struct ReplicaPosition {
  # Place of a delta in the history of its shard.
  epoch @0 :UInt32;
  number @1 :UInt64;
}

struct ReplicaAppend {
  # From a primary: deltas in order, or none. Answered by a confirm or a reject.
  epoch @0 :UInt32;
  beacon @1 :UInt64;
  deltas @2 :List(Data);
  # Each one is a `DeltaRecord`, as files contain it.
  shardTimeMs @3 :Int64;
  # The primary's shard time; 0 before it serves.
}

struct ReplicaConfirm {
  # Everything up to `written` is as durable as the durability mode wants it.
  epoch @0 :UInt32;
  beacon @1 :UInt64;
  # The beacon that is answered; 0: none, a write is through.
  written @2 :ReplicaPosition;
  doubtful @3 :Bool;
  incomplete @4 :Bool;
  # The replica needs a copy; `written` says nothing then.
}

struct ReplicaReject {
  # Answers what comes from an older epoch.
  promised @0 :UInt32;
}

struct ReplicaCopyId {
  replica @0 :UInt64;
  incarnation @1 :UInt64;
  number @2 :UInt64;
}

struct ReplicaCopyOffer {
  # From a primary: the replica is to be copied. Answered by a copyAnswer without parts when it is
  # ready for them, and not at all when it is not to be copied.
  epoch @0 :UInt32;
  id @1 :ReplicaCopyId;
  last @2 :ReplicaPosition;
  # The history of the copy: its last delta, and the first delta of each epoch.
  begins @3 :List(ReplicaPosition);
}

struct ReplicaTrust {
  # From a primary: a doubtful replica has all that is committed.
  epoch @0 :UInt32;
  committed @1 :ReplicaPosition;
}

struct ReplicaCollect {
  # From a winner that collects the promises of its set. Answered by collected or reject.
  epoch @0 :UInt32;
  last @1 :ReplicaPosition;
}

struct ReplicaCollected {
  epoch @0 :UInt32;
  last @1 :ReplicaPosition;
  deltas @2 :List(Data);
  # As in `ReplicaAppend`: those after the winner's last one.
  gone @3 :Bool;
  # They cannot be read any more.
}

struct ReplicaQuestion {
  # Asks a member about an election. Answered by an answer with the same number.
  number @0 :UInt64;
}

struct ReplicaAnswer {
  number @0 :UInt64;
  promised @1 :UInt32;
  last @2 :ReplicaPosition;
  doubtful @3 :Bool;
  hearsPrimary @4 :Bool;
}

struct ReplicaElected {
  # The shard's value, so that others need not wait until they read it.
  version @0 :UInt64;
  epoch @1 :UInt32;
  primary @2 :UInt64;
  inSync @3 :List(UInt64);
  replicas @4 :List(UInt64);
  minInSync @5 :UInt32;
  lossAccepted @6 :Bool;
}

struct ReplicaRelease {
  # From a primary: it answers nothing more in this epoch.
  epoch @0 :UInt32;
}

struct ReplicaCopyPart {
  # The next part of a copy, from 1. Answered by a copyAnswer when it is written.
  id @0 :ReplicaCopyId;
  number @1 :UInt32;
  writes @2 :Data;
  # Packed as in `DeltaRecord`; empty with `isLast`.
  isLast @3 :Bool;
}

struct ReplicaCopyQuestion {
  # From the sender of a copy whose taker has not answered for a while, behind the parts that were
  # sent. Answered by a copyAnswer.
  id @0 :ReplicaCopyId;
  parts @1 :UInt32;
  # Number of parts that were sent.
}

enum ReplicaCopyState {
  written @0;
  arrived @1;
  clearing @2;
  # The own data are being removed.
  unknown @3;
  # There is no such copy.
  whole @4;
  # All is written.
}

struct ReplicaCopyAnswer {
  id @0 :ReplicaCopyId;
  parts @1 :UInt32;
  # Number of parts that are written; with `clearing` of the steps so far.
  isWhole @2 :Bool;
  # As `state` says; for coordinators that do not know `state`.
  state @3 :ReplicaCopyState;
  arrived @4 :UInt32;
  # With `arrived`: number of parts that have arrived.
  asked @5 :UInt32;
  # With `arrived`: `parts` of the question.
}

struct NeighbourMessage {
  shard @0 :UInt16;
  # The shard that says it.
  epoch @1 :UInt32;
  # The epoch in which that shard is served. What comes from an older one than is known is dropped.
  union {
    followUps @2 :FollowUps;
    taken @3 :Taken;
    watchEnds @4 :List(UInt64);
    # I want to know when these tasks end. Answered by `ends`, now or later, as long as the shard is
    # served by the same coordinator.
    ends @5 :List(End);
    cancel @6 :UInt64;
    # Cancel this task.
    settings @7 :Settings;
    # From shard 0: all settings of queues and limits that differ from the defaults. Sent again
    # until `settingsTaken` comes with the same version.
    settingsTaken @8 :UInt64;
    # The settings of that version are in force on my shard.
    pause @9 :Pause;
    # The breaker of a queue has paused it on my shard. Sent once.
    askPermits @10 :AskPermits;
    givePermits @11 :GivePermits;
  }

  struct Settings {
    version @0 :UInt64;
    # Grows with each change, also over epochs.
    queues @1 :List(Setting);
    limits @2 :List(Setting);
    part @3 :UInt32;
    # Number of the message among those of this version, from 0; they come in order.
    isLast @4 :Bool;
    # With this one the settings are taken over, and others end.
  }

  struct Setting {
    tenant @0 :Text;
    name @1 :Text;
    # Name of the queue or the limit.
    record @2 :Data;
    # A `QueueRecord` or `LimitRecord`, as the store contains it. The time of a queue is that of the
    # latest resume by an operator, by the sender's clock, since its start; 0: none. What its
    # breaker counted before is void. The time of a limit means nothing.
  }

  struct Pause {
    queue @0 :Common.QueueAddress;
    reason @1 :Text;
    # As in `QueueSettings`.
  }

  struct FollowUps {
    # Tasks that a completion or a schedule of mine adds to the shard. Sent again until `taken`
    # comes with the same number.
    number @0 :UInt64;
    answeredBelow @1 :UInt64;
    # The shard has taken all smaller numbers.
    record @2 :Data;
    # A `FollowUpRecord` with the tasks of that shard.
  }

  struct Taken {
    # The tasks are synced on all replicas in sync, in both durability modes.
    number @0 :UInt64;
    tasks @1 :List(UInt64);
    # Their sequences, in order; empty when they are not known any more.
  }

  struct End {
    task @0 :UInt64;
    how @1 :Schedule.OccurrenceState;
  }

  struct AskPermits {
    # I want permits of limit keys of the shard, and return others. Sent again, with a greater
    # number, until `givePermits` has heard it.
    session @0 :UInt32;
    number @1 :UInt64;
    isList @2 :Bool;
    # `held` is all that I have.
    held @3 :List(Permit);
    wanted @4 :List(Permit);
    returned @5 :List(Return);
    closed @6 :List(Closure);
    levels @7 :List(DepthLevel);
    # My levels in queues whose tasks the shard counts, at most 1,000. Others are as they were.
    recall @8 :UInt64;
    # I have followed the shard's recalls of permits up to this number; 0: none. Older versions
    # follow none.

    struct Permit {
      number @0 :UInt64;
      tenant @1 :Text;
      uses @2 :List(Task.TaskLimit);
      # As in `PermitRecord`.
      priority @3 :UInt8;
      further @4 :List(UInt64);
      # Numbers of further slots of the same queue. Older versions ignore them, and do not count
      # slots.
      queue @5 :Text;
      # With `wanted`: permits for tasks of different queues take turns. Older versions give all in
      # the order in which they came.
      fairnessKey @6 :Data;
      # Permits of different keys take turns, as the weights and the expected run time of a task
      # say.
      keyWeight @7 :UInt32 = 1;
      groupWeight @8 :UInt32 = 1;
      costMs @9 :UInt32 = 1;
    }

    struct Return {
      number @0 :UInt64;
      costs @1 :List(Task.TaskLimit);
      # Actual costs by the name of the limit; the keys are empty.
      isUnspent @2 :Bool;
    }

    struct Closure {
      tenant @0 :Text;
      use @1 :List(Task.TaskLimit);
      # Exactly one.
      forMs @2 :Int64;
    }
  }

  struct GivePermits {
    # Booked and synced on all replicas in sync, in both durability modes.
    session @0 :UInt32;
    # The session of the shard that asked.
    heard @1 :UInt64;
    given @2 :List(UInt64);
    wantsList @3 :Bool;
    countsSlots @4 :Bool;
    # I count the slots of queues. Older versions take them for a limit that is not defined, and
    # give as many as are wanted.
    depths @5 :List(DepthGrant);
    countsDepths @6 :Bool;
    # I count the live tasks of queues. With older versions each shard has a part of `maxDepth`.
    recalled @7 :List(Recall);
    # Return the permits of these limit keys that are not spent, and take none under the numbers
    # that you have asked for.
    recall @8 :UInt64;
    # Say this number with `askPermits` when you have followed, or a greater one. 0: you need not.

    struct Recall {
      tenant @0 :Text;
      limit @1 :Text;
      key @2 :Data;
    }
  }

  struct DepthLevel {
    # I have so many tasks of a queue, or room for them.
    tenant @0 :Text;
    queue @1 :Text;
    life @2 :UInt64;
    # Another one for each process, and each time that the queue gets a maximum.
    level @3 :UInt64;
    # Number of live tasks that I have, or may have without asking.
    granted @4 :UInt64;
    # Sum of what the shard gave me in this life, as far as I have heard. It is in `level`; what was
    # given since comes on top of it.
    wants @5 :UInt64;
    # I need room for so many further tasks now. 0: none, or no more.
    ask @6 :UInt32;
    # Number of what is wanted.
    recall @7 :UInt64;
    # The last recall that I have followed.
    maximum @8 :UInt64;
    # `QueueSettings.maxDepthWhole`, as far as I know it.
  }

  struct DepthGrant {
    tenant @0 :Text;
    queue @1 :Text;
    life @2 :UInt64;
    # 0: I know no level of the shard. Then only `recall` counts.
    granted @3 :UInt64;
    # Sum of what I gave in this life.
    recall @4 :UInt64;
    # Keep room for no more tasks than you have, and say a level. Greater for each recall; 0: none.
    answer @5 :DepthAnswer;
    ask @6 :UInt32;
    # The question that is answered; with `none`, by `granted`.
    left @7 :UInt64;
    # With `full`: there is room for so many tasks.
    isAnySilent @8 :Bool;
    # With `full`: shards did not answer a recall, and what they do not use counts as used.
  }

  enum DepthAnswer {
    none @0;
    full @1;
    # There is no room for as many tasks as are wanted.
    uncounted @2;
    # I know another maximum of the queue, or none. Use your part of it for a moment.
  }
}
