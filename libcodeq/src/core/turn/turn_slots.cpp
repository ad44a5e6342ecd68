// SPDX-License-Identifier: Apache-2.0
#include "core/state/queue_slots.hpp"

#include "core/state/queue_fairness.hpp"
#include "core/turn/turn.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <set>
#include <utility>
#include <vector>

/// Slots of queues with a maximum of leases: those that this shard lends, and those that it asks
/// others for.
///
/// A shard asks for as many slots as workers have credits for them, and keeps these credits until
/// the owner has answered, so that no other queue uses them and no credit is counted for two
/// queues. When the owner has none to give, the credits are free again, and what was asked for
/// waits in the owner's line. A slot that comes from there is returned at once when no worker could
/// use it, and else when its time is over.
namespace codeq::core {

namespace {

/// A credit is kept no longer than this for a slot whose owner does not answer.
constexpr duration ask_kept_max = permit_desk::answer_wait;

/// After a slot came in vain a credit of a new claim is kept for so long in the queue's turn, also
/// when the owner has none to give at present. No slot may idle for longer while tasks wait.
constexpr duration patience{100};

/// Stands for no queue where credits are counted that no queue has kept.
constexpr std::uint32_t no_queue = std::numeric_limits<std::uint32_t>::max();

/// The first slot that others want comes before the tasks of this shard: by priority, and in turns
/// where that is the same. One that comes in place of a slot that was returned unspent takes turns
/// also with tasks of lower priorities, since it may be returned again.
/// @pre slots of the queue are wanted
bool is_turn_of_others(const queue_state* queue, const permit_book::slot_line& line) {
  if (!queue || queue->grantable() == 0)
    return !line.was_lent;
  const auto own = int{queue->first_priority()};
  const auto& [negated, order, place] = *line.waiting.begin();
  const bool is_repeated = order == 0;
  if (-negated < own)
    return false;
  return !line.was_lent || (-negated > own && !is_repeated);
}

/// Number of tasks of this shard that may be leased now and have a higher priority than the first
/// slot that others want. @pre slots of the queue are wanted
std::uint64_t tasks_before(const queue_state& queue, const permit_book::slot_line& line) {
  const auto first_of_others = static_cast<std::size_t>(-std::get<0>(*line.waiting.begin()));
  const auto& ready = queue.ready_by_priority;
  std::uint64_t before = 0;
  for (auto priority = first_of_others + 1; priority < ready.size(); ++priority)
    before += ready[priority];
  return std::min(before, queue.grantable());
}

} // namespace

void turn::book_slots(bool in_turns) {
  std::set<queue_address> kept;
  for (const auto& name : state_.lent.slots_to_look_at()) {
    const auto* queue = state_.find_queue(name);
    const auto& line = state_.lent.slots_of(name);
    auto room = [&] {
      return queue ? queue->lease_cap() : std::numeric_limits<std::uint64_t>::max();
    };
    auto may_give = [&] {
      if (line.waiting.empty() || room() == 0)
        return false;
      return in_turns ? is_turn_of_others(queue, line) : room() > slots_to_keep(name, line);
    };
    while (may_give())
      give_wanted(std::get<sequence>(*line.waiting.begin()));
    // This shard keeps the other slots for its own tasks.
    if (!in_turns && !line.waiting.empty() && room() > 0)
      kept.insert(name);
  }
  if (!in_turns)
    state_.lent.note_slots_seen(std::move(kept));
}

std::uint64_t
turn::slots_to_keep(const queue_address& name, const permit_book::slot_line& line) {
  auto index = state_.queue_index.find(name);
  if (index == state_.queue_index.end())
    return 0;
  auto count = tasks_before(*state_.queues[index->second], line);
  bool may_come = count > 0 && is_served(index->second);
  return may_come && state_.lent.keep_slot(name, now_.steady) ? count : 0;
}

template <class Visit>
void turn::visit_slot_queues(const attached_worker& a, Visit visit) const {
  if (!state_.permits.has_slot_queues())
    return;
  auto visit_one = [&](std::uint32_t queue) {
    if (state_.queues[queue]->has_slots())
      visit(queue);
  };
  std::for_each(a.queues.begin(), a.queues.end(), visit_one);
  for (const auto& prefix : a.prefixes)
    for (const auto& [served, queue] : prefix.claims->busy)
      visit_one(queue);
}

void turn::stir_slot_queues(const attached_worker& a) {
  visit_slot_queues(a, [&](std::uint32_t queue) { state_.stir(queue); });
}

void turn::note_slot_queues(const attached_worker& a) {
  visit_slot_queues(a, [&](std::uint32_t queue) { slot_queues_.insert(queue); });
}

std::uint32_t turn::credits_for(std::uint32_t queue, peer_id peer) const {
  auto open = state_.attached.at(peer).open_credits();
  if (state_.kept.empty())
    return open;
  return open - std::min(open, state_.kept.kept_for_others(queue, peer));
}

std::uint32_t turn::unkept_credits(peer_id peer) const {
  return credits_for(no_queue, peer);
}

bool turn::would_lease(std::uint32_t index, peer_id peer, bool by_prefix) const {
  const auto& a = state_.attached.at(peer);
  bool is_left_out = by_prefix && !takes_by_prefix(a, *state_.queues[index]);
  bool must_wait = a.is_outranked && is_first_outranked(index, a.reaches_all);
  return !is_left_out && !must_wait;
}

std::vector<peer_id> turn::claimers_at(std::uint32_t index, claimer_need need) const {
  const auto& queue = *state_.queues[index];
  std::vector<peer_id> found;
  auto add = [&](const queue_claimers& claimers, bool by_prefix) {
    for (const auto& [arrival, peer] : claimers.waiting_for(need))
      if (would_lease(index, peer, by_prefix))
        found.push_back(peer);
  };
  add(queue.claimers, false);
  for (const auto* claims : queue.prefixes)
    add(claims->claimers, true);
  return found;
}

std::uint64_t turn::credits_at(std::uint32_t index) const {
  std::uint64_t credits = 0;
  for (const auto& [open, peer] : waiting_at(index))
    credits += open;
  return credits;
}

std::uint64_t turn::slots_lacking(std::uint32_t index) const {
  const auto& queue = *state_.queues[index];
  auto free = queue.slots.value_or(0);
  auto lacking = queue.claimable() - std::min(queue.claimable(), free);
  if (state_.permits.does_owner_count(index))
    return lacking;
  // An older version gives as many as are wanted: this shard has its part of the maximum.
  auto part = queue.settings.config.max_leased_part;
  return std::min(lacking, part - std::min(part, queue.leased + free));
}

bool turn::may_ask_for_slots(std::uint32_t index) const {
  const auto& queue = *state_.queues[index];
  return queue.has_slots() && slots_lacking(index) > 0
         && !state_.permits.is_asking_slots(index)
         && !state_.permits.is_owner_silent(index, now_.steady);
}

void turn::take_turn_for_slots(std::uint32_t index) {
  if (!state_.queues[index]->has_slots())
    return;
  slot_queues_.insert(index);
  if (state_.permits.awaited_slots(index) == 0)
    return ask_for_slots(index);
  // The owner has said that it has none, and other queues may use the credits. But when a slot came
  // while all workers were busy, the next one has to find a credit sooner or later.
  if (state_.permits.has_missed_slot(index) && may_ask_for_slots(index))
    wait_for_slot(index);
}

void turn::wait_for_slot(std::uint32_t index) {
  if (state_.kept.kept_for(index) > 0 || waited_.contains(index))
    return;
  const auto until = now_.steady + patience;
  for (const auto& [open, peer] : waiting_at(index)) {
    if (!state_.attached.at(peer).claimed || unkept_credits(peer) == 0)
      continue;
    state_.kept.keep(index, peer, 1, {until, until});
    return note_service(*state_.queues[index], index, state_.turns, service::granted);
  }
}

void turn::ask_for_slots(std::uint32_t index) {
  if (!may_ask_for_slots(index))
    return;
  auto& queue = *state_.queues[index];
  const std::uint64_t awaited = state_.permits.awaited_slots(index);
  auto most = std::min<std::uint64_t>(
    {slots_lacking(index), credits_at(index), permit_desk::slots_asked_max});
  auto kept = keep_credits(index, most - std::min(most, awaited));
  if (kept == 0 && awaited == 0 && queue.slots == 0u)
    kept = promise_credit(index);
  if (kept == 0)
    return;
  // Other queues of the workers come first at their next claims.
  note_service(queue, index, state_.turns, service::granted);
  state_.permits.want_slots(index, awaited + kept, queue.first_priority());
}

std::uint64_t turn::keep_credits(std::uint32_t index, std::uint64_t count) {
  kept_credits::term term{now_.steady + ask_kept_max};
  if (state_.permits.has_missed_slot(index)) {
    if (state_.kept.kept_for(index) > 0)
      return 0;
    term.patient_until = now_.steady + patience;
    count = std::min<std::uint64_t>(count, 1);
  }
  auto left = count;
  for (const auto& [open, peer] : waiting_at(index)) {
    auto kept = static_cast<std::uint32_t>(std::min<std::uint64_t>(left, unkept_credits(peer)));
    state_.kept.keep(index, peer, kept, term);
    left -= kept;
  }
  return count - left;
}

std::uint32_t turn::unpromised_credits(peer_id peer) const {
  auto all = std::max<std::uint32_t>(state_.attached.at(peer).open_credits(), 1);
  return all - std::min(all, state_.kept.kept_of(peer) + state_.promised.kept_of(peer));
}

std::uint64_t turn::promise_credit(std::uint32_t index) {
  for (auto peer : claimers_at(index, claimer_need::news))
    if (unpromised_credits(peer) > 0) {
      state_.promised.keep(index, peer, 1, {now_.steady + ask_kept_max});
      return 1;
    }
  return 0;
}

void turn::settle_slots() {
  std::vector<std::uint32_t> noted(slot_queues_.begin(), slot_queues_.end());
  slot_queues_.clear();
  sort_by_service(noted);
  for (auto index : noted) {
    return_slots(index);
    ask_for_slots(index);
    await_slots(index);
  }
  take_changed_slots(state_);
}

void turn::await_slots(std::uint32_t index) {
  const auto& queue = *state_.queues[index];
  auto credits = credits_at(index);
  // Workers that are busy keep the queue's place in the owner's line.
  if (credits == 0 && is_served(index))
    credits = 1;
  auto awaited = std::min<std::uint64_t>(
    {slots_lacking(index), credits, state_.permits.awaited_slots(index)});
  state_.permits.want_slots(index, awaited, queue.first_priority());
}

bool turn::is_served(std::uint32_t index) const {
  const auto& queue = *state_.queues[index];
  auto has_one = [&](const queue_claimers& claimers, bool by_prefix) {
    return std::any_of(all_needs.begin(), all_needs.end(), [&](claimer_need need) {
      const auto& waiting = claimers.waiting_for(need);
      return std::any_of(waiting.begin(), waiting.end(), [&](const claimer& one) {
        return would_lease(index, one.second, by_prefix);
      });
    });
  };
  return has_one(queue.claimers, false)
         || std::any_of(queue.prefixes.begin(), queue.prefixes.end(), [&](const auto* claims) {
              return has_one(claims->claimers, true);
            });
}

void turn::return_slots(std::uint32_t index) {
  auto& queue = *state_.queues[index];
  auto free = queue.slots.value_or(0);
  if (free == 0)
    return;
  promise_to_slots(index, std::min(free, queue.claimable()));
  auto usable = state_.kept.kept_for(index) + state_.promised.kept_for(index);
  // Held tasks may get their permits.
  state_.permits.return_slots(index, std::min(usable, queue.claimable()) + queue.held);
  queue.slots = state_.permits.free_slots(index);
}

void turn::promise_to_slots(std::uint32_t index, std::uint64_t count) {
  auto had = state_.kept.kept_for(index) + state_.promised.kept_for(index);
  auto left = count - std::min(count, had);
  for (auto need : all_needs)
    for (auto peer : claimers_at(index, need)) {
      if (left == 0)
        return;
      auto more =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(left, unpromised_credits(peer)));
      state_.promised.keep(index, peer, more, {now_.steady + permit_desk::unspent_max});
      left -= more;
    }
}

