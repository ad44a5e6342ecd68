// SPDX-License-Identifier: Apache-2.0
#include "core/apply.hpp"
#include "core/history.hpp"
#include "core/turn.hpp"

#include <algorithm>
#include <utility>

namespace codeq::core {

namespace {

constexpr auto by_operator = task_event::author::operator_user;

} // namespace

segment* turn::find_to_change(peer_id peer, std::uint64_t number, sequence seq) {
  auto* s = find_known(state_.segments, seq);
  if (!s)
    say_not_here({inquiry::kind::change, peer, number, {}, {}}, seq);
  return s;
}

void turn::run(const promote& c) {
  auto seq = find_named(c.peer, c.number, c.seq, c.key);
  auto* s = seq ? find_to_change(c.peer, c.number, *seq) : nullptr;
  if (!s)
    return;
  auto entry = s->view(*seq);
  change_answered answer{c.peer, c.number, *seq, change_result::unchanged, entry.state};
  bool waits = entry.state == task_state::gated && s->eligible_at(*seq) > now_.shard;
  if (waits || entry.state == task_state::scheduled) {
    bool is_guarded = !s->allow_promotion && s->not_before > now_.shard;
    auto not_before = is_guarded ? s->not_before : timestamp{};
    if (s->not_before != not_before || entry.retry_at != timestamp{})
      append_change({*seq, change_kind::rescheduled, not_before, {}}, by_operator);
    answer.result = is_guarded ? change_result::guarded : change_result::changed;
    answer.state = s->view(*seq).state;
  }
  effects_.emplace_back(answer);
}

void turn::run(const redrive& c) {
  auto* s = find_to_change(c.peer, c.number, c.seq);
  if (!s)
    return;
  change_answered answer{c.peer, c.number, c.seq, change_result::unchanged, s->view(c.seq).state};
  if (answer.state == task_state::dead && is_key_taken(*s)) {
    answer.result = change_result::key_taken;
  } else if (answer.state == task_state::dead) {
    append_change({c.seq, change_kind::redriven, {}, {}}, by_operator);
    answer.result = change_result::changed;
    answer.state = s->view(c.seq).state;
  }
  effects_.emplace_back(answer);
}

void turn::run(const cancel& c) {
  auto seq = find_named(c.peer, c.number, c.seq, c.key);
  auto* s = seq ? find_to_change(c.peer, c.number, *seq) : nullptr;
  if (!s)
    return;
  auto entry = s->view(*seq);
  change_answered answer{c.peer, c.number, *seq, change_result::unchanged, entry.state};
  if (entry.state == task_state::leased) {
    answer.result = change_result::requested;
    if (!entry.cancelling)
      append_change({*seq, change_kind::cancel_requested, {}, {}}, by_operator);
  } else if (!is_terminal(entry.state)) {
    answer.result = change_result::changed;
    answer.state = task_state::cancelled;
    append_change({*seq, change_kind::cancelled, {}, {}}, by_operator);
    tell_awaiting(*seq);
  }
  effects_.emplace_back(answer);
  if (entry.state != task_state::leased)
    return;
  const auto& l = *state_.leases.find(entry.token);
  // A worker that is away is told when it resumes; until then its lease runs out by itself.
  auto peer = state_.peer_of(*state_.leases.grant_at(l.grant).worker);
  if (peer && !l.cancel_sent)
    send_cancel(*peer, entry.token);
}

void turn::append_change(task_change change, task_event::author by) {
  const auto& s = *find_segment(state_.segments, change.seq);
  // The tasks of a key are ordered by the positions at which they became live.
  bool takes_key = change.kind == change_kind::redriven && s.key;
  auto& record = open_changes(takes_key);
  if (is_noted(change.kind)) {
    auto note = begin_note(s, change.seq, event_of(change.kind), by);
    change_task(state_, change, record.position);
    record.notes.push_back(finish_note(std::move(note), s));
  } else {
    change.notes = s.view(change.seq).notes;
    change_task(state_, change, record.position);
  }
  if (change.kind == change_kind::cancelled || change.kind == change_kind::purged)
    drop_checkpoint(change.seq);
  record.changes.push_back(std::move(change));
}

tasks_changed& turn::open_changes(bool is_new) {
  // Replay follows positions: a change stands behind the enqueue and the ends that it builds on.
  auto is_behind = [&](const auto& records) {
    return records.empty() || records.back().position < changed_.back().position;
  };
  if (is_new || changed_.empty() || !is_behind(ended_) || !is_behind(segments_)) {
    changed_.push_back({state_.positions.take(1), now_.shard, {}});
    state_.change_records.push_back(changed_.back().position);
  }
  return changed_.back();
}

void turn::send_cancel(peer_id peer, fencing_token token) {
  auto& l = *state_.leases.find(token);
  if (!l.cancel_sent) {
    l.cancel_sent = true;
    l.run_deadline = std::min(l.run_deadline, now_.steady + limits::cancel_grace_default);
    bool sooner = l.run_deadline < l.deadline;
    l.deadline = std::min(l.deadline, l.run_deadline);
    if (sooner && l.timed)
      effects_.emplace_back(timer_wanted{l.seq, token, l.deadline});
  }
  auto grace = std::max(duration{0}, l.run_deadline - now_.steady);
  effects_.emplace_back(cancel_wanted{peer, {l.seq, token}, grace});
}

} // namespace codeq::core
