// SPDX-License-Identifier: Apache-2.0
#include "core/state/task_index.hpp"

#include "base/assert.hpp"
#include "core/state/apply.hpp"

#include <algorithm>

namespace codeq::core {

namespace {

/// Puts an unleased task of a group behind the gate.
void close_gate(shard_state& state, sequence seq) {
  auto& s = *find_segment(state.segments, seq);
  auto is = s.view(seq).state;
  if (is != task_state::ready && is != task_state::scheduled)
    return;
  leave_index(state, s, seq);
  mark_dirty(state, s);
  auto& entry = s.touch(seq);
  entry.state = task_state::gated;
  enter_index(state, s, seq, entry);
}

/// Opens the gate for a task of a group; it then waits for its time, if it has one.
void open_gate(shard_state& state, sequence seq) {
  auto& s = *find_segment(state.segments, seq);
  if (s.view(seq).state != task_state::gated)
    return;
  leave_index(state, s, seq);
  mark_dirty(state, s);
  auto& entry = s.touch(seq);
  entry.state = s.eligible_at(seq) > state.at ? task_state::scheduled : task_state::ready;
  enter_index(state, s, seq, entry);
}

bool is_leased(shard_state& state, sequence seq) {
  auto* s = find_segment(state.segments, seq);
  return s && s->view(seq).state == task_state::leased;
}

} // namespace

void leave_index(shard_state& state, segment& s, sequence seq) {
  auto entry = s.view(seq);
  auto& queue = state.queue_of(s);
  if (entry.state == task_state::scheduled) {
    state.due.erase(place_of(s.eligible_at(seq), seq));
    --queue.scheduled;
  } else if (entry.state == task_state::ready) {
    if (s.aside || has_history(entry))
      state.lane_of(s).remove(seq);
    --queue.ready;
    --queue.ready_by_priority[s.priority];
  } else if (entry.state == task_state::gated) {
    --queue.gated;
  } else if (entry.state == task_state::dead) {
    state.dead_ends.erase(place_of(entry.retry_at, seq));
    --queue.dead;
  }
}

void enter_index(shard_state& state, segment& s, sequence seq, const task_entry& entry) {
  auto& queue = state.queue_of(s);
  switch (entry.state) {
  case task_state::scheduled:
    state.due.insert(place_of(s.eligible_at(seq), seq));
    ++queue.scheduled;
    break;
  case task_state::ready:
    if (s.aside || has_history(entry))
      state.lane_of(s).put_back(seq);
    ++queue.ready;
    ++queue.ready_by_priority[s.priority];
    state.stir(s.queue);
    break;
  case task_state::leased:
    ++queue.leased;
    break;
  case task_state::gated:
    ++queue.gated;
    break;
  case task_state::dead:
    if (entry.retry_at != timestamp{})
      state.dead_ends.insert(place_of(entry.retry_at, seq));
    ++queue.dead;
    break;
  case task_state::completed:
  case task_state::cancelled:
    break;
  }
}

void count_fresh(shard_state& state, const segment& s, std::uint32_t count) {
  auto& queue = state.queue_of(s);
  queue.ready += count;
  queue.ready_by_priority[s.priority] += count;
  state.stir(s.queue);
}

bool keeps_place(const segment& s, const task_entry& entry) noexcept {
  bool blocks = entry.state == task_state::dead && s.settings.when_dead == on_dead::block;
  return !is_terminal(entry.state) || blocks;
}

void settle_group_of(shard_state& state, segment& s) {
  if (s.group.empty())
    return;
  auto at = state.groups.try_emplace({s.queue, s.group}).first;
  auto& group = at->second;
  if (keeps_place(s, s.view(s.first)))
    group.members.insert(s.first);
  else
    group.members.erase(s.first);
  if (group.members.empty()) {
    state.groups.erase(at);
    return;
  }
  if (group.open != 0 && is_leased(state, group.open))
    return;
  auto first = *group.members.begin();
  if (group.open != first && group.members.contains(group.open))
    close_gate(state, group.open);
  group.open = first;
  open_gate(state, first);
}

void settle_groups(shard_state& state) {
  for (auto& [name, group] : state.groups) {
    auto leased = std::find_if(group.members.begin(), group.members.end(), [&](sequence seq) {
      return is_leased(state, seq);
    });
    group.open = leased == group.members.end() ? *group.members.begin() : *leased;
    for (auto seq : group.members) {
      if (seq == group.open)
        open_gate(state, seq);
      else
        close_gate(state, seq);
    }
  }
}

} // namespace codeq::core
