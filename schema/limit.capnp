# SPDX-License-Identifier: Apache-2.0
@0xd18c5b7a3e6f4092;

using Cxx = import "/capnp/c++.capnp";
using Common = import "common.capnp";
using Task = import "task.capnp";
$Cxx.namespace("codeq::schema");

# Requests about the limits of a tenant; a part of `protocol.capnp`, which has the catalogue. Every
# shard has all definitions; a limit key is on the shard that owns it. Comments speak from the
# sender's view.

struct LimitRequest {
  # Reply: LimitReply with the same number, when a change is durable. A repeat is harmless.
  number @0 :UInt64;
  shard @1 :UInt16;
  # With `close` and `open`: the shard that owns the key.
  tenant @2 :Text;
  name @3 :Text;
  # Empty with `list`.
  union {
    show @4 :Void;
    # Replies with the limit, or unknownLimit.
    list @5 :Page;
    # Replies with the tenant's limits.
    set @6 :Task.LimitRule;
    # Defines the limit, or changes its definition.
    dryRun @7 :Task.LimitRule;
    # As `set`, but changes nothing; the reply also counts waiting tasks.
    delete @8 :Void;
    # Removes the definition. Tasks that name the limit are not held by it any more.
    keys @9 :Page;
    # Replies with the limit's keys in use.
    close @10 :Close;
    open @11 :Data;
    # Ends `close` of the key.
  }
  operation @12 :UInt64;
  # As in `BulkRequest`.

  struct Page {
    after @0 :Data;
    # Only names or keys that come after this one in the order of their bytes.
    fromStart @1 :Bool;
    # From the first one on, which may be the empty key; `after` is ignored.
    limit @2 :UInt32;
    # Maximum number of names or keys, 1..1000.
    busy @3 :Bool;
    # Only keys with leases or held tasks. With `more`, the last key of the reply may have neither:
    # the shard passes over at most 20,000 others, and the next page begins after the last key.
  }

  struct Close {
    key @0 :Data;
    forMs @1 :UInt64;
    # Nothing of the key starts for so long, at most 31 days.
  }
}

struct LimitReply {
  number @0 :UInt64;
  code @1 :Common.ErrorCode;
  context @2 :Text;
  # When `code` is set: why nothing was done; ignore the other fields.
  limits @3 :List(Limit);
  keys @4 :List(Key);
  # With `keys`, `close` and `open`. As of now, on this shard.
  more @5 :Bool;
  # Further limits or keys follow the last one.
  waiting @6 :List(Waiting);
  # With `dryRun`: keys that ready tasks of this shard name, and keys of this shard in use.
  allWaiting @7 :Bool;
  # With `dryRun`: there are no others.
  outOfKeys @8 :Bool;
  # With `keys`: the limit has a rate, and its tenant uses as many limit keys as it may on this
  # shard, so that tasks of other shards get no permits of a further one.

  struct Limit {
    name @0 :Text;
    rule @1 :Task.LimitRule;
    # As it is after the change; with `delete` that which was removed.
    leased @2 :UInt64;
    held @3 :UInt64;
    # Numbers of leases that count against it, and of ready tasks that it holds back, on this shard.
    keys @4 :UInt64;
    # Number of keys in use on this shard.
    keysAbove @5 :UInt64;
    # With `set` and `dryRun`: number of keys with more leases than the rule allows.
  }

  struct Waiting {
    key @0 :Data;
    tasks @1 :UInt64;
    # Number of ready tasks of this shard that name it.
    hasRoom @2 :Bool;
    # The key is of this shard.
    room @3 :UInt64;
    # With `hasRoom`: number of tasks of cost 1 that could start at once by the new rule.
  }

  struct Key {
    key @0 :Data;
    leased @1 :UInt64;
    held @2 :UInt64;
    hasNextStart @3 :Bool;
    # False: a lease has to end before the next start.
    nextStartMs @4 :Int64;
    closedUntilMs @5 :Int64;
    # Shard time; 0: the key is open.
  }
}
