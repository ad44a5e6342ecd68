// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"
#include "codeq/result.hpp"

#include "core/state/shard_state.hpp"
#include "storage/records/record_codec.hpp"
#include "storage/task_store.hpp"

#include <memory>

namespace codeq::storage {

/// Rebuilds a shard from its snapshot with its blocks, and from later segments and log records.
/// Leases get a full fresh duration from `steady`. Reads no bodies of tasks that are in the
/// snapshot, and no histories. `name_seed`: see `core::name_hasher`. Errors: `io_error`,
/// `corruption`.
[[nodiscard]] result<std::unique_ptr<core::shard_state>> recover(
  const task_store& store,
  shard_id shard,
  std::uint32_t epoch,
  monotonic_time steady,
  std::uint64_t name_seed = 0);

/// Reads the store's own record. Errors: `incompatible_store` for a newer format, `corruption` when
/// the record does not exist.
[[nodiscard]] result<store_record> read_identity(const task_store& store);

/// Reads the store's own record, or creates it in an empty store with the id `fresh_store_id`;
/// raises the epoch and syncs the record, after which the store may serve. `shards` 0: the store's
/// number, or 12 for a new store. Errors: `incompatible_store` for another shard count or a newer
/// format.
[[nodiscard]] result<store_record>
open_identity(task_store& store, std::size_t shards, std::uint64_t fresh_store_id);

} // namespace codeq::storage
