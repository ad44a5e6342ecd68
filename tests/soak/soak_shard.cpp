// SPDX-License-Identifier: Apache-2.0
#include "soak/soak_shard.hpp"

#include "storage/keys/keyspace.hpp"

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <utility>

namespace codeq::test {

namespace {

using namespace std::chrono_literals;

coordinator::shard_options make_options() {
  coordinator::shard_options options;
  options.state = std::make_shared<core::shard_state>(shard_id{}, 1);
  return options;
}

} // namespace

soak_shard::soak_shard(
  std::shared_ptr<storage::task_store> store,
  std::shared_ptr<storage::retention_horizons> horizons,
  const queue_address& queue,
  receiver receive)
  : store_(std::move(store)),
    horizons_(std::move(horizons)),
    receive_(std::move(receive)),
    reader_({store_}, *this),
    shard_(make_options(), *this, clock_.now()) {
  shard_.start(clock_.now());
  auto identity = std::make_shared<const worker_identity>(worker_identity{"w", 1});
  shard_.attach({worker, identity, {queue}}, clock_.now());
  settle();
}

void soak_shard::decide(const core::command& command) {
  shard_.decide(command, clock_.now());
  settle();
}

void soak_shard::advance(duration by) {
  for (duration step{}; by > duration{0}; by -= step) {
    step = std::min<duration>(by, 1s);
    clock_.advance(step);
    if (!wakeup_ || wakeup_->at > clock_.now().steady)
      continue;
    shard_.wake(std::exchange(wakeup_, std::nullopt)->number, clock_.now());
    settle();
  }
}

void soak_shard::settle() {
  while (true) {
    shard_.close_turn(clock_.now());
    if (committed_ < submitted_) {
      committed_ = submitted_;
      shard_.committed(committed_, clock_.now());
    } else if (!keys_.empty()) {
      auto wanted = std::move(keys_.front());
      keys_.pop_front();
      reader_.find(wanted);
    } else if (!commands_.empty()) {
      auto command = std::move(commands_.front());
      commands_.pop_front();
      shard_.decide(command, clock_.now());
    } else if (!shard_.has_turn()) {
      return;
    }
  }
}

void soak_shard::commit(coordinator::turn_commit turn, const std::vector<core::event>&) {
  if (auto ok = store_->commit({&turn.writes, 1}, storage::durability::os); !ok)
    fail(ok.error());
  if (turn.horizon)
    horizons_->publish(std::move(turn.horizon));
  submitted_ = turn.number;
}

void soak_shard::raise_epoch() {
  shard_.begin_epoch(++epoch_);
}

void soak_shard::keys_found(shard_id, std::uint64_t number, std::vector<core::recalled_key> found) {
  shard_.keys_found(number, std::move(found), clock_.now());
}

bool soak_shard::may_hold_key(const task_key& name) {
  return store_->may_have(storage::key_key{shard_id{}, name}.encode());
}

void soak_shard::wake_after(duration wait, std::uint64_t number) {
  wakeup_ = {clock_.now().steady + wait, number};
}

void soak_shard::fail(const error& reason) {
  throw std::runtime_error(to_string(reason));
}

} // namespace codeq::test
