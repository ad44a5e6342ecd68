// SPDX-License-Identifier: Apache-2.0
#include "core/state/task_limits.hpp"

#include "core/state/task_index.hpp"

#include <algorithm>

namespace codeq::core {

namespace {

const std::string& tenant_of(const shard_state& state, const segment& s) {
  return state.queues[s.queue]->address.tenant;
}

limited_task task_of(shard_state& state, const segment& s) {
  return state.limits.describe(tenant_of(state, s), *s.limits, {s.first, s.priority, {}, s.queue});
}

} // namespace

void occupy_limits(shard_state& state, const segment& s) {
  state.limits.keys().occupy(task_of(state, s));
}

void free_limits(shard_state& state, const segment& s) {
  state.limits.keys().free(task_of(state, s).uses, state.at);
}

void charge_limits(shard_state& state, const segment& s) {
  state.limits.keys().charge(task_of(state, s), state.at);
}

std::optional<limit_refusal> check_limits(shard_state& state, const segment& s) {
  return state.limits.keys().check(task_of(state, s).uses, state.at);
}

void hold_back(shard_state& state, segment& s, const limit_refusal& why) {
  leave_lane(state, s, s.first, true);
  auto& queue = state.queue_of(s);
  ++queue.held;
  ++queue.held_by_priority[s.priority];
  state.limits.keys().hold(task_of(state, s), why);
  state.move_head(s.queue);
}

bool leave_limits(shard_state& state, const segment& s) {
  auto task = task_of(state, s);
  bool was_held = state.limits.keys().is_held(task);
  state.limits.keys().drop(task);
  if (!was_held)
    return false;
  auto& queue = state.queue_of(s);
  --queue.held;
  --queue.held_by_priority[s.priority];
  return true;
}

std::size_t release_held(shard_state& state) {
  // Most turns have nothing to do with limits.
  auto next = state.limits.keys().next_release();
  if (!next || *next > state.at)
    return 0;
  auto released = state.limits.keys().release(state.at);
  for (auto seq : released) {
    auto& s = *find_segment(state.segments, seq);
    auto& queue = state.queue_of(s);
    --queue.held;
    --queue.held_by_priority[s.priority];
    enter_lane(state, s, seq, true);
    state.stir(s.queue);
  }
  return released.size();
}

void close_limit(
  shard_state& state, const std::string& tenant, const task_limit& use, timestamp until) {
  state.limits.keys().close(state.limits.place_of(tenant, use), until);
}

void settle_limits(
  shard_state& state, const segment& s, const std::vector<task_limit>& actual) {
  for (const auto& one : actual)
    if (const auto* use = find_use(s, one.name))
      state.limits.keys().settle(
        {state.limits.place_of(tenant_of(state, s), *use), use->cost}, one.cost, state.at);
}

std::size_t held_before(shard_state& state, const segment& s, const task_limit& use) {
  return state.limits.keys().held_before(
    state.limits.place_of(tenant_of(state, s), use), task_of(state, s));
}

const task_limit* find_use(const segment& s, const std::string& name) {
  if (!s.limits)
    return nullptr;
  auto at = std::find_if(s.limits->begin(), s.limits->end(), [&](const task_limit& use) {
    return name.empty() || use.name == name;
  });
  return at == s.limits->end() ? nullptr : &*at;
}

} // namespace codeq::core
