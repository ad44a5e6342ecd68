// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/task.hpp"

#include <cstdint>

namespace codeq::core {

//    (1) enqueue                 (2) due, gate opens
//    ─────────► scheduled | gated ─────────────────► ready
//                          ▲                           │ (3) claim: token, attempt + 1
//        (6) fail, nack,   │                           ▼
//            expiry with   └──────────────────────── leased ──(4) heartbeat──┐
//            attempts left                             │  ▲                  │
//                          (7) abandon: ready again,   │  └──────────────────┘
//                              attempt given back      │
//        (5) complete ──► completed                    │ (8) attempts used up or failed for good
//        (9) cancel   ──► cancelled                    └──► dead
//
// 1, 4..9 are triggered by requests, 2 by shard time, 3 by the match of ready tasks and credits at
// the end of a turn, 6 and 8 also by a lease's deadline.

/// How a lease ended. Stored on disk, never renumber.
enum class lease_end_kind : std::uint8_t {
  completed = 0,
  failed = 1,
  failed_permanently = 2,
  nacked = 3,
  abandoned = 4,
  expired = 5,
  revoked = 6,
  cancelled = 7,
  timed_out = 8,
  /// An operator ended the lease, or the task, without its token.
  forced = 9,
  /// The handler gave the task back, and closed its limit key.
  limited = 10,
};

} // namespace codeq::core