bool turn::end_kept_credits(std::map<peer_id, std::uint64_t>& tried) {
  auto is_over = [&](std::uint32_t index, const kept_credits::term& kept) {
    const auto* queue = state_.queues[index].get();
    bool has_use = queue && queue->has_slots() && queue->claimable() > 0;
    bool is_answered = has_use && !state_.permits.is_asking_slots(index) && queue->slots == 0u;
    bool is_late = std::max(kept.until, kept.patient_until) <= now_.steady;
    return !has_use || is_late || (is_answered && kept.patient_until <= now_.steady);
  };
  bool any = false;
  for (auto* kept : {&state_.kept, &state_.promised})
    for (auto index : kept->find_if(is_over)) {
      waited_.insert(index);
      for (auto peer : kept->end(index)) {
        release_credits(peer);
        tried.erase(peer);
        any = true;
      }
    }
  return any;
}

void turn::end_all_kept_credits() {
  for (auto* kept : {&state_.kept, &state_.promised})
    for (auto index : kept->find_if([](auto, const auto&) { return true; }))
      for (auto peer : kept->end(index))
        release_credits(peer);
}

void turn::release_credits(peer_id peer) {
  const auto& a = state_.attached.at(peer);
  touched_.insert(peer);
  stir_for(a, peer);
  stir_slot_queues(a);
}

void turn::forget_kept_credits(peer_id peer) {
  state_.kept.forget(peer);
  state_.promised.forget(peer);
}

} // namespace codeq::core
