// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"

#include "storage/task_store.hpp"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace codeq::storage {

/// A store that was opened for inspection.
struct store_inspection {
  /// Refuses every change. Locks the directory against other processes.
  std::unique_ptr<task_store> store;
  /// Problems of the files, in words.
  std::vector<std::string> findings;
  /// Observations that are not errors.
  std::vector<std::string> notes;
};

/// Opens the store in `directory` without changing its files, and checks all of them against their
/// checksums. `mode` is the mode that it is served with: in `os` mode the end of the log may be
/// missing. Errors: `unavailable` (no store there, or another process has it open), `corruption`,
/// `io_error`.
[[nodiscard]] result<store_inspection>
inspect_rocksdb_store(const std::filesystem::path& directory, durability mode);

} // namespace codeq::storage
