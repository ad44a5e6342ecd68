// SPDX-License-Identifier: Apache-2.0
#include "sim/sim_disk.hpp"

#include "base/tuning.hpp"
#include "core/state/apply.hpp"
#include "storage/keys/keyspace.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>
#include <variant>

namespace codeq::sim {

namespace {

using namespace std::chrono_literals;

/// A power cut takes no write that is older: the journal syncs after its interval, and the disk
/// takes its time for the sync before and this one.
constexpr virtual_time unsynced_max = tuning::os_sync_interval + 250ms;

} // namespace

void sim_disk::check_synced() const {
  if (!unsynced_.empty() && world_.time.now() - unsynced_.front().when > unsynced_max)
    throw std::runtime_error("disk: a write stays unsynced for too long");
}

void sim_disk::commit(std::vector<turn_writes> group, storage::durability mode) {
  std::vector<std::shared_ptr<const storage::write_set>> sets;
  check_synced();
  unsynced_.push_back({world_.time.now(), events_.size()});
  for (auto& turn : group) {
    sets.push_back(turn.writes);
    for (auto& e : turn.events)
      events_.emplace_back(turn.shard, std::move(e));
    if (turn.horizon && world_.options.drops_unsynced)
      publish(std::move(turn.horizon));
  }
  if (auto done = store_.commit(sets, mode); !done)
    throw std::runtime_error(to_string(done.error()));
  if (mode == storage::durability::sync)
    unsynced_.clear();
}

void sim_disk::publish(std::shared_ptr<const storage::shard_horizon> horizon) {
  horizons_->publish(std::move(horizon));
}

void sim_disk::compact() {
  std::atomic<bool> cancelled{false};
  for (const auto& range :
       {storage::all_outcomes(),
        storage::all_fates(),
        storage::all_copied_fates(),
        storage::all_histories(),
        storage::all_keys()})
    if (auto done = store_.compact(range.begin, range.end, cancelled); !done)
      throw std::runtime_error(to_string(done.error()));
}

void sim_disk::sync() {
  if (auto done = store_.sync_log(); !done)
    throw std::runtime_error(to_string(done.error()));
  unsynced_.clear();
}

virtual_time sim_disk::cut_power() {
  check_synced();
  auto kept = static_cast<std::size_t>(world_.random.faults.below(unsynced_.size() + 1));
  store_.cut_power(kept);
  may_have_lost_ = world_.options.os_durability;
  auto since = world_.time.now();
  if (kept < unsynced_.size()) {
    since = unsynced_[kept].when;
    events_.resize(unsynced_[kept].events_before, {shard_id{}, core::snapshot_taken{}});
  }
  unsynced_.clear();
  return since;
}

bool sim_disk::is_synced(const task_id& task) const {
  if (unsynced_.empty())
    return true;
  auto tail = events_.begin() + static_cast<std::ptrdiff_t>(unsynced_.front().events_before);
  return std::none_of(tail, events_.end(), [&](const auto& written) {
    const auto* added = std::get_if<core::segment_appended>(&written.second);
    return written.first == task.shard && added && added->first <= task.seq
           && task.seq < added->first + added->count;
  });
}

std::unique_ptr<core::shard_state> sim_disk::follow(shard_id shard, std::uint32_t epoch) const {
  auto state = std::make_unique<core::shard_state>(shard, epoch);
  state->steady = world_.steady();
  for (const auto& [of, e] : events_) {
    if (of == shard)
      core::apply(*state, e);
  }
  return state;
}

} // namespace codeq::sim
