// SPDX-License-Identifier: Apache-2.0
#include "base/assert.hpp"
#include "base/tuning.hpp"
#include "core/queues/queue_rules.hpp"
#include "core/state/apply.hpp"
#include "core/state/queue_fairness.hpp"
#include "core/state/task_limits.hpp"
#include "core/turn/granted_run.hpp"
#include "core/turn/known_rival.hpp"
#include "core/turn/turn.hpp"

#include <algorithm>
#include <iterator>
#include <unordered_set>
#include <utility>

namespace codeq::core {

namespace {

/// Size of the bodies of `count` tasks, estimated by the segment's average.
std::uint64_t bytes_of(const segment& s, std::uint32_t count) {
  return s.body_bytes / s.count * count;
}

/// Number of the segment's tasks that use up the room. @pre the room is not used up
std::uint32_t tasks_within(std::int64_t room, const segment& s) {
  auto each = std::max<std::uint64_t>(bytes_of(s, 1), 1);
  auto tasks = (static_cast<std::uint64_t>(room) + each - 1) / each;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(tasks, tuning::grant_tasks_max));
}

/// Tasks of a lane, and their fairness key in a queue that has such keys.
struct next_tasks {
  seq_run tasks{};
  std::optional<fair_key> who{};
  /// See `fair_order::choice`.
  std::int64_t time = 0;
  std::optional<shard_id> behind{};
};

/// The tasks of a priority that are to be granted next, at most `limit`; count 0: there are none.
next_tasks
next_of(queue_state& queue, segment_table& segments, std::size_t priority, std::uint32_t limit) {
  if (queue.ready_by_priority[priority] == 0)
    return {};
  if (!queue.fair)
    return {queue.lanes[priority]->front(segments, limit)};
  auto turn = queue.fair->front(priority, segments, limit);
  return {turn.tasks, turn.who, turn.time, turn.behind};
}

/// True when the limits of the ready task admit it now.
bool may_start(shard_state& state, const segment& s) {
  return !check_limits(state, s) && !lacks_permit(state, s);
}

/// Releases held tasks for which grants made room. False when there are none, or when the turn has
/// released so many that others would wait for it; they are due at once then.
bool release_more(shard_state& state, std::size_t& released) {
  if (released >= tuning::limits_held_per_turn_max)
    return false;
  auto more = release_held(state);
  released += more;
  return more > 0;
}

std::uint32_t batch_tasks_of(const claim& c) {
  constexpr std::uint32_t most = tuning::grant_tasks_max;
  return c.batch_tasks == 0 ? most : std::min(c.batch_tasks, most);
}

} // namespace

void turn::run(const attach_worker& c) {
  run(detach_peer{c.peer});
  attached_worker a;
  a.worker = c.worker;
  a.delivered_from = static_cast<fencing_token>(state_.tokens.next);
  take_queues(a, c.peer, c.queues);
  take_prefixes(a, c.peer, c.prefixes);
  leave_out(a, c.peer, c.without);
  state_.peers_by_worker.emplace(*c.worker, c.peer);
  stir_slot_queues(a);
  state_.attached.insert_or_assign(c.peer, std::move(a));
  touched_.insert(c.peer);
}

void turn::run(const change_queues& c) {
  auto at = state_.attached.find(c.peer);
  if (at == state_.attached.end())
    return;
  leave_queues(at->second, c.peer);
  forget_kept_credits(c.peer);
  auto left = std::exchange(at->second.prefixes, {});
  claimer before{at->second.arrival, c.peer};
  auto need = at->second.listed_need;
  // Earlier notifications were about other queues.
  at->second.notified = false;
  at->second.listed_need = at->second.need();
  take_queues(at->second, c.peer, c.queues);
  take_prefixes(at->second, c.peer, c.prefixes);
  leave_out(at->second, c.peer, c.without);
  // Left after the others were joined, so that a prefix that stays keeps its queues.
  for (const auto& prefix : left)
    leave_prefix(state_, prefix, before, need);
  touched_.insert(c.peer);
  stir_slot_queues(at->second);
  if (at->second.credits > 0)
    stir_for(at->second, c.peer);
}

