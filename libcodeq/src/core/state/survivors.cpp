// SPDX-License-Identifier: Apache-2.0
#include "core/state/survivors.hpp"

#include "base/assert.hpp"
#include "base/tuning.hpp"
#include "core/state/apply.hpp"

#include <algorithm>
#include <utility>

namespace codeq::core {

namespace {

/// Tasks that one snapshot copies: each is a record of its own.
constexpr std::size_t copied_tasks_max = 8192;

/// True when the task is dead, or waits so long for its retry that a copy is worth its writing.
bool stays_long(const shard_state& state, const task_entry& entry) {
  if (entry.state == task_state::dead)
    return true;
  auto wait_min = state.segments.limits().copied_wait_min;
  return entry.state == task_state::scheduled && entry.retry_at >= state.at + wait_min;
}

segment_appended copy_of(const shard_state& state, const segment& s, sequence seq) {
  segment_appended copy;
  copy.position = s.appended;
  copy.at = s.enqueued_at;
  copy.first = seq;
  copy.queue = state.queues[s.queue]->address;
  copy.priority = s.priority;
  copy.settings = s.settings;
  copy.fairness = s.mark();
  copy.count = 1;
  return copy;
}

/// The entry of a task in the segment that it left.
task_entry entry_left() {
  task_entry left;
  left.state = task_state::cancelled;
  left.gone = true;
  return left;
}

segment aside_of(const segment& from, const segment_appended& copy) {
  segment aside;
  aside.first = copy.first;
  aside.count = aside.kept = 1;
  aside.queue = from.queue;
  aside.priority = from.priority;
  aside.aside = aside.copied = true;
  aside.settings = from.settings;
  aside.set_mark(from.mark());
  aside.enqueued_at = from.enqueued_at;
  aside.appended = from.appended;
  aside.body_bytes = copy.body_bytes;
  aside.entries = {from.view(copy.first)};
  return aside;
}

/// Tasks of the segment that are to be copied, ascending.
std::vector<sequence> tasks_left(const segment& s) {
  std::vector<sequence> left;
  for (std::uint32_t i = 0; i < s.count; ++i)
    if (is_kept(s.entries[i]))
      left.push_back(s.first + i);
  return left;
}

} // namespace

bool is_sparse(const shard_state& state, const segment& s) {
  if (s.aside || s.entries.empty() || !state.segments.is_nearly_closed(s))
    return false;
  return std::all_of(s.entries.begin(), s.entries.end(), [&](const task_entry& entry) {
    return !is_kept(entry) || stays_long(state, entry);
  });
}

void note_sparse(shard_state& state, const segment& s) {
  if (is_sparse(state, s))
    state.sparse.insert(s.first);
}

std::vector<survivors> take_sparse(shard_state& state) {
  std::vector<survivors> taken;
  std::uint64_t bytes = 0;
  std::size_t tasks = 0;
  while (!state.sparse.empty() && taken.size() < tuning::copied_segments_max
         && bytes < tuning::copied_bytes_max && tasks < copied_tasks_max) {
    auto first = *state.sparse.begin();
    state.sparse.erase(state.sparse.begin());
    auto* s = find_segment(state.segments, first);
    // A segment that is no longer sparse is noted again by the snapshot that finds it sparse.
    if (!s || s->first != first || !is_sparse(state, *s))
      continue;
    taken.push_back({first, tasks_left(*s)});
    // The survivors may have most of the segment's bytes.
    bytes += s->body_bytes;
    tasks += s->kept;
  }
  return taken;
}

std::vector<segment_appended> take_copies(shard_state& state) {
  std::vector<segment_appended> copied;
  // The disk has too little space.
  if (state.are_grants_paused)
    return copied;
  for (const auto& [first, wanted] : std::exchange(state.copies, {})) {
    auto* s = find_segment(state.segments, first);
    if (!s || s->first != first || !is_sparse(state, *s))
      continue;
    for (auto seq : tasks_left(*s)) {
      auto& copy = copied.emplace_back(copy_of(state, *s, seq));
      const auto& body = wanted.bodies.at(seq);
      copy.body_bytes = body.body.size();
      copy.pieces.push_back(body);
    }
  }
  return copied;
}

std::vector<segment>
leave_segments(shard_state& state, const std::vector<segment_appended>& copied) {
  std::vector<segment> asides;
  asides.reserve(copied.size());
  for (const auto& copy : copied) {
    auto* from = find_segment(state.segments, copy.first);
    CODEQ_ASSERT(from && !from->aside);
    asides.push_back(aside_of(*from, copy));
    from->touch(copy.first) = entry_left();
    --from->kept;
    mark_dirty(state, *from);
  }
  return asides;
}

void add_asides(shard_state& state, std::vector<segment> asides) {
  for (auto& aside : asides) {
    if (auto* closed = state.segments.find_unpacked(aside.first)) {
      CODEQ_ASSERT(closed->kept == 0 && closed->dirty);
      aside.dirty = true;
      *closed = std::move(aside);
    } else {
      mark_dirty(state, state.segments.add(std::move(aside)));
    }
  }
}

} // namespace codeq::core
