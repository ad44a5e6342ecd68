// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"
#include "codeq/operator.hpp"

#include "storage/task_store.hpp"

#include <cstddef>

namespace codeq::maintenance {

/// Checks all records of a store that is not being changed: each record by itself, its references,
/// and each shard as the next start would recover it. Adds to `report`. Errors: as `verify_store`
/// when nothing can be checked: no record of the store, a newer format.
[[nodiscard]] result<void>
verify_records(const storage::task_store& store, std::size_t findings_max, store_report& report);

} // namespace codeq::maintenance
