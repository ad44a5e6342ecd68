// SPDX-License-Identifier: Apache-2.0
#include "core/queues/queue_waits.hpp"
#include "core/state/apply.hpp"
#include "core/state/queue_fairness.hpp"
#include "core/state/task_index.hpp"
#include "core/state/task_keys.hpp"
#include "core/state/task_limits.hpp"
#include "core/tables/history.hpp"
#include "core/turn/task_selection.hpp"
#include "core/turn/turn.hpp"

#include <algorithm>
#include <utility>

namespace codeq::core {

namespace {

task_reason reason_to_wait(const segment& s, sequence seq) {
  return waits_for_retry(s, s.view(seq)) ? task_reason::retry_waiting : task_reason::deferred;
}

/// Names the limit that does not admit the ready task now, if there is one.
void explain_limits(shard_state& state, const segment& s, task_explained& e) {
  auto use = refused_use(state, s);
  if (!use)
    return;
  auto refused = check_limits(state, s);
  e.reason = task_reason::limited;
  e.limit = use->name;
  e.limit_key = use->key;
  e.limit_before = held_before(state, s, *use);
  e.until = refused ? refused->next_start.value_or(timestamp{}) : timestamp{};
}

/// Whether the limits of the ready task matter beside that reason of its queue. As in the account
/// of the queue, a task in its lane waits for the maximum of the queue: its limits are checked when
/// it is its turn.
bool may_be_limited(const shard_state& state, const segment& s, task_reason of_queue) {
  if (of_queue == task_reason::queue_at_max_leased)
    return is_held(state, s);
  return of_queue != task_reason::queue_paused;
}

/// Names the fairness key of the ready task when another one gets the next slot.
void explain_turns(const queue_state& queue, const segment& s, task_explained& e) {
  if (!queue.fair || !are_slots_taken(e.reason))
    return;
  auto turns = queue.fair->wait_of(s, queue.leased);
  if (!turns)
    return;
  e.reason = task_reason::fairness;
  e.fairness_key = std::move(turns->key);
  e.fairness_before = turns->before;
  e.fairness_wait = turns->wait;
}

} // namespace

task_view turn::view_of(segment& s, sequence seq) {
  task_view view;
  view.seq = seq;
  view.queue = state_.queue_of(s).address;
  view.priority = s.priority;
  view.max_attempts = s.settings.max_attempts;
  view.enqueued_at = s.enqueued_at;
  view.entry = s.view(seq);
  view.group = s.group;
  view.fairness = s.mark();
  view.limits = s.limit_uses();
  view.segment = s.first;
  view.aside = s.aside;
  view.replaced = s.replaced;
  view.key = s.key ? s.key->name : std::string();
  if (view.entry.state == task_state::scheduled)
    view.eligible_at = s.eligible_at(seq);
  if (view.entry.state == task_state::leased) {
    if (const auto* l = state_.leases.find(view.entry.token)) {
      const auto& grant = state_.leases.grant_at(l->grant);
      view.worker = grant.worker->name;
      view.granted_at = grant.at;
      view.lease_left = std::max(duration{0}, l->deadline - now_.steady);
      view.progress = l->progress;
    }
  }
  return view;
}

void turn::run(const describe_task& c) {
  inquiry why{inquiry::kind::status, c.peer, c.number, {}, {}, c.with_body};
  if (!c.key)
    return describe(why, c.seq);
  auto owner = owner_of(state_, *c.key, now_.shard);
  describe(why, owner ? owner->seq : 0);
}

void turn::run(const await_tasks& c) {
  for (auto seq : c.tasks) {
    auto* s = find_known(state_.segments, seq);
    if (!s || is_terminal(s->view(seq).state)) {
      describe({inquiry::kind::ending, c.peer, 0, {}, {}}, seq);
      continue;
    }
    if (state_.awaiting[c.peer].insert(seq).second)
      state_.awaited[seq].push_back(c.peer);
    if (c.with_progress)
      state_.watched.insert({seq, c.peer});
  }
}

void turn::run(const stop_awaiting& c) {
  auto of_peer = state_.awaiting.find(c.peer);
  if (of_peer == state_.awaiting.end())
    return;
  for (auto seq : c.tasks)
    if (of_peer->second.erase(seq) > 0)
      leave_awaited(seq, c.peer);
  if (of_peer->second.empty())
    state_.awaiting.erase(of_peer);
}

void turn::leave_awaited(sequence seq, peer_id peer) {
  auto waiters = state_.awaited.find(seq);
  std::erase(waiters->second, peer);
  if (waiters->second.empty())
    state_.awaited.erase(waiters);
  state_.watched.erase({seq, peer});
}

void turn::describe(const inquiry& why, sequence seq) {
  auto* s = find_known(state_.segments, seq);
  if (!s)
    return say_not_here(why, seq);
  auto view = view_of(*s, seq);
  auto text = why.with_body ? std::nullopt : text_at_hand(view.entry);
  effects_.emplace_back(task_described{why, std::move(view), std::move(text)});
}

void turn::say_not_here(const inquiry& why, sequence seq) {
  effects_.emplace_back(task_not_here{why, seq, state_.purged});
}

std::optional<bytes> turn::text_at_hand(const task_entry& entry) const {
  if (entry.outcome == 0)
    return bytes{};
  for (const auto& record : ended_) {
    if (record.position == entry.outcome)
      return record.ends[entry.outcome_index].text;
  }
  return std::nullopt;
}

void turn::tell_awaiting(sequence seq) {
  tell_schedules(seq);
  auto waiters = state_.awaited.find(seq);
  if (waiters == state_.awaited.end())
    return;
  for (auto peer : waiters->second) {
    describe({inquiry::kind::ending, peer, 0, {}, {}}, seq);
    auto of_peer = state_.awaiting.find(peer);
    of_peer->second.erase(seq);
    state_.watched.erase({seq, peer});
    if (of_peer->second.empty())
      state_.awaiting.erase(of_peer);
  }
  state_.awaited.erase(waiters);
}

void turn::run(const list_tasks& c) {
  auto selected = select_tasks(state_, c.part);
  tasks_listed listed{
    c.peer, c.number, {}, selected.after, selected.more, c.part, state_.purged};
  listed.tasks.reserve(selected.tasks.size());
  for (auto seq : selected.tasks)
    listed.tasks.push_back(view_of(*find_segment(state_.segments, seq), seq));
  effects_.emplace_back(std::move(listed));
}

void turn::run(const explain_task& c) {
  auto* s = find_known(state_.segments, c.seq);
  if (!s)
    return say_not_here({inquiry::kind::explain, c.peer, c.number, {}, {}}, c.seq);
  task_explained e;
  e.peer = c.peer;
  e.number = c.number;
  e.view = view_of(*s, c.seq);
  const auto& queue = state_.queue_of(*s);
  e.queue = queue.settings;
  e.workers = static_cast<std::uint32_t>(count_claimers(state_, queue).all);
  if (auto until = s->eligible_at(c.seq); !is_terminal(e.view.entry.state) && until > now_.shard)
    e.until = until;
  explain(e, *s);
  effects_.emplace_back(std::move(e));
}

void turn::explain(task_explained& e, const segment& s) {
  switch (e.view.entry.state) {
  case task_state::scheduled:
    // A task that became due in this turn counts as ready.
    e.reason = e.until > now_.shard ? reason_to_wait(s, e.view.seq)
                                    : reason_of_ready(state_, *state_.queues[s.queue]);
    return;
  case task_state::gated: {
    e.blocker = open_member(state_, s).value();
    e.blocker_state = find_segment(state_.segments, e.blocker)->view(e.blocker).state;
    e.reason = e.blocker_state == task_state::dead ? task_reason::blocked : task_reason::gated;
    return;
  }
  case task_state::ready:
    e.reason = reason_of_ready(state_, *state_.queues[s.queue]);
    if (s.limits && may_be_limited(state_, s, e.reason))
      explain_limits(state_, s, e);
    explain_turns(*state_.queues[s.queue], s, e);
    return;
  case task_state::leased: {
    const auto* l = state_.leases.find(e.view.entry.token);
    e.lease_left = std::max(duration{0}, l->deadline - now_.steady);
    e.waits_at_worker = l->queued;
    e.reason = task_reason::leased;
    return;
  }
  case task_state::completed:
    e.reason = task_reason::completed;
    return;
  case task_state::dead:
    e.reason = task_reason::dead;
    return;
  case task_state::cancelled:
    e.reason = task_reason::cancelled;
    return;
  }
}

task_note
turn::begin_note(const segment& s, sequence seq, task_event::kind what, task_event::author by) {
  auto entry = s.view(seq);
  task_note note;
  note.seq = seq;
  note.segment = s.first;
  note.aside = s.aside;
  note.number = entry.notes;
  note.event.at = now_.shard;
  note.event.what = what;
  note.event.by = by;
  if (origin_ && by == task_event::author::operator_user)
    note.event.subject = origin_->subject;
  if (entry.state == task_state::leased) {
    const auto& grant = state_.leases.grant_at(state_.leases.find(entry.token)->grant);
    note.granted_at = grant.at;
    note.event.attempt = entry.attempt;
    note.event.token = entry.token;
    note.event.worker = grant.worker->name;
  }
  return note;
}

task_note turn::finish_note(task_note note, const segment& s) {
  note.event.state = s.view(note.seq).state;
  if (note.event.state == task_state::scheduled)
    note.event.until = s.eligible_at(note.seq);
  return note;
}

void turn::run(const tell_history& c) {
  inquiry why{inquiry::kind::history, c.peer, c.number, {}, {}};
  auto* s = find_known(state_.segments, c.seq);
  if (!s)
    return say_not_here(why, c.seq);
  effects_.emplace_back(task_described{why, view_of(*s, c.seq), std::nullopt});
}

} // namespace codeq::core
