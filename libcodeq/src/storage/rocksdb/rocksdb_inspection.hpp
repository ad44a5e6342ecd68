// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"

#include "storage/task_store.hpp"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace codeq::storage {

/// A store that is looked at, not served.
struct store_inspection {
  /// Refuses every change. Holds the directory against other processes.
  std::unique_ptr<task_store> store;
  /// What is wrong with the files, in words.
  std::vector<std::string> findings;
  /// What is worth knowing and not wrong.
  std::vector<std::string> notes;
};

/// Opens the store in `directory` without changing any of its files, and reads all of them against
/// their checksums. `mode` as it is served with: in `os` mode the log may end early. Errors:
/// `unavailable` (no store there), `incompatible_store` (held by another process), `corruption`,
/// `io_error`.
[[nodiscard]] result<store_inspection>
inspect_rocksdb_store(const std::filesystem::path& directory, durability mode);

} // namespace codeq::storage
