# SPDX-License-Identifier: Apache-2.0
@0x8c71d2f0a4b6e935;

using Cxx = import "/capnp/c++.capnp";
using Task = import "task.capnp";
$Cxx.namespace("codeq::schema");

# Between a worker and the child process that runs the handler of an isolated queue, over the
# child's standard input and output. Both are the same program; nothing of it is ever stored. A
# message is its length (UInt32, little-endian) and a body as in frames between nodes.

struct ToChild {
  union {
    attempt @0 :Attempt;
    # Run your handler. Reply: `outcome`. Sent when the one before is answered.
    cancel @1 :Void;
    # The running attempt is not wanted any more.
    leaseMs @2 :UInt64;
    # For how long the lease of the running attempt is valid from now.
  }

  struct Attempt {
    shard @0 :UInt16;
    seq @1 :UInt64;
    tenant @2 :Text;
    queue @3 :Text;
    key @4 :Data;
    group @5 :Data;
    priority @6 :UInt8;
    attempt @7 :UInt32;
    maxAttempts @8 :UInt32;
    token @9 :UInt64;
    leaseMs @10 :UInt64;
    enqueuedAtMs @11 :Int64;
    payload @12 :Data;
    headers @13 :List(Task.TaskBody.Header);
    remainingMs @14 :UInt64;
    # Of the lease.
  }
}

struct FromChild {
  union {
    outcome @0 :Outcome;
    progress @1 :Progress;
    extendMs @2 :UInt64;
    log @3 :Data;
  }

  struct Outcome {
    kind @0 :UInt8;
    # As `codeq::outcome::kind`.
    text @1 :Data;
    delayMs @2 :Int64 = -1;
    # A nack's own delay; negative is none.
  }

  struct Progress {
    percent @0 :UInt8;
    note @1 :Data;
  }
}
