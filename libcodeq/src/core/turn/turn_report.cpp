// SPDX-License-Identifier: Apache-2.0
#include "base/tuning.hpp"
#include "core/commands/routing.hpp"
#include "core/queues/queue_rules.hpp"
#include "core/state/apply.hpp"
#include "core/state/queue_fairness.hpp"
#include "core/state/task_limits.hpp"
#include "core/tables/history.hpp"
#include "core/turn/retry.hpp"
#include "core/turn/turn.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace codeq::core {

namespace {

/// Number of a record's latest grants that a new one is compared with.
constexpr std::size_t ended_grants_compared = 8;

lease_end_kind kind_of(disposition how) {
  switch (how) {
  case disposition::completed:
    return lease_end_kind::completed;
  case disposition::failed:
    return lease_end_kind::failed;
  case disposition::failed_permanently:
    return lease_end_kind::failed_permanently;
  case disposition::nack:
    return lease_end_kind::nacked;
  case disposition::abandon:
    return lease_end_kind::abandoned;
  case disposition::cancelled:
    return lease_end_kind::cancelled;
  case disposition::limited:
    return lease_end_kind::limited;
  }
  return lease_end_kind::failed;
}

} // namespace

void turn::run(const report& c) {
  reports_answered answered{c.peer, {}};
  for (const auto& r : c.reports) {
    const auto* l = state_.leases.find(r.token);
    auto ran =
      l && l->seq == r.seq ? now_.shard - state_.leases.grant_at(l->grant).at : duration{-1};
    if (auto accepted = answer_to(r, c.peer)) {
      const auto& [code, context] = accepted->error();
      answered.answers.push_back({r.seq, r.token, code, context, ran, ended_queue_});
    }
  }
  if (!answered.answers.empty())
    effects_.emplace_back(std::move(answered));
}

std::optional<result<void>> turn::answer_to(const lease_report& r, peer_id peer) {
  if (auto* l = state_.leases.find(r.token); l && l->seq == r.seq) {
    if (auto ok = check(r); !ok) {
      // The worker will resend the report; until then this keeps the lease of the ended handler
      // alive.
      if (ok.error().code == errc::overloaded)
        extend(*l, {.seq = r.seq, .token = r.token, .queued = !r.started});
      return ok;
    }
    if (r.checkpoint.mark.number != 0)
      save(r.checkpoint);
    end_reported(r);
    return result<void>{};
  }
  if (auto* s = find_known(state_.segments, r.seq)) {
    bool was_accepted = is_repeat(s->view(r.seq), r.token, kind_of(r.how));
    state_.stale_reports += was_accepted ? 0 : 1;
    return error{was_accepted ? errc::already : errc::stale_lease, {}};
  }
  if (r.seq == 0 || r.seq >= state_.sequences.next)
    return error{errc::unknown_task, {}};
  inquiry why{inquiry::kind::repeated_report, peer, 0, r.token, kind_of(r.how)};
  say_not_here(why, r.seq);
  return std::nullopt;
}

void turn::end_reported(const lease_report& r) {
  lease_end e{r.seq, r.token, kind_of(r.how), r.started, task_state::ready, {}, r.text};
  if (!r.costs.empty())
    settle_limits(state_, *find_segment(state_.segments, r.seq), r.token, r.costs);
  switch (r.how) {
  case disposition::completed:
    e.next = task_state::completed;
    e.charged = true;
    append_end(std::move(e));
    return add_follow_ups(r);
  case disposition::cancelled:
    e.next = task_state::cancelled;
    e.charged = true;
    return append_end(std::move(e));
  case disposition::failed_permanently:
    e.next = task_state::dead;
    e.charged = true;
    return append_end(std::move(e));
  case disposition::failed:
  case disposition::nack:
    return r.started ? end_failed(std::move(e), r.delay) : append_end(std::move(e));
  case disposition::abandon: {
    auto entry = find_segment(state_.segments, r.seq)->view(r.seq);
    // Unlimited refunds would hide a task that no worker accepts.
    e.charged = entry.refunds >= tuning::refunds_in_row_max;
    return e.charged ? end_failed(std::move(e), duration{0}) : append_end(std::move(e));
  }
  case disposition::limited:
    return end_limited(std::move(e), r);
  }
}

