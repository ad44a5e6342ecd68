// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/cluster_status.hpp"
#include "codeq/result.hpp"

#include "storage/task_store.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

/// Makes one store of the stores of a cluster's coordinators, of which each has copies of some
/// shards.
namespace codeq::maintenance {

/// Where the newest copies are that belong to a backup.
struct chosen_copies {
  /// By shard: the place of the store among those that were looked at.
  std::vector<std::size_t> store_of;
  /// The highest epoch that a copy has promised.
  std::uint32_t epoch = 0;
};

/// Chooses the copy of each shard that has the latest change, and at least that of the backup.
/// Errors: `incompatible_store` when a store has another number of shards than the backup;
/// `unavailable` when no store has such a copy of a shard; of the stores.
[[nodiscard]] result<chosen_copies> choose_copies(
  const std::vector<const storage::task_store*>& stores,
  const std::vector<cluster_backup_shard>& backup);

/// Brings the chosen copies into `into`, the first of the stores, which is that of a coordinator
/// that is alone then. Synced at the end. Errors: of the stores; after one `into` is of no use.
[[nodiscard]] result<void> gather_copies(
  storage::task_store& into,
  const std::vector<const storage::task_store*>& stores,
  const chosen_copies& chosen);

} // namespace codeq::maintenance
