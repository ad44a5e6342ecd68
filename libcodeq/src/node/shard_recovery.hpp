// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"

#include "core/state/shard_state.hpp"
#include "storage/records/record_codec.hpp"
#include "storage/task_store.hpp"

#include <memory>
#include <vector>

namespace codeq::node {

/// Recovers all shards of a store, as many in parallel as there are processors. Errors: of
/// `storage::recover`.
[[nodiscard]] result<std::vector<std::shared_ptr<core::shard_state>>>
recover_shards(const storage::task_store& store, const storage::store_record& identity);

} // namespace codeq::node
