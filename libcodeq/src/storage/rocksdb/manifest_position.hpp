// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace codeq::storage {

/// The part of a store that its tables contain, by its manifest.
struct manifest_position {
  /// The logs with this number and above are replayed.
  std::uint64_t log_number = 0;
  /// The last write that was numbered when the manifest was written.
  std::uint64_t last_sequence = 0;
};

/// Reads the complete records of a manifest. Source of the format: RocksDB's `VersionEdit`.
[[nodiscard]] manifest_position read_manifest_position(std::string_view bytes);

} // namespace codeq::storage
