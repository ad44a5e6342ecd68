// SPDX-License-Identifier: Apache-2.0
#include "core/apply.hpp"
#include "core/deliberate_fault.hpp"
#include "core/routing.hpp"
#include "core/task_keys.hpp"
#include "core/turn.hpp"

#include <algorithm>

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
  return fate;
}

segment_entries entries_of(const segment& s) {
  segment_entries touched{s.first, s.aside, s.not_before, s.entries};
  touched.key_since = s.key ? s.key->since : 0;
  touched.replaced = s.replaced;
  touched.body_bytes = s.replaced ? s.body_bytes : 0;
  return touched;
}

/// In order of their ids, so that equal states give equal checkpoints.
std::vector<producer_record> producer_records(const shard_state& state) {
  std::vector<producer_record> records;
  for (const auto& [id, session] : state.producers) {
    producer_record r{id, session.answered_below, session.last_used, {}};
    if (is_active(deliberate_fault::request_forgotten_by_checkpoint))
      continue;
    for (const auto& [number, answer] : session.answers)
      r.answers.push_back({number, answer});
    records.push_back(std::move(r));
  }
  std::sort(records.begin(), records.end(), [](const auto& a, const auto& b) {
    return a.producer < b.producer;
  });
  return records;
}

} // namespace

checkpoint_taken turn::make_checkpoint() {
  std::erase_if(state_.producers, [&](const auto& p) {
    // A shard's follow-ups may come again whenever it restarts.
    return !is_of_shard(p.first)
           && now_.shard - p.second.last_used > limits::producer_session_idle_max;
  });
  checkpoint_taken c;
  c.position = state_.positions.take(1);
  c.at = now_.shard;
  c.producers = producer_records(state_);
  for (const auto& queue : state_.queues)
    c.queues.push_back(queue->totals);
  for (auto first : state_.dirty) {
    auto& s = state_.segments.at(first);
    if (s.kept == 0) {
      c.closed.push_back(fate_of(state_, s, now_.shard));
      note_closed_key(state_, s, c);
    } else {
      c.touched.push_back(entries_of(s));
    }
  }
  note_expired_keys(state_, c);
  c.merged_changes = state_.change_records;
  c.delivered_follow_ups = state_.delivered_follow_ups;
  c.ended_grants = state_.leases.take_ended_grants();
  return c;
}

} // namespace codeq::core
