// SPDX-License-Identifier: Apache-2.0
#include "coordinator/actors/journal_driver.hpp"

#include "base/tuning.hpp"
#include "observe/log.hpp"

#include <chrono>
#include <utility>
#include <vector>

namespace codeq::coordinator {

journal_driver::~journal_driver() {
  if (options_.loop)
    options_.loop->set_journal(nullptr);
}

void journal_driver::start(journal_actor::pointer self, journal_driver_options options) {
  self_ = self;
  options_ = std::move(options);
  journal_.emplace(options_.journal, *this);
  if (options_.loop)
    options_.loop->set_journal(this);
}

void journal_driver::gather(const committer_actor& from, turn_commit turn) {
  committers_.try_emplace(turn.shard, from);
  journal_->gather(std::move(turn), now());
  write_all();
}

void journal_driver::raise_epoch(const coordinator::raise_epoch& m) {
  committers_.try_emplace(m.id, m.from);
  journal_->raise_epoch(m.id, now());
  write_all();
}

void journal_driver::write() {
  journal_->write(now());
  write_all();
}

void journal_driver::write_all() {
  while (const auto* group = std::exchange(to_write_, nullptr))
    journal_->written(write(*group), now());
}

void journal_driver::look_at_space(std::size_t bytes) {
  unlooked_bytes_ += bytes;
  if (!options_.reserve || unlooked_bytes_ < tuning::free_space_look_bytes)
    return;
  unlooked_bytes_ = 0;
  // Releases the reserve if necessary; the returned number is not needed.
  static_cast<void>(options_.reserve->usable());
}

result<void> journal_driver::write(const commit_group& group) {
  look_at_space(group.bytes);
  auto begin = std::chrono::steady_clock::now();
  std::vector<std::shared_ptr<const storage::write_set>> sets;
  sets.reserve(group.turns.size());
  for (const auto& turn : group.turns) {
    sets.push_back(turn.writes);
    if (turn.replica_writes)
      sets.push_back(turn.replica_writes);
  }
  if (group.identity)
    sets.push_back(group.identity);
  auto how = options_.store->commit(sets, group.mode);
  if (how && options_.meter) {
    auto took = std::chrono::steady_clock::now() - begin;
    auto& meter = *options_.meter;
    meter.groups += 1;
    meter.parts += group.turns.size();
    meter.bytes += group.bytes;
    meter.microseconds += static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(took).count());
  }
  return how;
}

void journal_driver::begin_sync() {
  self_->request(options_.syncer, caf::infinite, sync_log{}).then([this](const log_synced& done) {
    journal_->synced(done.how, now());
    write_all();
  });
}

void journal_driver::committed(shard_id shard, std::uint64_t number) {
  if (options_.loop)
    options_.loop->committed(shard, number);
  else
    self_->send(committers_.at(shard), batch_committed{number, shard});
}

void journal_driver::epoch_raised(shard_id shard, std::uint32_t epoch) {
  CODEQ_LOG_INFO("journal raises the epoch, whose numbers run out epoch={}", epoch);
  self_->send(committers_.at(shard), coordinator::epoch_raised{epoch});
}

void journal_driver::publish_horizon(std::shared_ptr<const storage::shard_horizon> horizon) {
  if (options_.horizons)
    options_.horizons->publish(std::move(horizon));
}

void journal_driver::forget_horizon(shard_id shard) {
  if (options_.horizons)
    options_.horizons->forget(shard);
}

void journal_driver::write_soon() {
  if (options_.loop)
    options_.loop->group_opened();
  else
    self_->send(self_, write_group{});
}

void journal_driver::sync_after(time_point::duration wait) {
  self_->delayed_send(self_, wait, sync_journal{});
}

journal_actor::behavior_type drive_journal(
  journal_actor::stateful_pointer<journal_driver> self, const journal_driver_options& options) {
  self->set_default_handler(caf::drop);
  self->state.start(self, options);
  return {
    [self](commit_request& m) { self->state.gather(m.from, std::move(m.turn)); },
    [self](const raise_epoch& m) { self->state.raise_epoch(m); },
    [self](write_group) { self->state.write(); },
    [self](sync_journal) { self->state.sync(); },
  };
}

} // namespace codeq::coordinator
