# SPDX-License-Identifier: Apache-2.0
@0xb3a1f06d2c84e759;

using Cxx = import "/capnp/c++.capnp";
using Task = import "task.capnp";
$Cxx.namespace("codeq::schema");

# Values about limits of tasks, a part of `record.capnp`, which has the catalogue and the rules.

struct LimitRecord {
  # A limit of a tenant; both names are in the key. Overwritten by each change of its definition,
  # removed with it. Every shard has it.
  atMs @0 :Int64;
  rule @1 :Task.LimitRule;
}

struct LimitKeyRecord {
  # The starts of a limit key that are not paid for, and until when it is closed; tenant, limit and
  # key are in the record's key. Written in the same batch as the starts; removed when neither
  # matters any more. The record without names is about all keys, see `usedUpAtMs`.
  atMs @0 :Int64;
  # Shard time.
  paidAtNs @1 :Int64;
  # Time in nanoseconds at which the starts so far are paid for.
  closedUntilMs @2 :Int64;
  usedUpAtMs @3 :Int64;
  # At this time the burst of each key counted as used up, since a power cut may have forgotten
  # starts.
}
