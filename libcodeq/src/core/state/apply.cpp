// SPDX-License-Identifier: Apache-2.0
#include "core/state/apply.hpp"

#include "base/assert.hpp"
#include "core/state/producer_sessions.hpp"
#include "core/state/queue_fairness.hpp"
#include "core/state/queue_removal.hpp"
#include "core/state/queue_depths.hpp"
#include "core/state/queue_slots.hpp"
#include "core/state/survivors.hpp"
#include "core/state/task_checkpoints.hpp"
#include "core/state/task_index.hpp"
#include "core/state/task_keys.hpp"
#include "core/state/task_limits.hpp"
#include "core/state/task_outcomes.hpp"
#include "core/tables/history.hpp"

#include <algorithm>
#include <iterator>

namespace codeq::core {

namespace {

/// The end of `limit` from now on; the latest time point when there is no limit.
monotonic_time end_of(const shard_state& state, duration limit) {
  return limit == duration{0} ? monotonic_time::max() : state.steady + limit;
}

/// Adds the lease that the task's entry already names, with fresh deadlines. @pre the grant was
/// added
void insert_fresh_lease(shard_state& state, const segment& s, sequence seq, log_position grant) {
  lease l;
  l.seq = seq;
  l.grant = grant;
  l.run_deadline = end_of(state, s.settings.run_timeout);
  l.progress_deadline = end_of(state, s.settings.progress_timeout);
  monotonic_time unbeaten = state.steady + state.leases.grant_at(grant).lease;
  l.deadline = std::min({unbeaten, l.run_deadline, l.progress_deadline});
  state.leases.insert(s.view(seq).token, l, state.steady);
  if (s.limits)
    occupy_limits(state, s);
}

/// Counts an end in the queue's totals.
void count_end(shard_state& state, std::uint32_t queue, const lease_end& e) {
  if (e.kind != lease_end_kind::expired && !is_terminal(e.next))
    return;
  auto& totals = state.change_totals(queue);
  totals.lost += e.kind == lease_end_kind::expired ? 1 : 0;
  totals.completed += e.next == task_state::completed ? 1 : 0;
  totals.dead += e.next == task_state::dead ? 1 : 0;
  totals.cancelled += e.next == task_state::cancelled ? 1 : 0;
}

/// Writes the end into the task's entry.
void end_entry(task_entry& entry, const lease_end& e, log_position outcome, std::uint32_t index) {
  bool was_leased = entry.state == task_state::leased;
  entry.notes += is_noted(e.kind) ? 1 : 0;
  entry.outcome = outcome;
  entry.outcome_index = index;
  entry.last_end = e.kind;
  entry.state = e.next;
  entry.retry_at = e.due;
  entry.cancelling = false;
  if (!was_leased)
    return;
  if (e.kind == lease_end_kind::limited) {
    --entry.attempt;
  } else if (!e.charged) {
    --entry.attempt;
    entry.refunds = static_cast<std::uint8_t>(std::min(entry.refunds + 1, 255));
  } else {
    entry.refunds = 0;
  }
  // An attempt that is given back neither belongs to a row of lost ones nor ends it.
  if (e.charged)
    entry.lost = e.kind == lease_end_kind::expired
                   ? static_cast<std::uint8_t>(std::min(entry.lost + 1, 255))
                   : std::uint8_t{0};
}

/// The state of an unleased live task if it is not gated.
task_state state_by_time(const shard_state& state, const segment& s, sequence seq) {
  return s.eligible_at(seq) > state.at ? task_state::scheduled : task_state::ready;
}

/// Changes the entry of an unleased task while the task is in no index.
void change_entry(shard_state& state, segment& s, const task_change& change) {
  auto& entry = s.touch(change.seq);
  switch (change.kind) {
  case change_kind::cancelled:
    entry.state = task_state::cancelled;
    entry.retry_at = {};
    --s.kept;
    ++state.change_totals(s.queue).cancelled;
    break;
  case change_kind::rescheduled:
    s.not_before = change.not_before;
    entry.retry_at = change.retry_at;
    if (entry.state != task_state::gated)
      entry.state = state_by_time(state, s, change.seq);
    break;
  case change_kind::redriven:
    entry.retry_at = {};
    // A task that was failed by force may still be deferred.
    entry.state = s.group.empty() ? state_by_time(state, s, change.seq) : task_state::gated;
    entry.attempt = 0;
    entry.lost = 0;
    entry.refunds = 0;
    // The error text was in the record of its death, which is removed.
    entry.outcome = 0;
    entry.outcome_index = 0;
    break;
  case change_kind::purged:
    s.kept -= is_kept(entry) ? 1 : 0;
    entry.state = task_state::cancelled;
    entry.retry_at = {};
    entry.gone = true;
    release_key(state, s);
    break;
  case change_kind::cancel_requested:
  case change_kind::body_replaced:
    break;
  }
}

void apply_event(shard_state& state, const segment_appended& e) {
  auto& s = add_segment(state, e);
  grow_segment(state, s, e.count, e.body_bytes);
  for (const auto& mark : e.requests)
    remember_request(
      state, mark.request, e.queue.tenant, {e.first + mark.offset, mark.count}, e.at);
}

void apply_event(shard_state& state, const batch_granted& e) {
  state.leases.add_grant(e.position, {e.worker, e.lease, e.at});
  auto token = value(e.first_token);
  for (const auto& run : e.runs) {
    for (std::uint32_t i = 0; i < run.count; ++i, ++token) {
      auto* s = find_segment(state.segments, run.first + i);
      CODEQ_ASSERT(s);
      start_lease(state, *s, run.first + i, static_cast<fencing_token>(token), e.position);
    }
  }
}

void apply_event(shard_state& state, const leases_ended& e) {
  for (std::uint32_t i = 0; i < e.ends.size(); ++i)
    end_lease(state, e.ends[i], e.position, i);
}

void apply_event(shard_state& state, const tasks_changed& e) {
  state.change_records.push_back(e.position);
  for (const auto& change : e.changes)
    change_task(state, change, e.position);
  for (const auto& answered : e.answers)
    remember_answer(state, answered, e.at);
  note_purges(state, e.purges);
}

void apply_event(shard_state& state, const queue_configured& e) {
  set_queue(state, e.queue, e.settings);
}

void apply_event(shard_state& state, const follow_ups_sent& e) {
  for (const auto& task : e.tasks)
    keep_follow_up(state, e.position, task);
}

void apply_event(shard_state&, const commands_audited&) {
}

void apply_event(shard_state& state, const schedule_changed& e) {
  if (e.is_removed)
    return state.schedules.erase(e.name);
  const auto* known = state.schedules.find(e.name);
  auto definition = e.definition ? e.definition : known->definition;
  state.schedules.put(e.name, std::move(definition), e.progress);
}

void apply_event(shard_state& state, const limit_defined& e) {
  state.limits.define(e.limit, e.definition, e.at);
}

void apply_event(shard_state& state, const limit_keys_changed& e) {
  if (e.used_up_at != state.limits.used_up_at() && e.used_up_at != timestamp{})
    state.limits.restore_used_up(e.used_up_at);
  for (const auto& mark : e.keys)
    state.limits.restore(mark);
}

void apply_event(shard_state& state, const permits_changed& e) {
  change_permits(state, e);
}

void apply_event(shard_state& state, const checkpoints_changed& e) {
  for (const auto& checkpoint : e.saved)
    set_checkpoint(state, checkpoint.seq, checkpoint.mark);
  for (auto seq : e.dropped)
    forget_checkpoint(state, seq);
}

void drop_follow_ups(shard_state& state, log_position record) {
  state.follow_up_records.erase(record);
  for (auto shard = state.outgoing.begin(); shard != state.outgoing.end();) {
    shard->second.erase(record);
    shard = shard->second.empty() ? state.outgoing.erase(shard) : std::next(shard);
  }
}

void apply_event(shard_state& state, const snapshot_taken& e) {
  add_asides(state, leave_segments(state, e.copied));
  note_records(state, e.closed);
  // Packs its own blocks in place of the event's: a follower may have released other due tasks than
  // the primary.
  settle_snapshot(state, e, pack_changed(state));
}

} // namespace

void mark_dirty(shard_state& state, segment& s) {
  if (!std::exchange(s.dirty, true)) {
    state.dirty.push_back(s.first);
    state.segments.note_touched(s.count);
  }
}

std::vector<segment_block> pack_changed(const shard_state& state) {
  auto changed = state.dirty;
  std::sort(changed.begin(), changed.end());
  return state.segments.pack(changed, [&](std::uint32_t queue) -> const queue_address& {
    return state.queues[queue]->address;
  });
}

void settle_snapshot(
  shard_state& state, const snapshot_taken& e, const std::vector<segment_block>& blocks) {
  for (const auto& fate : e.closed) {
    auto& closed = state.segments.at(fate.first);
    if (!fate.aside)
      leave_closed(state, closed);
    // Otherwise a copy of its first task has taken its place.
    if (closed.kept > 0)
      continue;
    release_key(state, closed);
    state.segments.erase(fate.first);
  }
  apply_key_records(state, e);
  for (auto first : state.dirty) {
    if (auto* s = state.segments.find_unpacked(first)) {
      s->dirty = false;
      note_sparse(state, *s);
    }
  }
  state.dirty.clear();
  state.segments.install(blocks, [&](const queue_address& queue) { return state.intern(queue); });
  settle_sessions(state, e);
  list_queue_ends(state);
  state.settle_totals();
  settle_holds(state);
  state.change_records.clear();
  for (auto record : e.delivered_follow_ups)
    drop_follow_ups(state, record);
  state.delivered_follow_ups.clear();
  state.records_since_snapshot = 0;
  remove_queues(state, e);
}

segment& add_segment(shard_state& state, const segment_appended& e) {
  segment s;
  s.first = e.first;
  s.queue = state.intern(e.queue);
  s.priority = e.priority;
  s.aside = e.is_aside();
  s.settings = e.settings;
  s.enqueued_at = e.at;
  s.not_before = e.not_before;
  s.allow_promotion = e.allow_promotion;
  s.group = e.group;
  if (!e.key.empty())
    s.key = std::make_unique<held_key>(held_key{e.key});
  s.appended = e.position;
  s.set_mark(e.fairness);
  s.set_limits(e.limits);
  auto& added = state.segments.add(std::move(s));
  mark_dirty(state, added);
  state.use_fairness(added);
  hold_key(state, added, e.position);
  return added;
}

void grow_segment(shard_state& state, segment& s, std::uint32_t count, std::uint64_t body_bytes) {
  CODEQ_ASSERT(s.entries.empty());
  s.count += count;
  s.kept += count;
  s.body_bytes += body_bytes;
  if (s.aside) {
    auto& entry = s.touch(s.first);
    entry.state = s.fresh_state();
    enter_index(state, s, s.first, entry);
    settle_group_of(state, s);
  } else {
    count_fresh(state, s, count);
  }
  if (s.fairness)
    state.queue_of(s).fair->take_weight(s);
}

void start_lease(
  shard_state& state, segment& s, sequence seq, fencing_token token, log_position grant) {
  auto& queue = state.queue_of(s);
  if (queue.fair)
    queue.fair->take(s);
  leave_index(state, s, seq);
  auto& entry = s.touch(seq);
  entry.state = task_state::leased;
  entry.token = token;
  entry.retry_at = {};
  ++entry.attempt;
  ++queue.leased;
  spend_slot(state, s.queue);
  mark_dirty(state, s);
  insert_fresh_lease(state, s, seq, grant);
}

void end_lease(shard_state& state, const lease_end& e, log_position outcome, std::uint32_t index) {
  auto* s = find_segment(state.segments, e.seq);
  CODEQ_ASSERT(s);
  auto& entry = s->touch(e.seq);
  bool was_leased = entry.state == task_state::leased;
  bool may_end = was_leased || (e.kind == lease_end_kind::forced && !is_terminal(entry.state));
  CODEQ_ASSERT(may_end && entry.token == e.token);
  auto& queue = state.queue_of(*s);
  if (was_leased) {
    --queue.leased;
    end_slot(state, s->queue);
    state.leases.erase(e.token);
    if (s->limits)
      free_limits(state, *s);
  } else {
    leave_index(state, *s, e.seq);
  }
  state.stir(s->queue);
  release_outcome(state, entry);
  end_entry(entry, e, outcome, index);
  hold_outcome(state, entry);
  enter_index(state, *s, e.seq, entry);
  if (was_leased && queue.fair)
    queue.fair->drop(*s);
  count_end(state, s->queue, e);
  // A dead task keeps its segment: its payload and its errors have to stay readable.
  if (e.next == task_state::completed || e.next == task_state::cancelled)
    --s->kept;
  mark_dirty(state, *s);
  settle_group_of(state, *s);
}

void change_task(shard_state& state, const task_change& change, log_position position) {
  auto* s = find_segment(state.segments, change.seq);
  CODEQ_ASSERT(s);
  mark_dirty(state, *s);
  s->touch(change.seq).notes += is_noted(change.kind) ? 1 : 0;
  if (change.kind == change_kind::cancel_requested) {
    s->touch(change.seq).cancelling = true;
    return;
  }
  if (change.kind == change_kind::body_replaced) {
    s->replaced = true;
    s->body_bytes = change.body_bytes;
    return;
  }
  if (change.kind == change_kind::redriven)
    hold_key(state, *s, position);
  leave_index(state, *s, change.seq);
  release_outcome(state, s->view(change.seq));
  change_entry(state, *s, change);
  hold_outcome(state, s->view(change.seq));
  enter_index(state, *s, change.seq, s->view(change.seq));
  settle_group_of(state, *s);
}

void set_queue(shard_state& state, const queue_address& queue, const queue_settings& settings) {
  auto index = state.intern(queue);
  auto& known = *state.queues[index];
  // A resumed queue, and one with another breaker, begins a new window.
  if (
    known.settings.paused != settings.paused
    || known.settings.config.pause_when_failing != settings.config.pause_when_failing)
    known.failures.reset();
  if (known.fair && known.settings.config.fairness_weights != settings.config.fairness_weights)
    known.fair->fix_weights(settings.config.fairness_weights);
  const auto max_leased = known.settings.config.max_leased;
  const auto max_depth = known.settings.config.max_depth;
  known.settings = settings;
  change_maximum(state, index, max_leased);
  change_depth(state, index, max_depth);
  // The next snapshot checks whether anything else keeps the queue.
  if (settings == queue_settings{})
    static_cast<void>(state.change_totals(index));
  state.stir(index);
}

void note_purges(shard_state& state, const std::vector<queue_purge>& purges) {
  if (purges.empty())
    return;
  // Readers on other threads keep the old marks, so they are replaced.
  auto marks = std::make_shared<purge_marks>(state.purged ? *state.purged : purge_marks{});
  for (const auto& purge : purges) {
    auto queue = state.intern(purge.queue);
    if (purge.below > state.queues[queue]->totals.purged_below)
      mark_purged(state.change_totals(queue), purge.below);
    (*marks)[purge.queue] = state.queues[queue]->totals.purged_below;
  }
  state.purged = std::move(marks);
}

void keep_follow_up(shard_state& state, log_position record, const follow_up& task) {
  auto& runs = state.outgoing[task.shard][record];
  auto& missing = state.follow_up_records[record];
  missing += runs.empty() ? 1 : 0;
  runs.push_back(task.run);
}

std::size_t release_due(shard_state& state, timestamp now, std::size_t limit) {
  std::size_t released = 0;
  while (released < limit && !state.due.empty() && time_of(state.due.front()) <= now) {
    auto seq = state.due.front().second;
    auto* s = find_segment(state.segments, seq);
    mark_dirty(state, *s);
    leave_index(state, *s, seq);
    auto& entry = s->touch(seq);
    entry.state = task_state::ready;
    entry.retry_at = {};
    enter_index(state, *s, seq, entry);
    ++released;
  }
  return released;
}

void restore_grant(shard_state& state, const batch_granted& e) {
  live_grant grant{e.worker, e.lease, e.at};
  auto token = value(e.first_token);
  bool added = false;
  for (const auto& run : e.runs) {
    for (std::uint32_t i = 0; i < run.count; ++i, ++token) {
      auto* s = find_segment(state.segments, run.first + i);
      if (!s)
        continue;
      auto entry = s->view(run.first + i);
      if (entry.state != task_state::leased || value(entry.token) != token)
        continue;
      if (!std::exchange(added, true))
        state.leases.add_grant(e.position, grant);
      insert_fresh_lease(state, *s, run.first + i, e.position);
    }
  }
}

void apply(shard_state& state, const event& e) {
  std::visit(
    [&](const auto& x) {
      state.at = std::max(state.at, x.at);
      apply_event(state, x);
    },
    e);
}

} // namespace codeq::core
