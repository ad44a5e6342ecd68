// SPDX-License-Identifier: Apache-2.0
#include "storage/rocksdb/rocksdb_lock.hpp"

#include "storage/rocksdb/rocksdb_replay.hpp"

#include <rocksdb/env.h>

namespace codeq::storage {

result<std::unique_ptr<directory_lock>>
directory_lock::take(const std::filesystem::path& directory) {
  rocksdb::FileLock* lock = nullptr;
  auto status = rocksdb::Env::Default()->LockFile((directory / "LOCK").string(), &lock);
  if (!status.ok())
    return to_open_error(status, directory);
  return std::unique_ptr<directory_lock>{new directory_lock{lock}};
}

directory_lock::~directory_lock() {
  rocksdb::Env::Default()->UnlockFile(lock_).PermitUncheckedError();
}

} // namespace codeq::storage
