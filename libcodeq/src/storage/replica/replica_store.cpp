// SPDX-License-Identifier: Apache-2.0
#include "storage/replica/replica_store.hpp"

#include "replication/bounds.hpp"
#include "storage/keys/keyspace.hpp"
#include "storage/replica/shard_sweep.hpp"

#include <fstream>
#include <map>
#include <memory>
#include <utility>

namespace codeq::storage {

namespace {

result<void> commit_synced(task_store& store, write_set writes) {
  std::shared_ptr<const write_set> set = std::make_shared<const write_set>(std::move(writes));
  return store.commit({&set, 1}, durability::sync);
}

} // namespace

result<replication::epoch_index> read_history(store_view& view, shard_id shard) {
  std::optional<replication::position> last;
  std::map<replication::epoch_number, std::uint64_t> begins;
  result<void> read;
  const auto note = [&](std::string_view key, std::string_view value) -> result<void> {
    if (auto start = epoch_start_key::decode(key)) {
      auto number = decode_epoch_start(value);
      if (!number)
        return number.error();
      begins.emplace(start->epoch, *number);
    } else if (replica_position_key::decode(key)) {
      auto at = decode_position(value);
      if (!at)
        return at.error();
      last = *at;
    }
    return {};
  };
  auto range = replica_of(shard);
  auto scanned = view.scan(range.begin, range.end, [&](auto key, auto value) {
    read = note(key, value);
    return read.has_value();
  });
  if (!scanned)
    return scanned.error();
  if (!read)
    return read.error();
  if (!last)
    return replication::epoch_index{};
  return replication::epoch_index(std::move(begins), *last);
}

result<bool> has_replicas(const task_store& store) {
  bool has_any = false;
  const auto range = all_replicas();
  auto scanned = store.scan(range.begin, range.end, [&](auto, auto) {
    has_any = true;
    return false;
  });
  if (!scanned)
    return scanned.error();
  return has_any;
}

result<std::optional<stored_replica>> read_replica(const task_store& store, shard_id shard) {
  auto value = store.read(replica_key{shard}.encode());
  if (!value)
    return value.error();
  if (!*value)
    return std::optional<stored_replica>{};
  auto record = decode_replica(**value);
  if (!record)
    return record.error();
  auto log = read_history(*store.view(), shard);
  if (!log)
    return log.error();
  return std::optional{stored_replica{*record, std::move(*log)}};
}

result<stored_replica> found_replica(
  task_store& store,
  shard_id shard,
  replication::replica_id id,
  replication::epoch_number epoch) {
  // As if one delta had written the data: a replica without any does not join this history.
  replication::epoch_index log;
  log.append({epoch, 1});
  stored_replica made{{id, epoch, false, false}, std::move(log)};
  write_set writes;
  put_replica(shard, made.record, writes);
  put_history(shard, made.log, writes);
  if (auto ok = commit_synced(store, std::move(writes)); !ok)
    return ok.error();
  return made;
}

result<stored_replica>
create_replica(task_store& store, shard_id shard, replication::replica_id id) {
  stored_replica made{{id, 0, true, false}, {}};
  write_set writes;
  put_replica(shard, made.record, writes);
  if (auto ok = commit_synced(store, std::move(writes)); !ok)
    return ok.error();
  shard_sweep old(store, shard);
  for (;;) {
    auto removals = old.next(replication::bounds::swept_keys);
    if (!removals)
      return removals.error();
    if (removals->empty())
      return made;
    if (auto ok = commit_synced(store, std::move(*removals)); !ok)
      return ok.error();
  }
}

void put_replica(shard_id shard, const replica_record& record, write_set& writes) {
  writes.put(replica_key{shard}.encode(), encode(record));
}

void put_position(
  shard_id shard,
  replication::position next,
  replication::epoch_index& log,
  write_set& writes) {
  const auto begins = next.epoch != log.last().epoch;
  if (const auto forgotten = log.append(next))
    writes.remove(epoch_start_key{shard, *forgotten}.encode());
  if (begins)
    writes.put(epoch_start_key{shard, next.epoch}.encode(), encode_epoch_start(next.number));
  writes.put(replica_position_key{shard}.encode(), encode(next));
}

void remove_history(shard_id shard, const replication::epoch_index& log, write_set& writes) {
  for (const auto& [epoch, number] : log.begins())
    writes.remove(epoch_start_key{shard, epoch}.encode());
  writes.remove(replica_position_key{shard}.encode());
}

void put_history(shard_id shard, const replication::epoch_index& log, write_set& writes) {
  for (const auto& [epoch, number] : log.begins())
    writes.put(epoch_start_key{shard, epoch}.encode(), encode_epoch_start(number));
  writes.put(replica_position_key{shard}.encode(), encode(log.last()));
}

result<bool> begin_boot(task_store& store, std::string_view boot_id, durability mode) {
  auto value = store.read(boot_key{}.encode());
  if (!value)
    return value.error();
  boot_record before;
  if (*value) {
    auto found = decode_boot(**value);
    if (!found)
      return found.error();
    before = std::move(*found);
  }
  const auto is_same_boot = !boot_id.empty() && before.boot_id == boot_id;
  const auto may_have_lost = *value && !before.is_closed && !before.is_synced && !is_same_boot;
  write_set writes;
  result<void> read;
  auto range = all_replicas();
  auto scanned = store.scan(range.begin, range.end, [&](auto key, std::string_view bytes) {
    auto replica = replica_key::decode(key);
    if (!replica || !may_have_lost)
      return true;
    auto record = decode_replica(bytes);
    if (!record) {
      read = record.error();
      return false;
    }
    record->is_doubtful = true;
    put_replica(replica->shard, *record, writes);
    return true;
  });
  if (!scanned)
    return scanned.error();
  if (!read)
    return read.error();
  boot_record now{std::string(boot_id), false, mode == durability::sync};
  writes.put(boot_key{}.encode(), encode(now));
  if (auto ok = commit_synced(store, std::move(writes)); !ok)
    return ok.error();
  return may_have_lost;
}

result<void> end_boot(task_store& store) {
  auto value = store.read(boot_key{}.encode());
  if (!value)
    return value.error();
  if (!*value)
    return {};
  auto record = decode_boot(**value);
  if (!record)
    return record.error();
  record->is_closed = true;
  write_set writes;
  writes.put(boot_key{}.encode(), encode(*record));
  return commit_synced(store, std::move(writes));
}

std::string kernel_boot_id() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(file, id);
  return id;
}

} // namespace codeq::storage
