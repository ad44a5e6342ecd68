// SPDX-License-Identifier: Apache-2.0
#include "model/dice.hpp"
#include "model/step.hpp"

#include <string>
#include <vector>

/// Steps of operators that set queues.
namespace codeq::model {

using namespace std::chrono_literals;

namespace {

constexpr core::peer_id operator_peer = 1;

/// Weights of some of the fairness keys that `random_fairness` gives to tasks.
weight_changes random_weights(dice& d, std::uint64_t least) {
  static const std::vector<std::string> keys{"", "a", "t", "t/x"};
  weight_changes weights;
  for (auto n = d.below(3); n > 0; --n)
    weights[d.pick(keys)] = static_cast<std::uint32_t>(least + d.below(4));
  return weights;
}

} // namespace

queue_address step_maker::random_queue(dice& d) {
  return {"default", "q" + std::to_string(d.below(3))};
}

core::weigh_keys step_maker::random_weighing(dice& d) {
  return {operator_peer, d.below(100), random_queue(d), random_weights(d, 0)};
}

core::configure_queue step_maker::random_settings(dice& d) {
  core::configure_queue c{operator_peer, d.below(100), random_queue(d), {}};
  auto& s = c.config;
  s.max_depth = d.one_in(2) ? 0 : 1 + d.below(12);
  s.max_leased = d.one_in(2) ? 0 : 1 + d.below(5);
  s.keep_payload = d.one_in(10);
  s.quarantine_after = d.one_in(2) ? 0 : static_cast<std::uint32_t>(1 + d.below(3));
  if (d.one_in(2))
    s.pause_when_failing = {static_cast<std::uint32_t>(1 + d.below(60)), d.one_in(2) ? 7s : 49s};
  // Only in queues that have fairness keys anyway.
  if (c.queue.queue != "q0" && d.one_in(3))
    s.fairness_header = "letter";
  if (c.queue.queue != "q0" && d.one_in(2))
    s.fairness_weights = random_weights(d, 1);
  else if (d.one_in(2))
    c.weights = random_weights(d, 0);
  if (d.one_in(3))
    return c;
  s.defaults.max_attempts = static_cast<std::uint16_t>(1 + d.below(4));
  s.defaults.retry = {static_cast<retry_kind>(d.below(4)), duration{1 + d.below(5'000)}, 20s};
  s.defaults.lease = duration{1'000 + d.below(20'000)};
  s.defaults.run_timeout = duration{d.one_in(3) ? 500 + d.below(20'000) : 0};
  s.defaults.progress_timeout = duration{d.below(20'000)};
  s.defaults.when_dead = d.one_in(2) ? on_dead::block : on_dead::skip;
  return c;
}

} // namespace codeq::model
