// SPDX-License-Identifier: Apache-2.0
#include "coordinator/journal.hpp"

#include "codeq/limits.hpp"

#include "observe/log.hpp"
#include "storage/keyspace.hpp"

#include <chrono>
#include <utility>

namespace codeq::coordinator {

void journal_state::start(actors::journal_actor::pointer self, journal_options options) {
  self_ = self;
  options_ = std::move(options);
}

void journal_state::gather(actors::commit_request request) {
  if (group_.empty())
    self_->send(self_, actors::write_group{});
  group_bytes_ += request.writes->byte_size();
  group_.push_back(std::move(request));
  bool is_full = group_bytes_ >= limits::commit_group_bytes_max
                 || group_.size() >= limits::commit_group_deltas_max;
  if (is_full)
    write();
}

void journal_state::write() {
  if (group_.empty())
    return;
  auto group = std::exchange(group_, {});
  auto byte_count = std::exchange(group_bytes_, 0);
  auto begin = std::chrono::steady_clock::now();
  std::vector<std::shared_ptr<const storage::write_set>> sets;
  sets.reserve(group.size());
  for (const auto& request : group)
    sets.push_back(request.writes);
  if (auto ok = options_.store->commit(sets, options_.mode); !ok)
    return options_.on_failure(ok.error());
  if (options_.meter) {
    auto took = std::chrono::steady_clock::now() - begin;
    auto& meter = *options_.meter;
    meter.groups += 1;
    meter.parts += group.size();
    meter.bytes += byte_count;
    meter.microseconds += static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(took).count());
  }
  for (auto& request : group) {
    self_->send(request.shard, actors::batch_committed{request.number});
    if (request.horizon && options_.horizons)
      horizons_.push_back(std::move(request.horizon));
  }
  if (options_.mode == storage::durability::sync)
    publish_horizons();
  else if (!std::exchange(sync_armed_, true))
    self_->delayed_send(self_, limits::os_sync_interval, actors::sync_journal{});
}

void journal_state::sync() {
  sync_armed_ = false;
  if (auto ok = options_.store->sync_log(); !ok)
    return options_.on_failure(ok.error());
  publish_horizons();
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

void journal_state::publish_horizons() {
  for (auto& horizon : std::exchange(horizons_, {}))
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
