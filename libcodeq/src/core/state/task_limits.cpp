// SPDX-License-Identifier: Apache-2.0
#include "core/state/task_limits.hpp"

#include "base/queue_maximum.hpp"
#include "core/state/queue_depths.hpp"
#include "core/state/queue_fairness.hpp"
#include "core/state/queue_slots.hpp"
#include "core/state/task_index.hpp"

#include <algorithm>

namespace codeq::core {

namespace {

/// Maximum time for which the keys of this shard keep the place of a task that waits for permits of
/// others. It is shorter than a slot may be idle beside a task that could start.
constexpr duration permit_reservation_max{80};

const std::string& segment_tenant(const shard_state& state, const segment& s) {
  return state.queues[s.queue]->address.tenant;
}

/// The uses of keys that this shard owns.
std::vector<task_limit> own_uses(const shard_state& state, const segment& s) {
  std::vector<task_limit> own;
  for (const auto& use : *s.limits)
    if (!state.permits.owner_elsewhere(segment_tenant(state, s), use))
      own.push_back(use);
  return own;
}

permit_desk::share& share_of(permit_desk::permit_task& task, shard_id owner) {
  for (auto& one : task.shares)
    if (one.owner == owner)
      return one;
  return task.shares.emplace_back(permit_desk::share{owner, {}});
}

/// The other uses, by their owners; empty when there are none.
std::optional<permit_desk::permit_task>
permit_task_of(const shard_state& state, const segment& s) {
  const auto& queue = *state.queues[s.queue];
  permit_desk::permit_task task{s.first, s.priority, s.queue, queue.address.tenant, {}};
  for (const auto& use : *s.limits)
    if (auto owner = state.permits.owner_elsewhere(task.tenant, use))
      share_of(task, *owner).uses.push_back(use);
  task.turn.queue = queue.address.queue;
  task.turn.fairness_key = queue.fair ? queue.fair->turns_of(s) : std::string_view();
  return task.shares.empty() ? std::nullopt : std::optional(std::move(task));
}

/// The task without its uses.
limited_task describe_without_uses(const shard_state& state, const segment& s) {
  const auto& fair = state.queues[s.queue]->fair;
  return {s.first, s.priority, {}, s.queue, fair ? fair->turns_of(s) : std::string_view()};
}

limited_task describe(shard_state& state, const segment& s, const std::vector<task_limit>& uses) {
  return state.limits.describe(segment_tenant(state, s), uses, describe_without_uses(state, s));
}

/// The task as the keys of this shard know it. Made several times for each task, so it copies
/// nothing else.
limited_task task_of(shard_state& state, const segment& s) {
  const auto& tenant = segment_tenant(state, s);
  auto task = describe_without_uses(state, s);
  task.uses.reserve(s.limits->size());
  for (const auto& use : *s.limits)
    if (!state.permits.owner_elsewhere(tenant, use))
      task.uses.push_back({state.limits.place_of(tenant, use), use.cost});
  return task;
}

/// True when another shard owns a key of the task. @pre `own` is the task's `task_of`
bool uses_others(const segment& s, const limited_task& own) {
  return own.uses.size() < s.limits->size();
}

void count_held(shard_state& state, const segment& s, bool is_held) {
  auto& queue = state.queue_of(s);
  queue.held += is_held ? 1 : -1;
  queue.held_by_priority[s.priority] += is_held ? 1 : -1;
}

void return_to_lane(shard_state& state, sequence seq) {
  auto& s = *find_segment(state.segments, seq);
  count_held(state, s, false);
  enter_lane(state, s, seq, true);
  state.stir(s.queue);
}

} // namespace

fair_terms_of fairness_terms(const shard_state& state) {
  return [&state](std::uint32_t queue, std::string_view key) {
    if (queue >= first_permit_queue)
      return state.lent.terms_of(queue, key);
    const auto& fair = state.queues[queue]->fair;
    return fair ? fair->terms_of(key) : fair_terms{};
  };
}

bool is_held(const shard_state& state, const segment& s) {
  if (!s.limits)
    return false;
  if (state.permits.is_waiting(s.first))
    return true;
  auto task = state.limits.find_task(
    segment_tenant(state, s), *s.limits, describe_without_uses(state, s));
  return state.limits.keys().is_held(task);
}

void occupy_limits(shard_state& state, const segment& s) {
  auto task = task_of(state, s);
  state.limits.keys().occupy(task);
  if (uses_others(s, task))
    state.permits.spend(s.first);
}

void free_limits(shard_state& state, const segment& s) {
  auto task = task_of(state, s);
  state.limits.keys().free(task.uses, state.at);
  if (uses_others(s, task))
    state.permits.end(s.first);
}

void charge_limits(shard_state& state, const segment& s) {
  state.limits.keys().charge(task_of(state, s), state.at);
}

std::optional<limit_refusal> check_limits(shard_state& state, const segment& s) {
  return state.limits.keys().check(task_of(state, s), state.at);
}

std::optional<task_limit> refused_use(shard_state& state, const segment& s) {
  if (auto refused = check_limits(state, s))
    return own_uses(state, s)[refused->use];
  if (state.permits.is_waiting(s.first))
    return state.permits.awaited_use(s.first);
  return std::nullopt;
}

bool lacks_permit(const shard_state& state, const segment& s) {
  const auto& tenant = segment_tenant(state, s);
  bool needs_permit = std::any_of(s.limits->begin(), s.limits->end(), [&](const task_limit& use) {
    return state.permits.owner_elsewhere(tenant, use).has_value();
  });
  return needs_permit && !state.permits.has_permit(s.first);
}

void hold_back(shard_state& state, segment& s, const limit_refusal& why) {
  leave_lane(state, s, s.first, true);
  count_held(state, s, true);
  auto task = task_of(state, s);
  state.limits.keys().hold(task, why, fairness_terms(state)(s.queue, task.fairness_key));
  state.move_head(s.queue);
}

bool awaits_permits(const shard_state& state, const queue_state& queue) {
  const auto at = state.queue_index.find(queue.address);
  return at != state.queue_index.end()
         && !state.permits.awaited_of(at->second).limits().empty();
}

void wait_for_permit(shard_state& state, segment& s) {
  leave_lane(state, s, s.first, true);
  count_held(state, s, true);
  auto task = task_of(state, s);
  state.limits.keys().drop(task);
  state.limits.keys().reserve(task, state.at + permit_reservation_max);
  state.permits.wait(*permit_task_of(state, s));
  state.move_head(s.queue);
}

void admit(shard_state& state, const std::vector<sequence>& tasks) {
  for (auto seq : tasks)
    return_to_lane(state, seq);
}

bool leave_limits(shard_state& state, const segment& s) {
  auto task = task_of(state, s);
  bool was_held = state.queue_of(s).held > 0 && state.limits.keys().is_held(task);
  state.limits.keys().drop(task);
  bool was_waiting = state.permits.leave(s.first);
  if (!was_held && !was_waiting)
    return false;
  count_held(state, s, false);
  return true;
}

std::size_t release_held(shard_state& state) {
  // Most turns have nothing to do with limits.
  auto next = state.limits.keys().next_release();
  if (!next || *next > state.at)
    return 0;
  auto released = state.limits.keys().release(state.at, fairness_terms(state));
  for (auto seq : released) {
    if (is_permit_place(seq))
      state.lent.look_at(seq);
    else
      return_to_lane(state, seq);
  }
  return released.size();
}

void close_limit(
  shard_state& state,
  const std::string& tenant,
  const task_limit& use,
  timestamp until,
  shard_id by) {
  if (auto owner = state.permits.owner_elsewhere(tenant, use))
    return state.permits.close(
      *owner, {tenant, use, std::max(duration{0}, until - state.at)}, state.steady);
  if (!state.limits.is_defined(tenant, use.name))
    return;
  const auto place = state.limits.place_of(tenant, use);
  // A key that is closed already gave no permits since it was.
  if (until > state.at && !state.limits.keys().is_closed(place, state.at))
    state.recalls.note_closed({tenant, use.name, use.key}, by);
  state.limits.keys().extend_closure(place, until);
}

void settle_limits(
  shard_state& state,
  const segment& s,
  fencing_token token,
  const std::vector<task_limit>& actual) {
  const auto granted_at = state.leases.grant_at(state.leases.find(token)->grant).at;
  const auto& tenant = segment_tenant(state, s);
  for (const auto& one : actual) {
    // Without a name it would be another cost of the first limit.
    const auto* use = one.name.empty() ? nullptr : find_use(s, one.name);
    if (use && state.permits.owner_elsewhere(tenant, *use))
      state.permits.settle(s.first, one);
    else if (use)
      state.limits.keys().settle(
        {state.limits.place_of(tenant, *use), use->cost}, one.cost, granted_at, state.at);
  }
}

std::size_t held_before(shard_state& state, const segment& s, const task_limit& use) {
  if (state.permits.owner_elsewhere(segment_tenant(state, s), use))
    return state.permits.waiting_before(s.first, fairness_terms(state));
  return state.limits.keys().held_before(
    state.limits.place_of(segment_tenant(state, s), use), task_of(state, s), fairness_terms(state));
}

void settle_turns(shard_state& state, const segment& s, std::int64_t difference) {
  state.limits.keys().settle_turn(task_of(state, s), difference);
}

const task_limit* find_use(const segment& s, const std::string& name) {
  if (!s.limits)
    return nullptr;
  auto at = std::find_if(s.limits->begin(), s.limits->end(), [&](const task_limit& use) {
    return name.empty() || use.name == name;
  });
  return at == s.limits->end() ? nullptr : &*at;
}

void open_permits(shard_state& state, std::uint16_t shard_count) {
  // Records of older versions say this shard's part of a maximum.
  for (const auto& [arrival, index] : state.queues_by_arrival)
    base::complete_maxima(
      state.queues[index]->settings.config, std::max<std::uint16_t>(shard_count, 1));
  if (shard_count <= 1)
    return;
  state.permits.open(state.id, shard_count, state.epoch);
  state.leases.for_each_lease(state.leases.size(), [&](const lease& l) {
    const auto& s = *find_segment(state.segments, l.seq);
    auto task = s.limits ? permit_task_of(state, s) : std::nullopt;
    if (!task)
      return;
    for (const auto& one : task->shares)
      state.limits.keys().free(describe(state, s, one.uses).uses, state.at);
    state.permits.adopt(*task);
  });
  for (const auto& [arrival, index] : state.queues_by_arrival) {
    join_slots(state, index);
    join_depth(state, index);
  }
  abandon_depths(state);
  state.lent.doubt_all();
}

void note_moved(shard_state& state, shard_id shard) {
  state.permits.moved(shard);
  state.lent.doubt(shard);
}

} // namespace codeq::core
