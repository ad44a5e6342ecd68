// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"

#include "storage/task_store.hpp"

#include <cstdint>
#include <string>

namespace codeq::maintenance {

/// Recovers a shard in a separate process, since recovery aborts when readable records contradict
/// each other. Returns the message of the abort; empty without one. Errors that recovery returns
/// are not reported here. @pre no other thread uses the store
[[nodiscard]] std::string
try_recovery(const storage::task_store& store, shard_id shard, std::uint32_t epoch);

} // namespace codeq::maintenance