void turn::end_failed(lease_end e, const std::optional<duration>& delay) {
  const auto& s = *find_segment(state_.segments, e.seq);
  auto attempt = s.view(e.seq).attempt;
  e.charged = true;
  if (attempt >= s.settings.max_attempts) {
    e.next = task_state::dead;
    return append_end(std::move(e));
  }
  auto wait = delay ? *delay : retry_delay(s.settings.retry, attempt, state_.id_of(e.seq));
  if (wait > duration{0}) {
    e.next = task_state::scheduled;
    e.due = now_.shard + wait;
  }
  append_end(std::move(e));
}

leases_ended& turn::record_for(duration retention) {
  // Replay follows positions: an end after a change comes after it, and an end by force also comes
  // after the enqueue.
  auto latest = [](const auto& records) {
    return records.empty() ? log_position{0} : records.back().position;
  };
  auto behind = std::max(latest(changed_), latest(segments_));
  for (auto at = ended_.rbegin(); at != ended_.rend() && at->position > behind; ++at) {
    if (at->retention == retention)
      return *at;
  }
  ended_.push_back({state_.positions.take(1), now_.shard, {}, retention});
  return ended_.back();
}

std::uint16_t turn::add_grant(fencing_token token, leases_ended& record) const {
  const auto& live = state_.leases.grant_at(state_.leases.find(token)->grant);
  auto& grants = record.grants;
  // Leases of one grant mostly end together; one that is listed again does no harm.
  auto is_same = [&](const ended_grant& g) {
    return g.at == live.at && g.worker == live.worker->name;
  };
  auto recent = grants.size() - std::min(grants.size(), ended_grants_compared);
  auto at =
    std::find_if(grants.begin() + static_cast<std::ptrdiff_t>(recent), grants.end(), is_same);
  if (at == grants.end()) {
    if (grants.size() == std::numeric_limits<std::uint16_t>::max())
      return 0;
    at = grants.insert(at, {live.at, live.worker->name});
  }
  return static_cast<std::uint16_t>(at - grants.begin() + 1);
}

void turn::count_activity(std::uint32_t queue, const lease_end& e) {
  auto& activity = state_.queues[queue]->activity;
  bool goes_on = !is_terminal(e.next);
  activity.timed_out += e.kind == lease_end_kind::timed_out ? 1 : 0;
  activity.returned += goes_on && !e.charged ? 1 : 0;
  activity.retried += goes_on && e.charged && e.kind != lease_end_kind::expired ? 1 : 0;
  count_for_breaker(*state_.queues[queue], e);
}

bool turn::shares_note(
  const leases_ended& record, const segment& s, const lease_end& e, task_event::kind what) const {
  auto entry = s.view(e.seq);
  const auto* ended = state_.leases.find(e.token);
  if (record.notes.empty() || entry.notes > 0 || !ended)
    return false;
  const auto& last = record.notes.back();
  const auto& told = last.event;
  const auto& grant = state_.leases.grant_at(ended->grant);
  return last.number == 0 && last.segment == s.first && last.aside == s.aside
         && last.tasks < shared_note_tasks_max && e.seq == last.seq + last.tasks
         && value(e.token) == value(told.token) + last.tasks && told.what == what
         && told.by == author_of(e.kind) && told.attempt == entry.attempt
         && told.state == e.next && (e.next != task_state::scheduled || told.until == e.due)
         && last.granted_at == grant.at && told.worker == grant.worker->name
         && told.text == e.text.view();
}