void turn::stir_for(const attached_worker& a, peer_id peer) {
  for (auto queue : a.queues)
    state_.stir(queue);
  if (!a.prefixes.empty())
    state_.prefix_claimers.insert(peer);
}

void turn::take_queues(attached_worker& a, peer_id peer, const std::vector<queue_address>& queues) {
  // A queue that is named twice would be served twice from the same credits.
  std::unordered_set<queue_address> named;
  a.queues.clear();
  a.wanted.clear();
  a.arrival = state_.arrivals++;
  for (const auto& address : queues) {
    if (!named.insert(address).second)
      continue;
    auto at = state_.queue_index.find(address);
    if (at == state_.queue_index.end()) {
      a.wanted.push_back(address);
      state_.wanted_queues[address].push_back(peer);
    } else {
      a.queues.push_back(at->second);
      state_.queues[at->second]->claimers.add({a.arrival, peer}, a.listed_need);
    }
  }
}

void turn::take_prefixes(
  attached_worker& a, peer_id peer, const std::vector<queue_address>& prefixes) {
  a.prefixes.clear();
  for (const auto& name : prefixes) {
    auto is_same = [&](const claimed_prefix& one) { return one.name == name; };
    if (std::none_of(a.prefixes.begin(), a.prefixes.end(), is_same))
      a.prefixes.push_back({name, join_prefix(state_, name, {a.arrival, peer}, a.listed_need)});
  }
}

void turn::leave_out(
  attached_worker& a, peer_id peer, const std::vector<queue_address>& queues) {
  a.without = {queues.begin(), queues.end()};
  for (const auto& address : a.without)
    state_.left_out_by[address].insert(peer);
}

void turn::leave_queues(const attached_worker& a, peer_id peer) {
  for (auto queue : a.queues)
    state_.queues[queue]->claimers.remove({a.arrival, peer}, a.listed_need);
  for (const auto& address : a.wanted) {
    auto at = state_.wanted_queues.find(address);
    std::erase(at->second, peer);
    if (at->second.empty())
      state_.wanted_queues.erase(at);
  }
  for (const auto& address : a.without) {
    auto at = state_.left_out_by.find(address);
    at->second.erase(peer);
    if (at->second.empty())
      state_.left_out_by.erase(at);
  }
}

void turn::run(const detach_peer& c) {
  if (auto at = state_.attached.find(c.peer); at != state_.attached.end()) {
    leave_queues(at->second, c.peer);
    for (const auto& prefix : at->second.prefixes)
      leave_prefix(state_, prefix, {at->second.arrival, c.peer}, at->second.listed_need);
    state_.peers_by_worker.erase({*at->second.worker, c.peer});
    forget_kept_credits(c.peer);
    state_.attached.erase(at);
  }
  if (auto at = state_.awaiting.find(c.peer); at != state_.awaiting.end()) {
    for (auto seq : at->second)
      leave_awaited(seq, c.peer);
    state_.awaiting.erase(at);
  }
}

void turn::run(const claim& c) {
  auto at = state_.attached.find(c.peer);
  if (at == state_.attached.end())
    return;
  at->second.credits += c.credits;
  at->second.bytes = std::min(at->second.bytes + c.bytes, unbounded_bytes);
  at->second.lease_wish = c.lease;
  at->second.batch_tasks = batch_tasks_of(c);
  at->second.notified = false;
  at->second.is_outranked = false;
  at->second.claimed = true;
  at->second.reaches_all = c.reaches_all;
  state_.promised.forget(c.peer);
  state_.list_need(c.peer);
  touched_.insert(c.peer);
  stir_for(at->second, c.peer);
}

