// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"

#include <filesystem>
#include <optional>
#include <string>

namespace codeq::coordinator {

/// The content of a file in the data directory of a damaged store. A coordinator of a cluster does
/// not open a store with this file.
struct damage_mark {
  std::string cluster;
  /// The name in the cluster of the coordinator whose store it is.
  std::string node;
  /// One line: what was found.
  std::string reason;

  friend bool operator==(const damage_mark&, const damage_mark&) = default;
};

[[nodiscard]] std::filesystem::path damage_mark_file(const std::filesystem::path& data);

/// Writes the file; synced, as is its directory. Errors: `unavailable`.
[[nodiscard]] result<void>
write_damage_mark(const std::filesystem::path& data, const damage_mark& mark);

/// Reads the file; empty when there is none. Errors: `io_error`; `corruption` when a coordinator
/// has not written it.
[[nodiscard]] result<std::optional<damage_mark>>
read_damage_mark(const std::filesystem::path& data);

/// Syncs a directory, so that renames in it survive a power cut. Errors: `unavailable`.
[[nodiscard]] result<void> sync_directory(const std::filesystem::path& directory);

} // namespace codeq::coordinator
