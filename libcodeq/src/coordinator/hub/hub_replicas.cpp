// SPDX-License-Identifier: Apache-2.0
// The part of `replica_hub` that makes replicas, and removes what those that it dropped leave.
#include "base/random.hpp"
#include "coordinator/hub/replica_hub.hpp"
#include "observe/log.hpp"
#include "replication/bounds.hpp"

#include <caf/actor_cast.hpp>
#include <caf/send.hpp>

#include <system_error>
#include <utility>

namespace codeq::coordinator {

namespace {

/// The numbers of replicas' turns are below.
constexpr std::uint64_t own_write_first = std::uint64_t{1} << 63;

/// The synced write of a replica's record, with other writes.
turn_commit turn_of(
  shard_id shard, const storage::replica_record& record, storage::write_set writes = {}) {
  storage::put_replica(shard, record, writes);
  turn_commit turn{shard, 0, std::make_shared<const storage::write_set>(std::move(writes))};
  turn.is_synced = true;
  return turn;
}

} // namespace

std::uint64_t replica_hub::write_own(turn_commit turn) {
  turn.number = own_write_first + ++own_writes_;
  const auto number = turn.number;
  write(std::move(turn));
  return number;
}

bool replica_hub::is_own(const batch_committed& m) {
  return m.number > own_write_first;
}

void replica_hub::committed_own(const batch_committed& m) {
  if (const auto built = building_.find(m.shard);
      built != building_.end() && built->second.number == m.number) {
    auto stored = std::move(built->second.stored);
    building_.erase(built);
    const auto id = stored.record.id;
    add(m.shard, std::move(stored), records_[m.shard].value);
    return member_->replica_built(m.shard, id);
  }
  const auto removed = removals_.find(m.shard);
  if (removed != removals_.end() && removed->second.number == m.number)
    go_on_removing(m.shard);
}

void replica_hub::build(shard_id shard) {
  if (replicas_.contains(shard) || building_.contains(shard))
    return;
  // The last writes of one that was dropped are on their way; the member asks again.
  const auto dropped = removals_.find(shard);
  if (dropped != removals_.end() && !dropped->second.sweep)
    return;
  const auto old = storage::read_replica(*options_.store, shard);
  if (!old) {
    CODEQ_LOG_WARN(
      "replica cannot be made shard={} reason=\"{}\"", value(shard), to_string(old.error()));
    return;
  }
  storage::write_set writes;
  if (*old)
    storage::remove_history(shard, (*old)->log, writes);
  // The replica removes the data that are left itself, before it takes its copy.
  removals_.erase(shard);
  storage::stored_replica made{{replica_id{base::random_bits() | 1}, 0, true, false}, {}};
  const auto number = write_own(turn_of(shard, made.record, std::move(writes)));
  building_.emplace(shard, new_replica{std::move(made), number});
}

void replica_hub::drop(shard_id shard, replica_id replica) {
  if (!find(shard, replica))
    return;
  CODEQ_LOG_INFO("replica is dropped, its data are removed shard={}", value(shard));
  auto& dropped = *replicas_.at(shard);
  dropped.stop_serving();
  remove_spools({dropped.spool_directory()});
  const auto log = dropped.driver().replica().log();
  replicas_.erase(shard);
  remove_data(shard, replica, log);
}

void replica_hub::remove_data(
  shard_id shard, replica_id replica, const replication::epoch_index& log) {
  storage::write_set writes;
  storage::remove_history(shard, log, writes);
  // Whatever becomes of the removal, the data are not taken for whole ones.
  auto turn = turn_of(shard, {replica, 0, true, false}, std::move(writes));
  turn.forgets_horizon = true;
  const auto number = write_own(std::move(turn));
  removals_[shard] = removal{nullptr, number};
}

void replica_hub::go_on_removing(shard_id shard) {
  auto& sweep = removals_.at(shard).sweep;
  if (!sweep)
    sweep = std::make_shared<storage::shard_sweep>(*options_.store, shard);
  const auto run = [shard, sweep, store = options_.store] {
    return replica_step{
      [shard, sweep, removals = sweep->next(replication::bounds::swept_keys)](replica_hub& hub) {
        hub.take_removals(shard, sweep, removals);
      }};
  };
  self_->send(options_.copier, replica_work{run, caf::actor_cast<replicas_actor>(self_)});
}

void replica_hub::take_removals(
  shard_id shard,
  const std::shared_ptr<storage::shard_sweep>& from,
  const result<storage::write_set>& removals) {
  const auto known = removals_.find(shard);
  // The shard may have got a replica here again.
  if (known == removals_.end() || known->second.sweep != from)
    return;
  if (removals && !removals->empty()) {
    turn_commit turn{shard, 0, std::make_shared<const storage::write_set>(*removals)};
    known->second.number = write_own(std::move(turn));
    return;
  }
  if (removals)
    CODEQ_LOG_INFO("data of a dropped replica are removed shard={}", value(shard));
  else
    CODEQ_LOG_WARN(
      "data of a dropped replica are left on the disk, the next start removes them shard={} "
      "reason=\"{}\"",
      value(shard),
      to_string(removals.error()));
  removals_.erase(known);
}

void replica_hub::remove_spools(std::vector<std::filesystem::path> directories) {
  const auto run = [directories = std::move(directories)] {
    std::error_code ignored;
    for (const auto& directory : directories)
      std::filesystem::remove_all(directory, ignored);
    return replica_step{[](replica_hub&) {}};
  };
  self_->send(options_.spooler, replica_work{run, caf::actor_cast<replicas_actor>(self_)});
}

std::vector<std::filesystem::path> replica_hub::old_spools() const {
  std::set<std::filesystem::path> used;
  for (const auto& [shard, replica] : replicas_)
    used.insert(replica->spool_directory());
  std::vector<std::filesystem::path> old;
  std::error_code ignored;
  for (const auto& one : std::filesystem::directory_iterator(options_.spools, ignored))
    if (!used.contains(one.path()))
      old.push_back(one.path());
  return old;
}

} // namespace codeq::coordinator
