// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"

#include <atomic>
#include <cstdint>
#include <functional>

#include <rocksdb/db.h>

namespace codeq::storage {

/// See `task_store::reclaim`.
[[nodiscard]] result<std::uint64_t> reclaim_files(
  rocksdb::DB& db, const std::function<std::uint64_t()>& room, std::atomic<bool>& cancelled);

} // namespace codeq::storage