void turn::run(const revoke_credits& c) {
  auto at = state_.attached.find(c.peer);
  if (at == state_.attached.end())
    return;
  auto taken = std::min(at->second.credits, c.credits);
  at->second.credits -= taken;
  state_.list_need(c.peer);
  stir_slot_queues(at->second);
  effects_.emplace_back(credits_revoked{c.peer, taken});
}

std::vector<std::uint32_t> turn::match() {
  state_.limits.is_behind = false;
  auto released = release_held(state_);
  if (state_.are_grants_paused) {
    end_all_kept_credits();
    settle_granted();
    state_.publish_heads();
    return {};
  }
  book_permits(true);
  ++state_.turns;
  auto has_work = [&](std::uint32_t queue) { return state_.queues[queue]->grantable() > 0; };
  std::vector<std::uint32_t> with_work;
  std::map<peer_id, std::uint64_t> tried;
  do {
    for (auto queue : take_stirred()) {
      if (has_work(queue))
        match_queue(queue);
      take_turn_for_slots(queue);
      if (state_.queues[queue]->limited > 0)
        settle_first(*state_.queues[queue]);
      if (has_work(queue))
        with_work.push_back(queue);
    }
  } while (
    stir_for_prefixes(tried) || release_more(state_, released) || end_kept_credits(tried));
  book_permits(false);
  give_back_outranked();
  settle_granted();
  settle_slots();
  state_.publish_heads();
  return with_work;
}

std::vector<std::uint32_t> turn::take_stirred() {
  auto stirred = std::exchange(state_.stirred, {});
  for (auto queue : stirred)
    state_.queues[queue]->is_stirred = false;
  // The queue that was served longest ago comes first, so that a worker with few credits serves
  // all.
  sort_by_service(stirred);
  return stirred;
}

void turn::sort_by_service(std::vector<std::uint32_t>& queues) const {
  std::sort(queues.begin(), queues.end(), [&](std::uint32_t a, std::uint32_t b) {
    return std::pair(state_.queues[a]->served, a) < std::pair(state_.queues[b]->served, b);
  });
}

std::uint64_t turn::ready_tasks_taken() const {
  return state_.tokens.next + (tuning::limits_held_per_turn_max - holds_left_);
}

bool turn::stir_for_prefixes(std::map<peer_id, std::uint64_t>& tried) {
  auto taken = ready_tasks_taken();
  bool any = false;
  for (auto at = state_.prefix_claimers.begin(); at != state_.prefix_claimers.end();) {
    auto worker = state_.attached.find(*at);
    auto credits = worker == state_.attached.end() ? 0 : unkept_credits(*at);
    auto [before, is_first] = tried.try_emplace(*at, taken);
    // Other workers may have got the tasks of its queues, so it tries further ones. A round that
    // took no task met only tasks that come after those of other shards.
    bool goes_on = credits > 0 && (is_first || std::exchange(before->second, taken) < taken);
    bool has_more = goes_on && stir_prefixes_of(worker->second, credits) > 0;
    any = any || has_more;
    at = has_more ? std::next(at) : state_.prefix_claimers.erase(at);
  }
  return any;
}

std::size_t turn::stir_prefixes_of(const attached_worker& a, std::size_t limit) {
  std::size_t stirred = 0;
  for (const auto& prefix : a.prefixes) {
    for (const auto& [served, queue] : prefix.claims->busy) {
      if (stirred == limit)
        return stirred;
      const auto& q = *state_.queues[queue];
      bool must_wait = a.reaches_all && q.is_head_outranked_from_afar();
      if (q.claimable() == 0 || must_wait || !takes_by_prefix(a, q))
        continue;
      bool may_ask = may_ask_for_slots(queue) && state_.permits.awaited_slots(queue) == 0;
      if (q.grantable() == 0 && !may_ask) {
        if (q.has_slots())
          slot_queues_.insert(queue);
        continue;
      }
      state_.stir(queue);
      ++stirred;
    }
  }
  return stirred;
}

