// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"

#include "storage/task_store.hpp"

#include <cstdint>
#include <string>

namespace codeq::maintenance {

/// Recovers a shard in a process of its own, since recovery stops its process when records that can
/// be read contradict each other. Returns what it said when it did, else nothing. Errors that
/// recovery returns are not told here. @pre no other thread uses the store
[[nodiscard]] std::string
try_recovery(const storage::task_store& store, shard_id shard, std::uint32_t epoch);

} // namespace codeq::maintenance
