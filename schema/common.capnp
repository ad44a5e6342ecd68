# SPDX-License-Identifier: Apache-2.0
@0xb2c9f0a1d3e45f60;

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("codeq::schema");

# Ids, times and error codes that messages and records share. Times are in milliseconds: durations,
# and shard times since 1970.

enum ErrorCode @0xd7f3a1b2c4e59607 {
  # Mirrors `codeq::errc` by name; a test compares every name. The numbers differ: new codes are
  # only appended.
  none @0;
  invalidArgument @1;
  tooLarge @2;
  protocolError @3;
  unauthorized @4;
  unsupported @5;
  staleLease @6;
  unknownTask @7;
  duplicate @8;
  keyTaken @9;
  sessionExpired @10;
  nameInUse @11;
  superseded @12;
  already @13;
  overloaded @14;
  queueFull @15;
  goingAway @16;
  disconnected @17;
  timeout @18;
  diskFull @19;
  ioError @20;
  corruption @21;
  incompatibleStore @22;
  unavailable @23;
  unknownQueue @24;
  unknownSchedule @25;
  notOwner @26;
  unknownLimit @27;
  notCompleted @28;
}

struct TaskId {
  shard @0 :UInt16;
  seq @1 :UInt64;
}

struct SeqRun {
  # The tasks first .. first + count - 1 of one shard.
  first @0 :UInt64;
  count @1 :UInt32;
}

struct ProducerId {
  # Identifies a producer session.
  high @0 :UInt64;
  # `high`: the upper 48 bits are the session's creation time, in shard time as received in
  # `HelloAck`; all other bits are random. `high` = 0 is reserved for the coordinator's own
  # sessions.
  low @1 :UInt64;
}

struct WorkerIdentity {
  name @0 :Text;
  incarnation @1 :UInt64;
}

struct QueueAddress {
  tenant @0 :Text;
  queue @1 :Text;
}

struct Packed {
  # Many byte strings in one buffer: string i is bytes[ends[i-1] .. ends[i]], so any run of them is
  # one contiguous slice that can be forwarded unchanged.
  ends @0 :List(UInt32);
  bytes @1 :Data;
}
