// SPDX-License-Identifier: Apache-2.0
#include "micro/lone_shard.hpp"

#include <string>
#include <utility>
#include <variant>

namespace codeq::bench {

namespace {

constexpr core::peer_id producer = 1;
constexpr core::peer_id worker = 2;
constexpr std::uint32_t body_bytes = 256;
constexpr std::size_t result_bytes = 32;
const queue_address queue{"default", "q"};

core::encoded_tasks make_bodies(std::uint32_t tasks) {
  return {
    bytes::from(std::string(std::size_t{tasks} * body_bytes, 'x')),
    std::vector<std::uint32_t>(tasks, body_bytes)};
}

} // namespace

lone_shard::lone_shard() {
  auto identity = std::make_shared<const worker_identity>(worker_identity{"w", 1});
  run(core::attach_worker{worker, identity, {queue}});
}

std::vector<core::event> lone_shard::enqueue(std::uint32_t tasks) {
  core::enqueue c;
  c.peer = producer;
  c.request = {session_, ++requests_, requests_};
  auto& run_of_tasks = c.runs.emplace_back();
  run_of_tasks.queue = queue;
  run_of_tasks.tasks = make_bodies(tasks);
  return run(c);
}

std::vector<core::event> lone_shard::claim(std::uint32_t tasks) {
  return run(core::claim{worker, tasks, duration{0}});
}

std::vector<core::event> lone_shard::finish() {
  return run(core::report{worker, std::exchange(held_, {})});
}

std::vector<core::event> lone_shard::take_snapshot() {
  return run(core::take_snapshot{});
}

std::vector<core::event> lone_shard::run(const core::command& c) {
  core::turn turn(state_);
  turn.decide(c, clock_.now());
  auto sealed = turn.seal(clock_.now());
  for (const auto& effect : sealed.effects) {
    const auto* granted = std::get_if<core::tasks_granted>(&effect);
    if (granted == nullptr)
      continue;
    for (const auto& leased : granted->runs)
      for (std::uint32_t i = 0; i < leased.count; ++i) {
        auto& report = held_.emplace_back();
        report.seq = leased.first + i;
        report.token = fencing_token{value(leased.first_token) + i};
        report.how = disposition::completed;
        report.text = bytes::from(std::string(result_bytes, 'r'));
      }
  }
  return std::move(sealed.events);
}

} // namespace codeq::bench