void turn::append_end(lease_end e) {
  const auto& s = *find_segment(state_.segments, e.seq);
  auto entry = s.view(e.seq);
  auto what = event_of(e.kind, e.next);
  if (entry.cancelling && e.next != task_state::completed) {
    e.next = task_state::cancelled;
    e.due = {};
  }
  const auto& settings = s.settings;
  if (e.next == task_state::dead) {
    e.attempt = entry.attempt;
    if (settings.dead_retention > duration{0})
      e.due = now_.shard + settings.dead_retention;
  }
  auto& record = record_for(settings.retention);
  // The time of the last end, so that no text is kept for less than its retention.
  record.at = now_.shard;
  body_bytes_ += e.text.size();
  if (const auto* l = state_.leases.find(e.token)) {
    if (l->timed)
      effects_.emplace_back(timer_dropped{e.token});
    settle_fairness(state_, s, e.token, e.charged, now_.shard);
  }
  std::optional<task_note> note;
  if (!is_noted(e.kind)) {
    e.grant = add_grant(e.token, record);
  } else if (shares_note(record, s, e, what)) {
    ++record.notes.back().tasks;
  } else {
    note = begin_note(s, e.seq, what, author_of(e.kind));
    note->event.text = cut_for_history(e.text.view());
  }
  end_lease(state_, e, record.position, static_cast<std::uint32_t>(record.ends.size()));
  if (note)
    record.notes.push_back(finish_note(std::move(*note), s));
  count_activity(s.queue, e);
  ended_queue_ = s.queue;
  auto seq = e.seq;
  bool is_over = is_terminal(e.next);
  record.ends.push_back(std::move(e));
  if (!is_over)
    return;
  drop_checkpoint(seq);
  tell_awaiting(seq);
}

result<void> turn::check(const lease_report& r) const {
  if (!r.allowed)
    return r.allowed.error();
  if (r.how != disposition::completed)
    return {};
  if (auto ok = check_new_queues(state_, r.follow_ups); !ok)
    return error{ok.error().code, "follow-up: " + ok.error().context};
  return {};
}

void turn::add_follow_ups(const lease_report& r) {
  // The answer to the completion does not contain their ids.
  std::vector<seq_run> added;
  for (const auto& task : r.follow_ups) {
    if (task.shard == state_.id)
      add_or_meet(task.run, added);
    else
      append_follow_up(task);
  }
}

void turn::append_follow_up(const follow_up& task) {
  if (follow_ups_.empty())
    follow_ups_.push_back({state_.positions.take(1), now_.shard, {}});
  auto& record = follow_ups_.back();
  keep_follow_up(state_, record.position, task);
  body_bytes_ += task.run.tasks.body.size();
  record.tasks.push_back(task);
}

void turn::say_follow_ups() {
  if (state_.follow_up_records.empty())
    return;
  auto said = std::exchange(state_.outgoing_said, state_.follow_up_records.rbegin()->first);
  for (const auto& [shard, records] : state_.outgoing) {
    auto below = records.begin()->first;
    for (auto at = records.upper_bound(said); at != records.end(); ++at)
      effects_.emplace_back(deliver_follow_ups{shard, at->first, below, at->second});
  }
}

void turn::run(const take_follow_ups& c) {
  request_id request{producer_of(c.from), c.number, c.answered_below};
  auto session = state_.producers.find(request.producer);
  bool is_below = session != state_.producers.end() && c.number < session->second.answered_below;
  if (!is_below && !known_answer(request))
    add(request, c.runs);
  follow_ups_taken taken{c.from, c.number};
  if (const auto* answer = is_below ? nullptr : known_answer(request))
    for (const auto& run : answer->tasks)
      for (std::uint32_t i = 0; i < run.count; ++i)
        taken.tasks.push_back(run.first + i);
  effects_.emplace_back(std::move(taken));
}

void turn::run(const confirm_follow_ups& c) {
  auto shard = state_.outgoing.find(c.by);
  if (shard == state_.outgoing.end() || shard->second.erase(c.number) == 0)
    return;
  if (shard->second.empty())
    state_.outgoing.erase(shard);
  settle_sent(c);
  if (--state_.follow_up_records.at(c.number) > 0)
    return;
  state_.delivered_follow_ups.push_back(c.number);
  // This is not a log record, but it is work for the next snapshot, which would otherwise not come.
  ++state_.records_since_snapshot;
}

} // namespace codeq::core
