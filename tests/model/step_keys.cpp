// SPDX-License-Identifier: Apache-2.0
#include "model/step.hpp"
#include "support/task_builder.hpp"

#include <utility>

/// Steps about keys. There are few keys, so that duplicates are frequent.
namespace codeq::model {

namespace {

using namespace std::chrono_literals;

constexpr core::peer_id asking_peer = 1;

task_key random_key(dice& d) {
  auto queue = "q" + std::to_string(d.one_in(3) ? 1 : 0);
  return {{"default", queue}, d.one_in(4) ? "g" : "", "k" + std::to_string(d.below(3))};
}

} // namespace

core::fairness_mark step_maker::random_fairness(dice& d, const std::string& queue) {
  static const std::vector<std::string> keys{"", "a", "b", "t", "t/x", "t/y"};
  // One queue has no fairness keys.
  if (queue == "q0" || d.one_in(2))
    return {};
  return {d.pick(keys), static_cast<std::uint16_t>(1 + d.below(3))};
}

core::enqueue_run step_maker::keyed_run(dice& d, const instant& now) {
  static const std::vector<duration> delays{-1s, 0ms, 1ms, 500ms, 2s, 10s, 5min};
  auto r = random_run(d, now);
  auto key = random_key(d);
  r.queue = key.queue;
  r.group = key.group;
  r.key = key.key;
  r.duplicate = static_cast<on_duplicate>(d.below(5));
  r.replace_payload = d.one_in(3);
  r.not_before = d.one_in(3) ? timestamp{} : now.shard + d.pick(delays);
  r.settings.retention = d.one_in(4) ? 24h : 1h;
  r.tasks = test::encode_bodies(1, 8 * (1 + d.below(20)));
  return r;
}

core::command step_maker::keyed_request(dice& d, const instant& now) {
  auto c = next_request(d, now);
  for (auto n = 1 + d.below(4); n > 0; --n)
    c.runs.push_back(d.one_in(5) ? random_run(d, now) : keyed_run(d, now));
  sent_.push_back(c);
  return c;
}

core::command step_maker::random_by_key(dice& d) {
  auto key = std::make_shared<const task_key>(random_key(d));
  auto number = d.below(100);
  switch (d.below(3)) {
  case 0:
    return core::cancel{asking_peer, number, 0, std::move(key)};
  case 1:
    return core::promote{asking_peer, number, 0, std::move(key)};
  default:
    return core::describe_task{asking_peer, number, 0, std::move(key)};
  }
}

} // namespace codeq::model
