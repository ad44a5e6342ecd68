# SPDX-License-Identifier: Apache-2.0
@0xd4a15f7b0c92e638;

using Common = import "common.capnp";
using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("codeq::schema");

# Messages between coordinators of a cluster about claims of HTTP workers.

struct ClaimAt {
  # From the gateway of another coordinator: a claim of an HTTP worker acts at one of your shards,
  # as a worker's session does at its own coordinator. Reply: ClaimNews.
  claim @0 :UInt64;
  # Number of the claim at the gateway.
  attachment @1 :UInt32;
  # Counts the attachments of the claim to shards, from 1. ClaimNews repeats it.
  shard @2 :UInt16;
  union {
    attach @3 :Attach;
    # The first message of an attachment.
    credits @4 :Credits;
    # I can take this many more tasks from this shard.
    revoke @5 :UInt32;
    # Return this many unused credits.
    question @6 :UInt64;
    # Send this number back, behind everything that you have sent before.
    received @7 :UInt32;
    # I have taken the tasks of this many messages of the attachment, in total.
    detach @8 :Void;
    # The last message of the attachment. Give back, uncharged, the tasks that I have not
    # `received`. The end of the connection means the same for all of its attachments.
  }

  struct Attach {
    worker @0 :Text;
    incarnation @1 :UInt64;
    queues @2 :List(Common.QueueAddress);
    prefixes @3 :List(Common.QueueAddress);
    # As in Hello.
  }

  struct Credits {
    count @0 :UInt32;
    leaseMs @1 :UInt64;
    # As in ClaimRequest.
    roomBytes @2 :UInt64;
    # Room for this many more bytes of tasks; the last task may exceed it.
    reachesAll @3 :Bool;
    # As `ClaimRequest.reach`.
  }
}

struct ClaimNews {
  # For an attachment of a claim, to the gateway that has made it by `ClaimAt`.
  claim @0 :UInt64;
  attachment @1 :UInt32;
  shard @2 :UInt16;
  union {
    credits @3 :Credits;
    tasks @4 :Tasks;
    answer @5 :Answer;
    left @6 :Left;
    # The attachment has ended. Its unused credits are void.
  }

  struct Credits {
    what @0 :What;
    count @1 :UInt32;
    by @2 :UInt16;
    # With `outranked`: a shard.
    priority @3 :UInt8;
    beingRead @4 :Int64;
    # Change of the number of granted tasks that are read from the store before they are sent.

    enum What {
      drained @0;
      # No more tasks are ready for the claim; its credits wait here.
      hasWork @1;
      # Tasks are ready for it.
      returned @2;
      # `count` credits are returned.
      outranked @3;
      # The same; the first task here, of `priority`, comes after one on the shard `by`.
    }
  }

  struct Tasks {
    batch @0 :Data;
    # The body of a TaskBatch. The claim holds the leases once you have `received` it.
    bytes @1 :UInt64;
    # The room that the tasks have used.
    tellsMore @2 :Bool;
    more @3 :Bool;
    # Whether more tasks are ready, if `tellsMore`; otherwise I have said so before.
    wasRead @4 :Bool;
    # The tasks were counted by `beingRead`.
  }

  struct Answer {
    number @0 :UInt64;
    # The number of the `question` that is answered.
    awaitsSlots @1 :Bool;
    # The shard has tasks, and has asked another one for leases of their queue.
    lacksCopies @2 :Bool;
    # Too few copies of the shard are in sync, so that it grants no leases.
  }

  struct Left {
    code @0 :Common.ErrorCode;
    # notOwner: I do not serve the shard. Otherwise the claim is refused, for that reason.
    context @1 :Text;
  }
}
