// SPDX-License-Identifier: Apache-2.0
#include "support/steady_shard.hpp"

#include "storage/records/projection.hpp"
#include "storage/recovery/task_reader.hpp"
#include "storage/write_set.hpp"
#include "support/task_builder.hpp"

#include <stdexcept>
#include <string>
#include <utility>

namespace codeq::test {

namespace {

constexpr core::peer_id producer = 1;
constexpr core::peer_id worker = 2;
constexpr std::size_t body_bytes = 256;
constexpr std::size_t result_bytes = 64;
const queue_address queue{.queue = "q"};

} // namespace

steady_shard::steady_shard() : steady_shard(nullptr, nullptr) {
}

steady_shard::steady_shard(
  storage::task_store& store, std::shared_ptr<storage::retention_horizons> horizons)
  : steady_shard(&store, std::move(horizons)) {
}

steady_shard::steady_shard(
  storage::task_store* store, std::shared_ptr<storage::retention_horizons> horizons)
  : store_(store), horizons_(std::move(horizons)) {
  auto identity = std::make_shared<const worker_identity>(worker_identity{"w", 1});
  run(core::attach_worker{worker, identity, {queue}});
}

std::vector<core::event> steady_shard::enqueue(std::uint32_t tasks, duration retention) {
  core::enqueue c;
  c.peer = producer;
  c.request.producer = session_;
  c.request.number = ++requests_;
  c.request.answered_below = requests_;
  auto& run_of_tasks = c.runs.emplace_back();
  run_of_tasks.queue = queue;
  run_of_tasks.settings.retention = retention;
  // Zeros are the body of a task without headers.
  run_of_tasks.tasks = {
    bytes(std::string(tasks * body_bytes, '\0')),
    std::vector<std::uint32_t>(tasks, static_cast<std::uint32_t>(body_bytes))};
  return run(c);
}

std::vector<core::event> steady_shard::claim(std::uint32_t tasks) {
  return run(core::claim{worker, tasks, duration{0}});
}

void steady_shard::take(const core::tasks_granted& granted) {
  for (const auto& lease_run : granted.runs) {
    if (store_ != nullptr) {
      auto bodies = storage::read_bodies(*store_, state_.id, lease_run.segment, lease_run.aside);
      if (!bodies || !*bodies)
        throw std::runtime_error("the body of a leased task cannot be read");
    }
    for (std::uint32_t i = 0; i < lease_run.count; ++i) {
      auto& report = held_.emplace_back();
      report.seq = lease_run.first + i;
      report.token = fencing_token{value(lease_run.first_token) + i};
      report.text = bytes(std::string(result_bytes, 'r'));
      is_retried_.push_back(!lease_run.attempts.empty() && lease_run.attempts[i] > 1);
    }
  }
}

std::vector<core::event> steady_shard::finish(std::uint32_t failing) {
  core::report c{worker, std::exchange(held_, {})};
  for (auto& report : c.reports) {
    bool fails = failing != 0 && ++ended_ % failing == 0;
    report.how = fails ? disposition::nack : disposition::completed;
    report.delay = fails ? std::optional{duration{0}} : std::nullopt;
  }
  is_retried_.clear();
  return run(c);
}

std::vector<core::event> steady_shard::fail_first_attempts() {
  core::report c{worker, std::exchange(held_, {})};
  for (std::size_t i = 0; i < c.reports.size(); ++i)
    c.reports[i].how = is_retried_[i] ? disposition::completed : disposition::failed;
  is_retried_.clear();
  return run(c);
}

std::vector<core::event> steady_shard::take_snapshot() {
  return run(core::take_snapshot{});
}

std::uint64_t steady_shard::completed() const {
  const auto* known = state_.find_queue(queue);
  return known ? known->totals.completed : 0;
}

std::vector<core::event> steady_shard::run(const core::command& c) {
  core::turn turn(state_);
  turn.decide(c, clock_.now());
  auto sealed = turn.seal(clock_.now());
  if (store_ != nullptr)
    commit(sealed.events);
  for (const auto& effect : sealed.effects)
    if (const auto* granted = std::get_if<core::tasks_granted>(&effect))
      take(*granted);
  return std::move(sealed.events);
}

void steady_shard::commit(const std::vector<core::event>& events) {
  auto writes = std::make_shared<storage::write_set>();
  std::shared_ptr<const storage::shard_horizon> horizon;
  for (const auto& e : events) {
    storage::project(state_.id, e, *writes);
    if (const auto* snapshot = std::get_if<core::snapshot_taken>(&e))
      horizon =
        std::make_shared<const storage::shard_horizon>(storage::horizon_of(state_, *snapshot));
  }
  std::shared_ptr<const storage::write_set> set = std::move(writes);
  if (auto ok = store_->commit({&set, 1}, storage::durability::os); !ok)
    throw std::runtime_error(to_string(ok.error()));
  if (horizon && horizons_)
    horizons_->publish(std::move(horizon));
}

} // namespace codeq::test
