// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"
#include "codeq/time.hpp"

#include "core/commands/operator_command.hpp"
#include "core/commands/task_checkpoint.hpp"

#include <cstdint>
#include <string>
#include <vector>

/// What the holders of leases say while their handlers run.
namespace codeq::core {

struct lease_beat {
  sequence seq = 0;
  fencing_token token{};
  /// Received but not started.
  bool queued = false;
  /// The handler got on with its work since the last beat.
  bool progressed = false;
  /// Longer than the lease: how long it is to be valid from now; zero is as long as the lease.
  duration extend{0};
};

/// How far the handler of a lease is.
struct lease_progress {
  sequence seq = 0;
  fencing_token token{};
  std::uint8_t percent = 0;
  std::string note;
};

/// Extends leases, each by its token, and keeps what their handlers saved. Effects: `leases_lost`
/// (stale ones), `progress_told`, `checkpoints_saved`.
struct heartbeat {
  peer_id peer = 0;
  std::vector<lease_beat> beats;
  std::vector<lease_progress> progress{};
  std::vector<lease_checkpoint> checkpoints{};
};

} // namespace codeq::core
