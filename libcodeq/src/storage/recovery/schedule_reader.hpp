// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"
#include "codeq/schedule.hpp"

#include "core/commands/schedule_event.hpp"
#include "storage/task_store.hpp"

#include <vector>

namespace codeq::storage {

/// The history of a schedule, in the order of its entries; empty when there is none. Errors:
/// `io_error`, `corruption`.
[[nodiscard]] result<std::vector<core::occurrence>>
read_occurrences(const task_store& store, shard_id shard, const schedule_address& name);

} // namespace codeq::storage
