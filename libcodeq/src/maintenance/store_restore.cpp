// SPDX-License-Identifier: Apache-2.0
#include "maintenance/store_restore.hpp"

#include "base/tuning.hpp"
#include "storage/keys/keyspace.hpp"
#include "storage/recovery/recovery.hpp"
#include "storage/write_set.hpp"

#include <algorithm>
#include <chrono>
#include <memory>

namespace codeq::maintenance {

namespace {

/// More starts than a store can have had since any backup that is still restored.
constexpr std::uint64_t epochs_skipped = 65'536;

/// 2026-01-01. Each minute since then counts as an epoch, so that restores of one backup at
/// different times get different epochs.
constexpr timestamp first_minute{std::chrono::seconds(1'767'225'600)};

} // namespace

std::uint64_t epoch_of_restored(std::uint32_t stored, timestamp now) {
  auto minutes = std::chrono::floor<std::chrono::minutes>(now - first_minute).count();
  return std::max<std::uint64_t>(
    stored + epochs_skipped, static_cast<std::uint64_t>(std::max<std::int64_t>(minutes, 0)));
}

result<storage::store_record> give_identity(
  storage::task_store& store, std::uint64_t store_id, timestamp now, std::uint32_t reached) {
  auto record = storage::read_identity(store);
  if (!record)
    return record;
  auto epoch = epoch_of_restored(std::max(record->epoch, reached), now);
  // One epoch is left for the first start.
  if (epoch >= tuning::epoch_max)
    return error{errc::incompatible_store, "the store's epochs ran out"};
  record->epoch = static_cast<std::uint32_t>(epoch);
  record->store_id = store_id;
  auto writes = std::make_shared<storage::write_set>();
  writes->put(storage::store_key{}.encode(), storage::encode(*record));
  std::shared_ptr<const storage::write_set> set = writes;
  if (auto ok = store.commit({&set, 1}, storage::durability::sync); !ok)
    return ok.error();
  return record;
}

} // namespace codeq::maintenance
