// SPDX-License-Identifier: Apache-2.0
#include "core/apply.hpp"
#include "core/producer_sessions.hpp"
#include "core/turn.hpp"

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
  fate.retention = s.settings.retention;
  return fate;
}

} // namespace

checkpoint_taken turn::make_checkpoint() {
  checkpoint_taken c;
  c.position = state_.positions.take(1);
  c.at = now_.shard;
  c.ended_producers = ended_sessions(state_, now_.shard);
  c.producers = used_sessions(state_, now_.shard);
  for (const auto& queue : state_.queues)
    c.queues.push_back(queue->totals);
  for (auto first : state_.dirty) {
    auto& s = state_.segments.at(first);
    if (s.kept == 0)
      c.closed.push_back(fate_of(state_, s, now_.shard));
    else
      c.touched.push_back({s.first, s.aside, s.not_before, s.entries});
  }
  c.merged_changes = state_.change_records;
  c.ended_grants = state_.leases.take_ended_grants();
  return c;
}

} // namespace codeq::core
