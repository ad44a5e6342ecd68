// SPDX-License-Identifier: Apache-2.0
#include "coordinator/store/journal.hpp"

#include "base/tuning.hpp"
#include "storage/keys/keyspace.hpp"

#include <algorithm>
#include <utility>

namespace codeq::coordinator {

bool commit_group::is_full() const {
  return identity || bytes >= tuning::commit_group_bytes_max
         || turns.size() >= tuning::commit_group_deltas_max;
}

journal::journal(journal_options options, journal_port& port)
  : options_(std::move(options)), port_(port) {
}

commit_group& journal::open_group() {
  if (groups_.empty() || groups_.back().is_full()) {
    groups_.emplace_back();
    groups_.back().mode = options_.mode;
  }
  return groups_.back();
}

void journal::gather(turn_commit turn, time_point now) {
  if (turn.forgets_horizon)
    forget_horizons(turn.shard);
  if (groups_.empty())
    port_.write_soon();
  auto& group = open_group();
  group.bytes += turn.writes->byte_size();
  if (turn.is_synced)
    group.mode = storage::durability::sync;
  group.turns.push_back(std::move(turn));
  if (group.is_full())
    write(now);
}

void journal::write(time_point now) {
  if (writing_ || groups_.empty() || waits_for_disk(now))
    return;
  writing_ = std::move(groups_.front());
  groups_.pop_front();
  writing_since_ = now;
  port_.begin_write(*writing_);
}

void journal::written(const result<void>& how, time_point now) {
  if (!how)
    return port_.fail(how.error());
  auto group = *std::exchange(writing_, std::nullopt);
  // The sync starts only now, since a sync that began during the write need not cover the write.
  if (group.mode == storage::durability::os)
    sync_at(pace_.committed(writing_since_), now);
  if (group.identity)
    port_.epoch_raised(group.epoch_for, group.epoch);
  for (auto& turn : group.turns) {
    port_.committed(turn.shard, turn.number);
    if (turn.horizon)
      horizons_[turn.shard] = std::move(turn.horizon);
  }
  if (group.mode == storage::durability::sync && options_.mode == storage::durability::sync)
    publish(std::exchange(horizons_, {}));
  write(now);
}

bool journal::waits_for_disk(time_point now) {
  auto waits = pace_.is_behind(now);
  if (waits)
    sync();
  return waits;
}

void journal::sync_at(std::optional<time_point> when, time_point now) {
  if (when)
    port_.sync_after(std::max(*when - now, time_point::duration{0}));
}

void journal::sync() {
  if (!pace_.begin())
    return;
  covered_horizons_ = std::exchange(horizons_, {});
  port_.begin_sync();
}

void journal::synced(const result<void>& how, time_point now) {
  // The sync stays in progress, so nothing is published or committed after it.
  if (!how)
    return port_.fail(how.error());
  sync_at(pace_.end(), now);
  publish(std::exchange(covered_horizons_, {}));
  write(now);
}

void journal::raise_epoch(shard_id shard, time_point now) {
  auto& identity = options_.identity;
  if (identity.epoch >= tuning::epoch_max)
    return port_.fail({errc::incompatible_store, "the store's epochs ran out"});
  ++identity.epoch;
  auto writes = std::make_shared<storage::write_set>();
  writes->put(storage::store_key{}.encode(), storage::encode(identity));
  commit_group group;
  group.identity = std::move(writes);
  group.epoch = identity.epoch;
  group.epoch_for = shard;
  groups_.push_back(std::move(group));
  write(now);
}

void journal::publish(storage::horizon_map horizons) {
  for (auto& [shard, horizon] : horizons)
    port_.publish_horizon(std::move(horizon));
}

void journal::forget_horizons(shard_id shard) {
  auto forget_in = [shard](commit_group& group) {
    for (auto& turn : group.turns)
      if (turn.shard == shard)
        turn.horizon = nullptr;
  };
  for (auto& group : groups_)
    forget_in(group);
  if (writing_)
    forget_in(*writing_);
  horizons_.erase(shard);
  covered_horizons_.erase(shard);
  port_.forget_horizon(shard);
}

} // namespace codeq::coordinator
