// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace codeq {

/// Mirrored in `operator.capnp`.
enum class backup_state : std::uint8_t { none = 0, running = 1, done = 2, failed = 3 };

/// The latest backup since the coordinator was started.
struct backup_status {
  backup_state state = backup_state::none;
  /// Number of the backup in the coordinator's backup directory; starts at 1 and ascends.
  std::uint32_t number = 0;
  /// Size of all its files, including those that it shares with earlier backups.
  std::uint64_t bytes = 0;
  std::uint32_t files = 0;
  /// Why the backup failed; empty unless `failed`.
  std::string problem;
};

} // namespace codeq
