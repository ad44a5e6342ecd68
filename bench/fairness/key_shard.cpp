// SPDX-License-Identifier: Apache-2.0
#include "fairness/key_shard.hpp"

#include "base/tuning.hpp"
#include "core/turn/turn.hpp"

#include <iterator>
#include <memory>

namespace codeq::bench {

namespace {

constexpr core::peer_id producer = 1;
constexpr core::peer_id worker = 2;
constexpr std::size_t body_bytes = 64;
const queue_address queue{.queue = "q"};
const std::string limit_name = "all";

} // namespace

key_shard::key_shard(std::optional<std::uint32_t> concurrency)
  : is_limited_(concurrency.has_value()) {
  if (concurrency) {
    core::set_limit c;
    c.limit = {queue.tenant, limit_name};
    c.definition = limit_definition{.concurrency = *concurrency};
    run(c);
  }
  auto identity = std::make_shared<const worker_identity>(worker_identity{"w", 1});
  run(core::attach_worker{worker, identity, {queue}});
}

void key_shard::enqueue(const keyed_tasks& tasks) {
  core::enqueue c;
  c.peer = producer;
  c.request = {session_, ++requests_, requests_};
  for (const auto& [key, count] : tasks) {
    auto& added = c.runs.emplace_back();
    added.queue = queue;
    added.fairness.key = key;
    if (is_limited_)
      added.limits = {{limit_name, {}, 1}};
    // The core does not read bodies.
    added.tasks = {
      bytes(std::string(count * body_bytes, '\0')),
      std::vector<std::uint32_t>(count, static_cast<std::uint32_t>(body_bytes))};
  }
  run(c);
}

key_shard::granted_runs key_shard::claim(std::uint32_t tasks) {
  return grants_of(core::claim{worker, tasks, limits::lease_max});
}

key_shard::granted_runs key_shard::grants_of(const core::command& c) {
  granted_runs granted;
  for (auto& effect : run(c))
    if (auto* batch = std::get_if<core::tasks_granted>(&effect))
      std::move(batch->runs.begin(), batch->runs.end(), std::back_inserter(granted));
  return granted;
}

key_shard::granted_runs key_shard::complete(std::vector<core::task_lease> leases) {
  core::report c{worker, {}};
  for (const auto& lease : leases) {
    auto& report = c.reports.emplace_back();
    report.seq = lease.seq;
    report.token = lease.token;
  }
  return grants_of(c);
}

std::vector<core::effect> key_shard::run(const core::command& c) {
  core::turn turn(state_);
  turn.decide(c, clock_.now());
  bool is_due =
    state_.segments.is_heavy() || state_.records_since_snapshot >= tuning::snapshot_records;
  if (is_due)
    turn.decide(core::take_snapshot{}, clock_.now());
  return std::move(turn.seal(clock_.now()).effects);
}

} // namespace codeq::bench
