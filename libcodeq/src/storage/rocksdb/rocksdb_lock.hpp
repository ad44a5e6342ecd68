// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"

#include <filesystem>
#include <memory>

namespace rocksdb {
class FileLock;
}

namespace codeq::storage {

/// The lock of a store's directory, which a process holds as long as it has the store open.
class directory_lock {
public:
  /// Errors: `unavailable` when another process holds it, or this user may not write.
  [[nodiscard]] static result<std::unique_ptr<directory_lock>>
  take(const std::filesystem::path& directory);

  directory_lock(const directory_lock&) = delete;
  directory_lock& operator=(const directory_lock&) = delete;

  ~directory_lock();

private:
  explicit directory_lock(rocksdb::FileLock* lock) : lock_(lock) {}

  rocksdb::FileLock* lock_;
};

} // namespace codeq::storage
