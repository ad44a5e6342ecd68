// SPDX-License-Identifier: Apache-2.0
// The news for workers about ready tasks: about those that they may claim, and about those of other
// shards that come before them.
#include "core/state/queue_fairness.hpp"
#include "core/state/task_limits.hpp"
#include "core/turn/known_rival.hpp"
#include "core/turn/turn.hpp"

#include <algorithm>

namespace codeq::core {

namespace {

/// True when the worker's credits were given back because of a task of another coordinator. It was
/// not notified of tasks here then: it hears of the next one that need not wait for others, also
/// when that comes after one of another shard here, which it learns from its claim.
bool waits_for_others(const attached_worker& a) {
  return a.is_outranked && !a.notified;
}

} // namespace

template <class Condition>
bool turn::has_queue(const attached_worker& a, Condition meets) const {
  auto meets_at = [&](std::uint32_t queue) { return meets(*state_.queues[queue]); };
  if (std::any_of(a.queues.begin(), a.queues.end(), meets_at))
    return true;
  return std::any_of(a.prefixes.begin(), a.prefixes.end(), [&](const claimed_prefix& prefix) {
    const auto& busy = prefix.claims->busy;
    return std::any_of(busy.begin(), busy.end(), [&](const auto& one) {
      return meets_at(one.second) && takes_by_prefix(a, *state_.queues[one.second]);
    });
  });
}

void turn::run(const look_at_rivals&) {
  for (auto& [peer, a] : state_.attached) {
    // Queues that it passed over may have tasks for it now.
    if (a.reaches_all && a.credits > 0 && !a.prefixes.empty())
      state_.prefix_claimers.insert(peer);
    if (waits_for_others(a))
      touched_.insert(peer);
  }
}

bool turn::has_ready(const attached_worker& a) const {
  return has_queue(a, [](const queue_state& queue) { return queue.grantable() > 0; });
}

bool turn::may_get_slots(const attached_worker& a) const {
  return state_.permits.is_open() && has_queue(a, [this](const queue_state& queue) {
    const auto lacks_slots =
      queue.has_slots() && queue.grantable() == 0 && queue.claimable() > 0;
    return lacks_slots || (queue.held > 0 && awaits_permits(state_, queue));
  });
}

bool turn::has_news(const attached_worker& a) const {
  if (!a.is_outranked)
    return !a.notified && has_ready(a);
  bool only_far = waits_for_others(a);
  return has_queue(a, [&](const queue_state& queue) {
    bool is_behind = only_far ? queue.is_head_outranked_from_afar()
                              : queue.is_head_outranked(a.reaches_all);
    return queue.grantable() > 0 && !is_behind;
  });
}

void turn::settle_granted() {
  for (auto& g : granted_) {
    auto& a = state_.attached.at(g.batch.peer);
    g.batch.more = has_ready(a);
    a.notified = g.batch.more && !waits_for_others(a);
    state_.list_need(g.batch.peer);
    // It is to be notified of tasks that get slots, and may be the only claimer.
    if (a.need() == claimer_need::news)
      note_slot_queues(a);
  }
}

void turn::tell_claimers(const std::vector<std::uint32_t>& with_work) {
  // No other claimer needs a notification: those that still have credits found no task in the last
  // turn.
  for (auto queue : with_work) {
    const auto& q = *state_.queues[queue];
    for (const auto& [arrival, peer] : q.claimers.waiting_for(claimer_need::news))
      touched_.insert(peer);
    for (const auto* claims : q.prefixes)
      for (const auto& [arrival, peer] : claims->claimers.waiting_for(claimer_need::news))
        touched_.insert(peer);
  }
  for (auto peer : touched_) {
    auto at = state_.attached.find(peer);
    if (at == state_.attached.end())
      continue;
    auto& a = at->second;
    // Tasks that wait for room can be granted as soon as the worker's connection has sent the rest.
    bool is_full = a.open_credits() == 0;
    // Otherwise the credits would be moved to other shards.
    if (!is_full && a.claimed && unkept_credits(peer) == 0)
      continue;
    if (!is_full && a.claimed) {
      effects_.emplace_back(claim_parked{peer});
    } else if (is_full && has_news(a)) {
      a.notified = true;
      a.is_outranked = false;
      state_.list_need(peer);
      effects_.emplace_back(work_available{peer});
    }
    a.claimed = false;
  }
}

void turn::give_back_outranked() {
  // After all queues were matched, so that tasks of other queues could use the credits.
  for (const auto& [queue, priority, by, is_far] : outranked_) {
    for (auto [credits, peer] : waiting_at(queue)) {
      auto& a = state_.attached.at(peer);
      if (is_far && !a.reaches_all)
        continue;
      a.credits -= credits;
      a.notified = !is_far;
      a.is_outranked = true;
      state_.list_need(peer);
      effects_.emplace_back(claim_outranked{peer, credits, by, priority});
    }
  }
}

bool turn::is_first_outranked(std::uint32_t index, bool reaches_all) const {
  auto& queue = *state_.queues[index];
  auto priority = queue.first_priority();
  if (!queue.board || queue.ready_by_priority[priority] == 0)
    return false;
  if (queue.fair && queue.fair->next(priority).behind)
    return true;
  known_rival rival(queue.board.get());
  auto first = state_.first_ready(queue);
  return rival.before(first) || (reaches_all && rival.far_before(first));
}

} // namespace codeq::core
