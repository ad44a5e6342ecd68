# SPDX-License-Identifier: Apache-2.0
@0xb2799439a433af02;

using Cxx = import "/capnp/c++.capnp";
using Common = import "common.capnp";
using Task = import "task.capnp";
$Cxx.namespace("codeq::schema");

# Schedules: what they do, and the requests of operators for them; a part of `protocol.capnp`, which
# has the catalogue. Comments speak from the sender's view.

struct ScheduleSpec {
  # A schedule without its name. Stored on disk in packed form; equal specs have equal bytes.
  rule @0 :Text;
  # When it fires: a cron expression or `every 90s`, then `; field=value` for other fields.
  misfire @1 :Text;
  # latest, all or skip.
  catchUpMs @2 :UInt64;
  # Nominal times that passed longer ago than this do not fire any more.
  overlap @3 :Text;
  # skip, allow, queue_one or cancel_previous.
  task @4 :Data;
  # The task of each occurrence: a `FollowUps` message with one task, which belongs to the
  # schedule's tenant and has no time.
}

struct ScheduleRequest {
  # Read or change a schedule, or list those of a shard. Reply: ScheduleReply with the same number,
  # when a change is durable. All but `run` and `backfill` may be repeated.
  number @0 :UInt64;
  shard @1 :UInt16;
  # The schedule's shard: that of its name as a key of the queue "" of its tenant.
  tenant @2 :Text;
  name @3 :Text;
  # Empty with `list`.
  operation @4 :UInt64;
  # As in `BulkRequest`.
  union {
    show @5 :Void;
    set @6 :ScheduleSpec;
    delete @7 :Void;
    pause @8 :Void;
    resume @9 :Void;
    run @10 :Void;
    # Fire now, once.
    backfill @11 :Range;
    # Fire the nominal times of the range; at most 1000.
    next @12 :Preview;
    history @13 :Void;
    list @14 :Page;
  }

  struct Range {
    fromMs @0 :Int64;
    untilMs @1 :Int64;
    # Exclusive.
  }

  struct Preview {
    count @0 :UInt32;
    # Number of the next occurrences, 1..1000.
    spec @1 :ScheduleSpec;
    # When set, those of this spec in place of the stored schedule's.
  }

  struct Page {
    after @0 :Text;
    # Only schedules with greater names.
    limit @1 :UInt32;
    # 1..1000.
  }
}

enum ScheduleResult @0xa3cde9ca67dccd8e {
  # Mirrors `codeq::schedule_result`.
  unchanged @0;
  created @1;
  changed @2;
  deleted @3;
  fired @4;
}

enum OccurrenceState @0xe16f0e3d8e1a9a5c {
  # Mirrors `codeq::occurrence_state`.
  running @0;
  completed @1;
  dead @2;
  cancelled @3;
  ended @4;
  skippedOverlap @5;
  skippedMisfire @6;
  waiting @7;
}

enum OccurrenceCause @0xc9b6a1d27f304e18 {
  # Mirrors `codeq::occurrence_cause`.
  due @0;
  runNow @1;
  backfill @2;
}

struct ScheduleTime {
  nominal @0 :Text;
  # Local time by which the occurrence is known.
  atMs @1 :Int64;
  # When it is due.
  local @2 :Text;
  # The same on the local clock, with its offset.
}

struct ScheduleOccurrence {
  number @0 :UInt64;
  when @1 :ScheduleTime;
  decidedAtMs @2 :Int64;
  cause @3 :OccurrenceCause;
  state @4 :OccurrenceState;
  count @5 :UInt64;
  # Number of consecutive nominal times that a skipped entry stands for.
  task @6 :Common.TaskId;
  # Sequence 0: none, or not confirmed yet.
  endedAtMs @7 :Int64;
  # 0: not ended.
}

struct ScheduleReply {
  number @0 :UInt64;
  code @1 :Common.ErrorCode;
  context @2 :Text;
  # When `code` is set: why nothing was done; ignore the other fields.
  result @3 :ScheduleResult;
  schedules @4 :List(View);
  # One, or those of the list. With `next` only its times are set.
  more @5 :Bool;
  # A list: there are schedules after the last one.
  history @6 :List(ScheduleOccurrence);
  # With `history`: the latest entries, in order.

  struct View {
    name @0 :Text;
    spec @1 :ScheduleSpec;
    paused @2 :Bool;
    next @3 :List(ScheduleTime);
    latest @4 :ScheduleOccurrence;
    # Unset when the history is empty.
    running @5 :UInt32;
    # Number of occurrences whose tasks have not ended.
    hasWaiting @6 :Bool;
    occurrences @7 :UInt64;
    # Number of all entries of its history so far.
  }
}
