// SPDX-License-Identifier: Apache-2.0
#include "core/turn/turn.hpp"

#include "core/state/apply.hpp"

#include <algorithm>
#include <iterator>

namespace codeq::core {

namespace {

log_position position_of(const event& e) {
  return std::visit([](const auto& x) { return x.position; }, e);
}

template <class From>
void move_all(std::vector<From>& from, std::vector<event>& to) {
  for (auto& x : from)
    to.emplace_back(std::move(x));
}

} // namespace

turn::turn(shard_state& state) : state_(state) {
}

turn::~turn() = default;

void turn::advance(const instant& now) {
  state_.steady = std::max(state_.steady, now.steady);
  state_.at = std::max(state_.at, now.shard);
  now_ = {state_.steady, state_.at};
}

void turn::decide(const command& c, const instant& now) {
  advance(now);
  ++commands_;
  std::visit([this](const auto& x) { run(x); }, c);
}

sealed_turn turn::seal(const instant& now) {
  close_checkpoints();
  advance(now);
  purge_past_dead();
  release_due(state_, now_.shard, limits::due_released_per_turn_max);
  tell_claimers(match());
  want_timers();
  say_follow_ups();
  sealed_turn sealed;
  move_all(segments_, sealed.events);
  move_all(ended_, sealed.events);
  move_all(changed_, sealed.events);
  move_all(configured_, sealed.events);
  move_all(follow_ups_, sealed.events);
  move_all(changed_checkpoints_, sealed.events);
  move_all(grants_, sealed.events);
  std::sort(sealed.events.begin(), sealed.events.end(), [](const event& a, const event& b) {
    return position_of(a) < position_of(b);
  });
  state_.records_since_snapshot += sealed.events.size();
  if (snapshot_wanted_) {
    sealed.events.emplace_back(make_snapshot());
    const auto& taken = std::get<snapshot_taken>(sealed.events.back());
    settle_snapshot(state_, taken, taken.blocks);
  }
  state_.keys.recalled.clear();
  sealed.effects = std::move(effects_);
  for (auto& g : granted_)
    sealed.effects.emplace_back(std::move(g.batch));
  return sealed;
}

namespace {

/// The monotonic time that must pass before shard time can have advanced by `wait`, since it may
/// run 5 % fast.
duration at_the_fastest(duration wait) {
  return wait - wait / 20;
}

} // namespace

std::optional<duration> next_wakeup(shard_state& state, const instant& now) {
  std::optional<duration> wait;
  auto sooner = [&](timestamp at) {
    auto until = at_the_fastest(std::max(duration{0}, at - now.shard));
    wait = wait ? std::min(*wait, until) : until;
  };
  if (!state.due.empty())
    sooner(time_of(state.due.front()));
  if (!state.dead_ends.empty())
    sooner(time_of(state.dead_ends.front()));
  if (auto timer_due = state.leases.next_due_for_timer()) {
    auto until = std::max(duration{0}, *timer_due - now.steady);
    wait = wait ? std::min(*wait, until) : until;
  }
  return wait;
}

} // namespace codeq::core
