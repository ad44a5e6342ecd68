// SPDX-License-Identifier: Apache-2.0
#include "core/state/apply.hpp"
#include "core/state/producer_sessions.hpp"
#include "core/state/queue_removal.hpp"
#include "core/state/survivors.hpp"
#include "core/state/task_keys.hpp"
#include "core/turn/turn.hpp"

namespace codeq::core {

namespace {

segment_fate fate_of(shard_state& state, segment& s, timestamp now) {
  segment_fate fate;
  fate.first = s.first;
  fate.aside = s.aside;
  fate.closed_at = now;
  fate.enqueued_at = s.enqueued_at;
  fate.queue = state.queue_of(s).address;
  fate.priority = s.priority;
  fate.max_attempts = s.settings.max_attempts;
  fate.entries = s.entries;
  fate.replaced = s.replaced;
  fate.copied = s.copied;
  fate.retention = s.settings.retention;
  fate.group = s.group;
  fate.fairness = s.mark();
  fate.limits = s.limit_uses();
  fate.key = s.key ? s.key->name : std::string();
  return fate;
}

} // namespace

void turn::run(const copy_survivors& c) {
  state_.copies.insert_or_assign(c.segment, c);
  // They are work for a snapshot, also when nothing else happens.
  ++state_.records_since_snapshot;
}

snapshot_taken turn::make_snapshot() {
  snapshot_taken c;
  c.position = state_.positions.take(1);
  c.at = now_.shard;
  note_sessions(state_, c);
  c.copied = take_copies(state_);
  auto asides = leave_segments(state_, c.copied);
  std::vector<segment*> closed;
  for (auto first : state_.dirty)
    if (auto& s = state_.segments.at(first); s.kept == 0)
      closed.push_back(&s);
  // There may be thousands of them, each with its task's history, which would be moved again and
  // again.
  c.closed.reserve(closed.size());
  for (auto* s : closed) {
    c.closed.push_back(fate_of(state_, *s, now_.shard));
    note_closed_key(state_, *s, c);
  }
  add_asides(state_, std::move(asides));
  note_records(state_, c.closed);
  list_queue_ends(state_);
  note_queue_ends(state_, c);
  for (auto queue : state_.changed_totals)
    c.queues.push_back(state_.queues[queue]->totals);
  c.blocks = pack_changed(state_);
  c.next_sequence = state_.sequences.next;
  c.merged_changes = state_.change_records;
  c.delivered_follow_ups = state_.delivered_follow_ups;
  c.ended_grants = state_.leases.take_ended_grants();
  return c;
}

} // namespace codeq::core