std::vector<std::pair<std::uint32_t, peer_id>> turn::waiting_at(std::uint32_t index) const {
  const auto& queue = *state_.queues[index];
  // There may be a thousand of them, so each is looked up once.
  std::vector<std::pair<std::uint32_t, peer_id>> waiting;
  for (const auto& [arrival, peer] : queue.claimers.waiting_for(claimer_need::tasks)) {
    // Another queue of this turn may have used the last credits.
    if (auto credits = credits_for(index, peer); credits > 0)
      waiting.emplace_back(credits, peer);
  }
  if (!queue.prefixes.empty())
    add_by_prefix(index, waiting);
  return waiting;
}

void turn::match_queue(std::uint32_t queue) {
  auto& q = *state_.queues[queue];
  state_.join_turns(q);
  auto waiting = waiting_at(queue);
  known_rival rival(q.board.get());
  bool may_grant = true;
  // The least loaded first, in equal shares; the rest is distributed again.
  std::stable_sort(
    waiting.begin(), waiting.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  while (may_grant && q.grantable() > 0 && !waiting.empty()) {
    for (std::size_t i = 0; may_grant && i < waiting.size() && q.grantable() > 0; ++i) {
      auto sharers = waiting.size() - i;
      auto share = (q.grantable() + sharers - 1) / sharers;
      auto& [credits, peer] = waiting[i];
      auto count = static_cast<std::uint32_t>(std::min<std::uint64_t>(share, credits));
      auto end = grant(queue, peer, count, rival);
      may_grant = end != grant_end::queue_waits;
      credits = end == grant_end::claimer_waits ? 0 : credits_for(queue, peer);
    }
    std::erase_if(waiting, [](const auto& one) { return one.first == 0; });
  }
}

bool turn::hold_refused(queue_state& q, std::size_t priority, bool asks) {
  while (true) {
    auto next = next_of(q, state_.segments, priority, 1).tasks;
    auto* s = next.count == 0 ? nullptr : find_segment(state_.segments, next.first);
    if (!s || !s->limits)
      return true;
    auto refused = check_limits(state_, *s);
    bool must_wait = asks && !refused && lacks_permit(state_, *s);
    if (!refused && !must_wait)
      return true;
    if (holds_left_ == 0) {
      // Long turns would delay everybody else.
      state_.limits.is_behind = true;
      state_.stir(s->queue);
      return false;
    }
    --holds_left_;
    if (refused)
      hold_back(state_, *s, *refused);
    else
      wait_for_permit(state_, *s);
  }
}

void turn::settle_first(queue_state& q) {
  for (auto priority = q.lanes.size(); priority-- > 0;) {
    bool goes_on = hold_refused(q, priority, false) && q.ready_by_priority[priority] == 0;
    if (!goes_on)
      return;
  }
}

void turn::add_by_prefix(
  std::uint32_t index, std::vector<std::pair<std::uint32_t, peer_id>>& waiting) const {
  const auto& queue = *state_.queues[index];
  std::set<peer_id> known;
  for (const auto& [credits, peer] : waiting)
    known.insert(peer);
  for (const auto* claims : queue.prefixes) {
    for (const auto& [arrival, peer] : claims->claimers.waiting_for(claimer_need::tasks)) {
      auto credits = credits_for(index, peer);
      bool is_served = credits > 0 && takes_by_prefix(state_.attached.at(peer), queue);
      if (is_served && known.insert(peer).second)
        waiting.emplace_back(credits, peer);
    }
  }
}

turn::grant_end turn::grant(
  std::uint32_t queue, peer_id peer, std::uint32_t count, known_rival& rival) {
  auto& q = *state_.queues[queue];
  const auto& a = state_.attached.at(peer);
  note_service(q, queue, state_.turns, service::tried);
  for (std::size_t priority = q.lanes.size(); priority-- > 0 && count > 0;) {
    while (count > 0 && a.bytes > 0) {
      auto limit = std::min(count, a.batch_tasks);
      auto [tasks, who, time, behind] = next_of(q, state_.segments, priority, limit);
      if (tasks.count == 0)
        break;
      auto* s = find_segment(state_.segments, tasks.first);
      if (s->limits && !may_start(state_, *s)) {
        if (!hold_refused(q, priority, true))
          return grant_end::queue_waits;
        continue;
      }
      ready_head next{
        static_cast<std::uint8_t>(priority), who ? time_of_turn(time) : s->enqueued_at};
      // First, so that a worker which is sent to another shard here gets that one's task.
      if (auto far = a.reaches_all ? rival.far_before(next) : std::nullopt) {
        outranked_.push_back({queue, next.priority, *far, true});
        return grant_end::claimer_waits;
      }
      if (!behind)
        behind = rival.before(next);
      if (behind) {
        outranked_.push_back({queue, next.priority, *behind, false});
        return grant_end::queue_waits;
      }
      tasks.count = std::min(tasks.count, tasks_within(a.bytes, *s));
      lease_run(*s, tasks, peer, who ? q.fair->charge(priority, *who, tasks.count) : 0);
      note_service(q, queue, state_.turns, service::granted);
      count -= tasks.count;
    }
  }
  return grant_end::done;
}

void turn::lease_run(segment& s, const seq_run& tasks, peer_id peer, std::uint32_t charged) {
  auto& a = state_.attached.at(peer);
  CODEQ_ASSERT(tasks.count <= a.credits);
  a.credits -= tasks.count;
  state_.kept.use(s.queue, peer, tasks.count);
  state_.promised.use(s.queue, peer, tasks.count);
  auto lease = effective_lease(state_, s, a.lease_wish);
  auto first = extend_grant(a.worker, lease, tasks);
  auto position = grants_.back().position;
  for (std::uint32_t i = 0; i < tasks.count; ++i) {
    auto token = static_cast<fencing_token>(value(first) + i);
    start_lease(state_, s, tasks.first + i, token, position);
    if (charged != 0)
      state_.leases.find(token)->charged = charged;
  }
  if (s.limits)
    charge_limits(state_, s);
  auto& activity = state_.queue_of(s).activity;
  activity.granted += tasks.count;
  activity.starts.add(tasks.count, now_.steady);
  auto bytes = bytes_of(s, tasks.count);
  a.bytes -= static_cast<std::int64_t>(bytes);
  auto open = std::find_if(
    granted_.rbegin(), granted_.rend(), [&](const open_grant& g) { return g.batch.peer == peer; });
  bool fits = open != granted_.rend() && open->batch.bytes + bytes <= tuning::grant_bytes_max
              && open->tasks + tasks.count <= a.batch_tasks;
  if (!fits) {
    granted_.push_back({{peer, false, false, {}}, 0});
    open = granted_.rbegin();
  }
  open->batch.bytes += bytes;
  open->tasks += tasks.count;
  open->batch.runs.push_back(describe_run(state_, s, tasks, first, lease));
}

fencing_token turn::extend_grant(
  const std::shared_ptr<const worker_identity>& worker, duration lease, const seq_run& tasks) {
  bool continues =
    !grants_.empty() && grants_.back().worker == worker && grants_.back().lease == lease;
  if (!continues) {
    batch_granted g;
    g.position = state_.positions.take(1);
    g.at = now_.shard;
    g.worker = worker;
    g.lease = lease;
    g.first_token = static_cast<fencing_token>(state_.tokens.next);
    state_.leases.add_grant(g.position, {worker, lease, g.at});
    grants_.push_back(std::move(g));
  }
  auto& runs = grants_.back().runs;
  if (!runs.empty() && runs.back().first + runs.back().count == tasks.first)
    runs.back().count += tasks.count;
  else
    runs.push_back(tasks);
  return static_cast<fencing_token>(state_.tokens.take(tasks.count));
}

} // namespace codeq::core
