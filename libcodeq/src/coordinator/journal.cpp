// SPDX-License-Identifier: Apache-2.0
#include "coordinator/journal.hpp"

#include "codeq/limits.hpp"

#include "observe/log.hpp"
#include "storage/keyspace.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace codeq::coordinator {

void journal_state::start(actors::journal_actor::pointer self, journal_options options) {
  self_ = self;
  options_ = std::move(options);
}

bool commit_group::is_full() const {
  return bytes >= limits::commit_group_bytes_max
         || requests.size() >= limits::commit_group_deltas_max;
}

void journal_state::gather(actors::commit_request request) {
  if (groups_.empty())
    self_->send(self_, actors::write_group{});
  if (groups_.empty() || groups_.back().is_full())
    groups_.emplace_back();
  auto& group = groups_.back();
  group.bytes += request.writes->byte_size();
  group.requests.push_back(std::move(request));
  if (group.is_full())
    write();
}

void journal_state::write() {
  while (!groups_.empty() && !waits_for_disk()) {
    auto group = std::move(groups_.front());
    groups_.pop_front();
    commit(std::move(group));
  }
}

void journal_state::commit(commit_group group) {
  auto begin = std::chrono::steady_clock::now();
  std::vector<std::shared_ptr<const storage::write_set>> sets;
  sets.reserve(group.requests.size());
  for (const auto& request : group.requests)
    sets.push_back(request.writes);
  if (options_.mode == storage::durability::os)
    sync_at(pace_.committed(self_->clock().now()));
  if (auto ok = options_.store->commit(sets, options_.mode); !ok)
    return options_.on_failure(ok.error());
  if (options_.meter) {
    auto took = std::chrono::steady_clock::now() - begin;
    auto& meter = *options_.meter;
    meter.groups += 1;
    meter.parts += group.requests.size();
    meter.bytes += group.bytes;
    meter.microseconds += static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(took).count());
  }
  for (auto& request : group.requests) {
    self_->send(request.shard, actors::batch_committed{request.number});
    if (request.horizon && options_.horizons)
      horizons_[request.horizon->shard] = std::move(request.horizon);
  }
  if (options_.mode == storage::durability::sync)
    publish(std::exchange(horizons_, {}));
}

bool journal_state::waits_for_disk() {
  auto waits = pace_.is_behind(self_->clock().now());
  if (waits)
    sync();
  return waits;
}

void journal_state::sync_at(std::optional<sync_pace::time_point> when) {
  if (!when)
    return;
  auto after = std::max(*when - self_->clock().now(), caf::timespan{0});
  self_->delayed_send(self_, after, actors::sync_journal{});
}

void journal_state::sync() {
  if (!pace_.begin())
    return;
  covered_horizons_ = std::exchange(horizons_, {});
  self_->request(options_.syncer, caf::infinite, actors::sync_log{})
    .then([this](const actors::log_synced& done) { synced(done.how); });
}

void journal_state::synced(const result<void>& how) {
  // The sync stays under way, so nothing is published or committed behind it.
  if (!how)
    return options_.on_failure(how.error());
  sync_at(pace_.end());
  publish(std::exchange(covered_horizons_, {}));
  write();
}

void journal_state::raise_epoch(const actors::raise_epoch& m) {
  auto& identity = options_.identity;
  if (identity.epoch >= limits::epoch_max)
    return options_.on_failure({errc::incompatible_store, "the store's epochs ran out"});
  ++identity.epoch;
  auto writes = std::make_shared<storage::write_set>();
  writes->put(storage::store_key{}.encode(), storage::encode(identity));
  std::shared_ptr<const storage::write_set> set = writes;
  if (auto ok = options_.store->commit({&set, 1}, storage::durability::sync); !ok)
    return options_.on_failure(ok.error());
  CODEQ_LOG_INFO("journal raises the epoch, whose numbers run out epoch={}", identity.epoch);
  self_->send(m.shard, actors::epoch_raised{identity.epoch});
}

void journal_state::publish(storage::horizon_map horizons) {
  for (auto& [shard, horizon] : horizons)
    options_.horizons->publish(std::move(horizon));
}

actors::journal_actor::behavior_type journal(
  actors::journal_actor::stateful_pointer<journal_state> self, const journal_options& options) {
  self->set_default_handler(caf::drop);
  self->state.start(self, options);
  return {
    [self](actors::commit_request& request) { self->state.gather(std::move(request)); },
    [self](const actors::raise_epoch& m) { self->state.raise_epoch(m); },
    [self](actors::write_group) { self->state.write(); },
    [self](actors::sync_journal) { self->state.sync(); },
  };
}

} // namespace codeq::coordinator
