// SPDX-License-Identifier: Apache-2.0
#include "core/state/queue_slots.hpp"
#include "core/state/task_limits.hpp"
#include "core/turn/turn.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

/// Permits: what other shards want of limit keys of this shard, and what this shard's tasks have of
/// keys of others.
namespace codeq::core {

namespace {

limited_task task_at(shard_state& state, const permit& what, sequence place) {
  return state.limits.describe(
    what.tenant, what.uses, {place, what.priority, {}, permit_queue});
}

/// The cost of the use in the end; its own cost when that is not told.
std::uint32_t cost_of(const permit_return& returned, const task_limit& use) {
  if (returned.is_unspent)
    return 0;
  auto at = std::find_if(
    returned.costs.begin(), returned.costs.end(), [&](const task_limit& actual) {
      return actual.name == use.name;
    });
  return at == returned.costs.end() ? use.cost : at->cost;
}

/// The priority of the first ready task in a lane; 0 when there is none.
std::uint8_t first_priority(const queue_state& queue) {
  auto priority = queue.ready_by_priority.size() - 1;
  while (priority > 0 && queue.ready_by_priority[priority] == 0)
    --priority;
  return static_cast<std::uint8_t>(priority);
}

} // namespace

void turn::run(const ask_permits& c) {
  auto& asker = state_.lent.of(c.from);
  asker.heard_at = now_.steady;
  bool is_past =
    std::pair(c.session, c.number) <= std::pair(asker.session, asker.heard);
  if (is_past)
    return;
  auto& answer = permits_given_[c.from];
  answer.session = c.session;
  if (!c.is_list && (c.session != asker.session || asker.is_doubtful)) {
    answer.wants_list = true;
    return;
  }
  asker.session = c.session;
  asker.heard = c.number;
  answer.heard = c.number;
  answer.wants_list = false;
  for (const auto& closed : c.closed)
    close_limit(state_, closed.tenant, closed.use, now_.shard + closed.lasting);
  for (const auto& returned : c.returned)
    take_back(c, returned);
  if (c.is_list)
    take_list(c);
  for (const auto& wanted : c.wanted) {
    if (asker.booked.contains(wanted.number))
      answer.given.push_back(wanted.number);
    else if (!asker.waiting.contains(wanted.number))
      state_.lent.want(c.from, wanted);
  }
}

void turn::take_back(const ask_permits& c, const permit_return& what) {
  auto& asker = state_.lent.of(c.from);
  if (auto waiting = asker.waiting.find(what.number); waiting != asker.waiting.end())
    drop_wanted(waiting->second);
  auto booked = asker.booked.find(what.number);
  if (booked == asker.booked.end())
    return;
  if (!is_slot(booked->second))
    for (const auto& use : booked->second.uses)
      state_.limits.keys().settle(
        {state_.limits.place_of(booked->second.tenant, use), use.cost}, cost_of(what, use),
        now_.shard);
  permits_changed change;
  change.freed.push_back(what.number);
  change_permit(c.from, std::move(change));
}

void turn::drop_wanted(sequence place) {
  const auto& what = state_.lent.find(place)->what;
  if (!is_slot(what))
    state_.limits.keys().drop(task_at(state_, what, place));
  state_.lent.forget(place);
}

void turn::take_list(const ask_permits& c) {
  auto& asker = state_.lent.of(c.from);
  asker.is_doubtful = false;
  for (const auto& [number, place] : std::map<permit_number, sequence>(asker.waiting))
    drop_wanted(place);
  permits_changed change;
  std::set<permit_number> held;
  for (const auto& has : c.held) {
    held.insert(has.number);
    if (!asker.booked.contains(has.number))
      change.booked.push_back(has);
  }
  for (const auto& [number, booked] : asker.booked)
    if (!held.contains(number))
      change.freed.push_back(number);
  if (!change.booked.empty() || !change.freed.empty())
    change_permit(c.from, std::move(change));
}

void turn::change_permit(shard_id shard, permits_changed change) {
  const auto& asker = state_.lent.of(shard);
  auto [at, is_first] = permits_.try_emplace(shard);
  auto& record = at->second;
  if (is_first) {
    record.position = state_.positions.take(1);
    record.asker = shard;
  }
  record.at = now_.shard;
  record.session = asker.session;
  record.heard = asker.heard;
  change.asker = shard;
  change.session = asker.session;
  change.heard = asker.heard;
  change_permits(state_, change);
  std::move(change.booked.begin(), change.booked.end(), std::back_inserter(record.booked));
  record.freed.insert(record.freed.end(), change.freed.begin(), change.freed.end());
}

void turn::give_wanted(sequence place) {
  const auto* wanted = state_.lent.find(place);
  auto asker = wanted->asker;
  permits_changed change;
  change.booked.push_back(wanted->what);
  permits_given_[asker].given.push_back(wanted->what.number);
  state_.lent.forget(place);
  change_permit(asker, std::move(change));
}

void turn::book_slots(bool in_turns) {
  for (const auto& name : state_.lent.slots_to_look_at()) {
    const auto* queue = state_.find_queue(name);
    auto room = [&] {
      return queue ? queue->lease_cap() : std::numeric_limits<std::uint64_t>::max();
    };
    auto may_give = [&] {
      const auto& line = state_.lent.slots_of(name);
      return !line.waiting.empty() && !(in_turns && line.was_lent) && room() > 0;
    };
    while (may_give())
      give_wanted(state_.lent.slots_of(name).waiting.begin()->second);
  }
  if (!in_turns)
    state_.lent.note_slots_seen();
}

void turn::stir_slot_queues(const attached_worker& a) {
  if (!state_.permits.has_slot_queues())
    return;
  auto stir = [&](std::uint32_t queue) {
    if (state_.queues[queue]->has_slots())
      state_.stir(queue);
  };
  std::for_each(a.queues.begin(), a.queues.end(), stir);
  for (const auto& prefix : a.prefixes)
    for (const auto& [served, queue] : prefix.claims->busy)
      stir(queue);
}

bool turn::is_first_outranked(std::uint32_t index) const {
  auto& queue = *state_.queues[index];
  auto best = queue.board ? queue.board->best_elsewhere() : std::nullopt;
  auto priority = first_priority(queue);
  if (!best || queue.ready_by_priority[priority] == 0)
    return false;
  auto enqueued_at = ageless;
  if (!queue.fair) {
    auto first = queue.lanes[priority]->front(state_.segments, 1).first;
    enqueued_at = find_segment(state_.segments, first)->enqueued_at;
  }
  return is_outranked({priority, enqueued_at}, best->head);
}

bool turn::has_claimer(std::uint32_t index, claimer_need need) const {
  const auto& queue = *state_.queues[index];
  auto has = [&](const queue_claimers& claimers, bool by_prefix) {
    const auto& waiting = claimers.waiting_for(need);
    return std::any_of(waiting.begin(), waiting.end(), [&](const claimer& one) {
      const auto& a = state_.attached.at(one.second);
      bool is_left_out = by_prefix && !takes_by_prefix(a, queue);
      return !is_left_out && !(a.is_outranked && is_first_outranked(index));
    });
  };
  return has(queue.claimers, false)
         || std::any_of(
           queue.prefixes.begin(), queue.prefixes.end(),
           [&](const prefix_claims* claims) { return has(claims->claimers, true); });
}

std::uint64_t turn::credits_at(std::uint32_t index) const {
  std::uint64_t credits = 0;
  for (const auto& [open, peer] : waiting_at(*state_.queues[index]))
    credits += open;
  return credits;
}

std::uint64_t turn::startable(std::uint32_t index) const {
  auto most = state_.queues[index]->claimable();
  if (most == 0)
    return 0;
  if (auto credits = credits_at(index); credits > 0)
    return std::min(most, credits);
  bool may_notify = has_claimer(index, claimer_need::news);
  bool keeps_place = state_.permits.awaits_slots(index)
                     && (has_claimer(index, claimer_need::tasks)
                         || has_claimer(index, claimer_need::nothing));
  return may_notify || keeps_place ? 1 : 0;
}

void turn::note_slots(std::uint32_t index) {
  const auto& queue = *state_.queues[index];
  if (!queue.has_slots())
    return;
  auto& leases = slot_queues_[index];
  leases = std::max(leases, queue.leased + startable(index));
}

void turn::settle_slots() {
  for (auto [index, noted] : std::exchange(slot_queues_, {})) {
    const auto& queue = *state_.queues[index];
    auto leases = std::min(queue.claimable(), noted - std::min(noted, queue.leased));
    leases = std::min(leases, std::max<std::uint64_t>(credits_at(index), 1));
    auto free = std::min(leases, queue.slots.value_or(0));
    // A worker that was told of tasks may be about to claim them, and held ones may get permits.
    state_.permits.return_slots(index, queue.claimable() + queue.held);
    state_.permits.want_slots(index, leases - free, first_priority(queue));
  }
  take_changed_slots(state_);
}

void turn::book_permits(bool in_turns) {
  for (auto place : state_.lent.wanted_in_vain(now_.steady))
    drop_wanted(place);
  book_slots(in_turns);
  auto& keys = state_.limits.keys();
  for (auto place : state_.lent.take_to_look_at()) {
    const auto* wanted = state_.lent.find(place);
    if (!wanted)
      continue;
    auto task = task_at(state_, wanted->what, place);
    if (auto refused = keys.check(task.uses, now_.shard)) {
      keys.hold(task, *refused);
      continue;
    }
    bool is_next = std::none_of(task.uses.begin(), task.uses.end(), [&](const limit_use& use) {
      return keys.was_permitted(use.at);
    });
    if (in_turns && !is_next) {
      state_.lent.look_at(place);
      continue;
    }
    keys.drop(task);
    keys.charge(task, now_.shard);
    give_wanted(place);
    for (const auto& use : task.uses)
      keys.note_permitted(use.at);
  }
}

void turn::run(const give_permits& c) {
  admit(state_, state_.permits.hear(c, now_.steady));
  take_changed_slots(state_);
}

void turn::say_permits() {
  for (auto shard : state_.lent.take_questions(now_.steady))
    permits_given_[shard].wants_list = true;
  for (auto& [shard, answer] : permits_given_) {
    const auto& asker = state_.lent.of(shard);
    answer.by = state_.id;
    // An answer to an older process than the one that asks is its question for a list.
    answer.session = std::max(answer.session, asker.session);
    answer.heard = std::max(answer.heard, asker.heard);
    effects_.emplace_back(shard_told{shard, std::move(answer)});
  }
  for (auto& letter : state_.permits.say(now_.steady))
    effects_.emplace_back(shard_told{letter.to, std::move(letter.what)});
}

} // namespace codeq::core
