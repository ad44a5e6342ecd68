// SPDX-License-Identifier: Apache-2.0
#include "maintenance/cluster_gathering.hpp"

#include "replication/bounds.hpp"
#include "storage/keys/keyspace.hpp"
#include "storage/recovery/recovery.hpp"
#include "storage/replica/replica_store.hpp"
#include "storage/replica/shard_copy.hpp"
#include "storage/replica/shard_sweep.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

namespace codeq::maintenance {

namespace {

using replication::position;
using storage::task_store;
using storage::write_set;

result<void> commit(task_store& store, write_set writes) {
  std::shared_ptr<const write_set> set = std::make_shared<const write_set>(std::move(writes));
  return store.commit({&set, 1}, storage::durability::os);
}

/// Errors: `incompatible_store` when a store has another number of shards.
result<void> check_shards(const std::vector<const task_store*>& stores, std::size_t wanted) {
  for (const auto* store : stores) {
    auto identity = storage::read_identity(*store);
    if (!identity)
      return identity.error();
    if (identity->shard_count != wanted)
      return error{
        errc::incompatible_store,
        "a store has " + std::to_string(identity->shard_count)
          + " shards, the backup of the cluster " + std::to_string(wanted)};
  }
  return {};
}

std::string to_text(const position& at) {
  return std::to_string(at.epoch) + "/" + std::to_string(at.number);
}

/// The copies of one shard, as far as they were looked at.
struct candidates {
  std::optional<std::size_t> best;
  position last;
  std::uint32_t promised = 0;

  void add(std::size_t place, const storage::stored_replica& copy) {
    promised = std::max({promised, copy.record.promised, copy.log.last().epoch});
    if (copy.record.is_incomplete || (best && copy.log.last() <= last))
      return;
    best = place;
    last = copy.log.last();
  }
};

result<candidates> candidates_of(shard_id shard, const std::vector<const task_store*>& stores) {
  candidates found;
  for (std::size_t i = 0; i < stores.size(); ++i) {
    auto copy = storage::read_replica(*stores[i], shard);
    if (!copy)
      return copy.error();
    if (*copy)
      found.add(i, **copy);
  }
  return found;
}

/// Replaces the data of a shard.
result<void> copy_shard(task_store& into, const task_store& from, shard_id shard) {
  storage::shard_sweep old(into, shard);
  for (;;) {
    auto removals = old.next(replication::bounds::swept_keys);
    if (!removals)
      return removals.error();
    if (removals->empty())
      break;
    if (auto ok = commit(into, std::move(*removals)); !ok)
      return ok;
  }
  auto copy = storage::shard_copy::begin(from, shard);
  if (!copy)
    return copy.error();
  for (;;) {
    auto part = copy->next(replication::bounds::copy_part_bytes);
    if (!part)
      return part.error();
    auto writes = storage::unpack(*part, shard);
    if (!writes)
      return writes.error();
    if (writes->empty())
      return {};
    if (auto ok = commit(into, std::move(*writes)); !ok)
      return ok;
  }
}

/// Removes what the store knows of its copies as such, and of the boot of the machine that had it
/// open: it could seem to lack the end of what was confirmed.
result<void> forget_copies(task_store& store) {
  write_set writes;
  writes.remove(storage::boot_key{}.encode());
  const auto range = storage::all_replicas();
  auto scanned = store.scan(range.begin, range.end, [&](auto key, auto) {
    writes.remove(std::string(key));
    return true;
  });
  return scanned ? commit(store, std::move(writes)) : scanned;
}

} // namespace

result<chosen_copies> choose_copies(
  const std::vector<const task_store*>& stores, const std::vector<cluster_backup_shard>& backup) {
  if (auto ok = check_shards(stores, backup.size()); !ok)
    return ok.error();
  chosen_copies chosen;
  for (const auto& wanted : backup) {
    auto found = candidates_of(wanted.shard, stores);
    if (!found)
      return found.error();
    const position least{wanted.epoch, wanted.position};
    const auto name = "shard " + std::to_string(value(wanted.shard));
    if (!found->best)
      return error{errc::unavailable, name + " has no whole copy"};
    if (found->last < least)
      return error{
        errc::unavailable,
        name + " has copies up to " + to_text(found->last) + " only, but " + to_text(least)
          + " belongs to the backup of the cluster"};
    chosen.epoch = std::max(chosen.epoch, found->promised);
    chosen.store_of.push_back(*found->best);
  }
  return chosen;
}

result<void> gather_copies(
  task_store& into,
  const std::vector<const task_store*>& stores,
  const chosen_copies& chosen) {
  for (std::uint16_t i = 0; i < chosen.store_of.size(); ++i)
    if (const auto place = chosen.store_of[i]; place != 0)
      if (auto ok = copy_shard(into, *stores[place], shard_id{i}); !ok)
        return ok;
  if (auto ok = forget_copies(into); !ok)
    return ok;
  return into.sync_log();
}

} // namespace codeq::maintenance
