// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"
#include "codeq/time.hpp"

#include "core/commands/operator_command.hpp"
#include "core/commands/task_checkpoint.hpp"

#include <cstdint>
#include <string>
#include <vector>

/// Messages from the holders of leases while their handlers run.
namespace codeq::core {

struct lease_beat {
  sequence seq = 0;
  fencing_token token{};
  /// Received but not started.
  bool queued = false;
  /// The handler has reported progress since the last heartbeat.
  bool progressed = false;
  /// Requested validity from now on, if longer than the lease duration; zero: the lease duration.
  duration extend{0};
};

/// A progress report of a lease's handler.
struct lease_progress {
  sequence seq = 0;
  fencing_token token{};
  std::uint8_t percent = 0;
  std::string note;
};

/// Extends leases, each identified by its token, and stores their checkpoints. Effects:
/// `leases_lost` (stale leases), `progress_told`, `checkpoints_saved`.
struct heartbeat {
  peer_id peer = 0;
  std::vector<lease_beat> beats;
  std::vector<lease_progress> progress{};
  /// A checkpoint with the number 0 gets the next number of its attempt.
  std::vector<lease_checkpoint> checkpoints{};
};

} // namespace codeq::core
