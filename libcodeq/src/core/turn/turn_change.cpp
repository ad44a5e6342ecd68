// SPDX-License-Identifier: Apache-2.0
#include "core/state/apply.hpp"
#include "core/state/queue_depths.hpp"
#include "core/tables/history.hpp"
#include "core/turn/task_selection.hpp"
#include "core/turn/turn.hpp"

#include <algorithm>
#include <utility>

namespace codeq::core {

namespace {

constexpr auto by_operator = task_event::author::operator_user;

/// The state of a live task after the force; a pending cancellation may change it.
task_state next_of(force_kind how) {
  switch (how) {
  case force_kind::revoke:
    return task_state::ready;
  case force_kind::complete:
    return task_state::completed;
  case force_kind::fail:
    return task_state::dead;
  }
  return task_state::ready;
}

operator_action action_of(force_kind how) {
  switch (how) {
  case force_kind::revoke:
    return operator_action::force_revoke;
  case force_kind::complete:
    return operator_action::force_complete;
  case force_kind::fail:
    return operator_action::force_fail;
  }
  return operator_action::force_revoke;
}

operator_action action_of(const change_many& c) {
  switch (c.what) {
  case bulk_kind::redrive:
  case bulk_kind::redrive_listed:
  case bulk_kind::count_redrive:
    return operator_action::dead_redrive;
  case bulk_kind::purge_dead:
  case bulk_kind::purge_listed:
  case bulk_kind::count_purge:
    return operator_action::dead_purge;
  case bulk_kind::purge_all:
    break;
  }
  return c.part.filter.queue.empty() ? operator_action::tenant_purge
                                     : operator_action::queue_purge;
}

/// The part of the tasks that a command of this kind selects.
task_part part_of(const change_many& c) {
  auto part = c.part;
  if (c.what == bulk_kind::purge_all)
    return part;
  // There is nothing below the first sequence.
  if (part.filter.state.value_or(task_state::dead) != task_state::dead)
    part.below = 1;
  part.filter.state = task_state::dead;
  return part;
}

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
    if (!is_guarded || entry.retry_at != timestamp{})
      audit(operator_action::promote, state_.queue_of(*s).address, *seq, 1);
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
    audit(operator_action::redrive, state_.queue_of(*s).address, c.seq, 1);
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
  auto answer = cancel_task(*s, *seq, by_operator);
  answer.peer = c.peer;
  answer.number = c.number;
  effects_.emplace_back(answer);
  stop_holder(*s, *seq);
}

change_answered turn::cancel_task(const segment& s, sequence seq, task_event::author by) {
  auto entry = s.view(seq);
  change_answered answer{0, 0, seq, change_result::unchanged, entry.state};
  if (entry.state == task_state::leased) {
    answer.result = change_result::requested;
    if (!entry.cancelling) {
      append_change({seq, change_kind::cancel_requested, {}, {}}, by);
      audit(operator_action::cancel, state_.queue_of(s).address, seq, 1);
    }
  } else if (!is_terminal(entry.state)) {
    answer.result = change_result::changed;
    answer.state = task_state::cancelled;
    append_change({seq, change_kind::cancelled, {}, {}}, by);
    audit(operator_action::cancel, state_.queue_of(s).address, seq, 1);
    tell_awaiting(seq);
  }
  return answer;
}

void turn::stop_holder(const segment& s, sequence seq) {
  auto entry = s.view(seq);
  if (entry.state != task_state::leased)
    return;
  const auto& l = *state_.leases.find(entry.token);
  // A worker that is disconnected is notified when it resumes; until then its lease runs out by
  // itself.
  auto peer = state_.peer_of(*state_.leases.grant_at(l.grant).worker);
  if (peer && !l.cancel_sent)
    send_cancel(*peer, entry.token);
}

void turn::append_change(task_change change, task_event::author by) {
  const auto& s = *find_segment(state_.segments, change.seq);
  // The tasks of a key are ordered by the positions at which they became live.
  if (change.kind == change_kind::redriven)
    ++state_.queue_of(s).activity.redriven;
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
  if (change.kind == change_kind::redriven)
    note_depth(state_, s.queue);
  if (change.kind == change_kind::cancelled || change.kind == change_kind::purged)
    drop_checkpoint(change.seq);
  record.changes.push_back(std::move(change));
}

tasks_changed& turn::open_changes(bool is_new) {
  // Replay follows positions: a change comes after the enqueue and the ends that it depends on.
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

void turn::run(const force& c) {
  auto* s = find_to_change(c.peer, c.number, c.seq);
  if (!s)
    return;
  change_answered answer{c.peer, c.number, c.seq, change_result::unchanged, s->view(c.seq).state};
  bool can =
    c.how == force_kind::revoke ? answer.state == task_state::leased : !is_terminal(answer.state);
  if (can) {
    end_by_force(*s, c);
    answer.result = change_result::changed;
    answer.state = s->view(c.seq).state;
    const auto& queue = state_.queue_of(*s).address;
    auto detail = std::string(c.text.view());
    audit({c.origin, action_of(c.how), queue.tenant, queue.queue, c.seq, 1, std::move(detail)});
  }
  effects_.emplace_back(answer);
}

void turn::end_by_force(segment& s, const force& c) {
  auto entry = s.view(c.seq);
  lease_end e{c.seq, entry.token, lease_end_kind::forced, false, next_of(c.how), {}, c.text};
  if (entry.state == task_state::leased) {
    // A task that its worker has not begun is not charged, whatever ends it.
    e.charged = c.how != force_kind::revoke && !state_.leases.find(entry.token)->queued;
    tell_holder(entry.token);
  }
  append_end(std::move(e));
}

void turn::tell_holder(fencing_token token) {
  const auto& l = *state_.leases.find(token);
  auto peer = state_.peer_of(*state_.leases.grant_at(l.grant).worker);
  if (!peer)
    return;
  // One message for all leases that a command takes from a holder.
  for (auto at = effects_.rbegin(); at != effects_.rend(); ++at) {
    auto* lost = std::get_if<leases_lost>(&*at);
    if (lost && lost->peer == *peer)
      return lost->leases.push_back({l.seq, token});
    if (!lost && !std::holds_alternative<timer_dropped>(*at))
      break;
  }
  effects_.emplace_back(leases_lost{*peer, {{l.seq, token}}});
}

void turn::run(const change_many& c) {
  if (is_of_list(c.what)) {
    bulk_answered answer{c.peer, c.number, change_listed(c)};
    if (answer.changed > 0 && !is_count(c.what))
      audit(action_of(c), {c.part.filter.tenant, c.part.filter.queue}, 0, answer.changed);
    effects_.emplace_back(answer);
    return;
  }
  auto selected = select_tasks(state_, part_of(c));
  bulk_answered answer{c.peer, c.number, 0, selected.after, selected.more};
  if (c.what == bulk_kind::redrive) {
    answer.changed = redrive_all(selected.tasks);
  } else {
    purge_all(selected.tasks);
    answer.changed = selected.tasks.size();
  }
  // The last part also purges the queue's tasks that have left memory.
  bool is_whole = c.what == bulk_kind::purge_all && !c.part.filter.state && !answer.more;
  bool is_marked = is_whole && mark_purged(c.part);
  const auto& filter = c.part.filter;
  if (answer.changed > 0 || is_marked)
    audit(action_of(c), {filter.tenant, filter.queue}, 0, answer.changed);
  effects_.emplace_back(answer);
}

std::size_t turn::change_listed(const change_many& c) {
  std::vector<sequence> tasks;
  for (const auto& listed : c.tasks) {
    const auto* s = find_segment(state_.segments, listed.seq);
    if (!s)
      continue;
    auto entry = s->view(listed.seq);
    bool is_same = entry.state == task_state::dead && entry.token == listed.token;
    const auto& queue = state_.queues[s->queue]->address;
    bool is_of_part = queue.tenant == c.part.filter.tenant
                      && (c.part.filter.queue.empty() || queue.queue == c.part.filter.queue);
    if (is_same && is_of_part)
      tasks.push_back(listed.seq);
  }
  if (c.what == bulk_kind::redrive_listed)
    return redrive_all(tasks);
  if (c.what == bulk_kind::purge_listed)
    purge_all(tasks);
  if (c.what == bulk_kind::count_redrive)
    std::erase_if(tasks, [this](sequence seq) {
      return is_key_taken(*find_segment(state_.segments, seq));
    });
  return tasks.size();
}

std::size_t turn::redrive_all(const std::vector<sequence>& tasks) {
  std::size_t redriven = 0;
  for (auto seq : tasks) {
    if (is_key_taken(*find_segment(state_.segments, seq)))
      continue;
    append_change({seq, change_kind::redriven, {}, {}}, task_event::author::operator_user);
    ++redriven;
  }
  return redriven;
}

} // namespace codeq::core
