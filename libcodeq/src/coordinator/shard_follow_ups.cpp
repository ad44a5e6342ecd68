// SPDX-License-Identifier: Apache-2.0
#include "coordinator/shard.hpp"

#include <utility>

/// What a shard's actor does about follow-ups that another shard must own.
namespace codeq::coordinator {

void shard_actor_state::meet(const actors::meet_shards& m) {
  shards_ = m.shards;
  for (auto& e : std::exchange(undelivered_, {}))
    carry_out(e);
}

void shard_actor_state::take(actors::hand_over& m) {
  decide(core::take_follow_ups{m.from, m.number, m.answered_below, std::move(m.runs)});
}

void shard_actor_state::confirm(const actors::handed_over& m) {
  decide(core::confirm_follow_ups{m.by, m.number});
}

void shard_actor_state::carry_out(core::deliver_follow_ups& e) {
  if (shards_.empty())
    return undelivered_.push_back(std::move(e));
  self_->send(
    shards_.at(value(e.to)),
    actors::hand_over{state_->id, e.number, e.answered_below, std::move(e.runs)});
}

void shard_actor_state::carry_out(core::follow_ups_taken& e) {
  self_->send(shards_.at(value(e.from)), actors::handed_over{state_->id, e.number});
}

} // namespace codeq::coordinator
