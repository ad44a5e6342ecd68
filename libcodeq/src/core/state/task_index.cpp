// SPDX-License-Identifier: Apache-2.0
#include "core/state/task_index.hpp"

#include "base/assert.hpp"
#include "core/state/apply.hpp"
#include "core/state/queue_fairness.hpp"
#include "core/state/task_limits.hpp"

#include <algorithm>
#include <map>
#include <span>
#include <string>
#include <utility>

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

/// True when the task that begins the segment `other` is of the same group as `s`.
bool is_same_group(const shard_state& state, const segment& s, sequence other) {
  if (other == s.first)
    return true;
  bool is_same = false;
  state.segments.peek(other, [&](const segment& found) {
    is_same = found.queue == s.queue && found.group == s.group;
  });
  return is_same;
}

/// The first task of the segment's group, whose name has this hash; empty when it has none.
std::optional<sequence> first_member(const shard_state& state, name_hash name, const segment& s) {
  const auto& members = state.groups.members;
  auto seq = members.next(name, 0);
  while (seq && !is_same_group(state, s, *seq))
    seq = members.next(name, *seq + 1);
  return seq;
}

using places = std::span<const number_pair>;

/// True when the tasks, whose groups have the same hash, are of one group and only its first one is
/// open. Those in blocks are as a snapshot left them; those enqueued since are gated, and unpacked.
bool is_settled(const shard_state& state, places members, places open) {
  if (open.size() != 1 || open.front() != members.front())
    return false;
  bool is_one_group = true;
  auto is_new = [&](const number_pair& member) {
    return state.segments.is_unpacked(member.second);
  };
  auto first_new = std::find_if_not(members.rbegin(), members.rend(), is_new).base();
  if (first_new != members.end())
    state.segments.peek(members.front().second, [&](const segment& first) {
      is_one_group = std::all_of(first_new, members.end(), [&](const number_pair& member) {
        return is_same_group(state, first, member.second);
      });
    });
  return is_one_group;
}

/// Chooses the open task of one group. @pre `open` is a part of `members`
void settle_group(
  shard_state& state,
  name_hash name,
  const std::vector<sequence>& members,
  const std::vector<sequence>& open) {
  auto leased =
    std::find_if(open.begin(), open.end(), [&](sequence seq) { return is_leased(state, seq); });
  auto chosen = leased == open.end() ? members.front() : *leased;
  for (auto seq : open) {
    if (seq != chosen)
      close_gate(state, seq);
  }
  open_gate(state, chosen);
  if (chosen != members.front())
    state.groups.late.emplace(name, chosen);
}

/// The same for all groups whose names have one hash.
void settle_groups(shard_state& state, places members, places open) {
  struct group_tasks {
    std::vector<sequence> members;
    std::vector<sequence> open;
  };

  std::map<std::pair<std::uint32_t, std::string>, group_tasks> groups;
  for (const auto& member : members)
    state.segments.peek(member.second, [&](const segment& s) {
      auto& group = groups[{s.queue, s.group}];
      group.members.push_back(s.first);
      if (std::binary_search(open.begin(), open.end(), member))
        group.open.push_back(s.first);
    });
  for (const auto& [name, group] : groups)
    settle_group(state, members.front().first, group.members, group.open);
}

/// The tasks at the beginning whose group has this hash.
places take_named(places& from, name_hash name) {
  auto end = std::find_if(
    from.begin(), from.end(), [&](const number_pair& place) { return place.first != name; });
  auto taken = from.first(static_cast<std::size_t>(end - from.begin()));
  from = from.subspan(taken.size());
  return taken;
}

} // namespace

void enter_lane(shard_state& state, segment& s, sequence seq, bool returns) {
  auto& queue = state.queue_of(s);
  if (queue.fair)
    queue.fair->enter(s, 1);
  if (returns)
    state.lane_of(s).put_back(seq);
  ++queue.ready_by_priority[s.priority];
  queue.limited += s.limits ? 1 : 0;
}

void leave_lane(shard_state& state, segment& s, sequence seq, bool was_returned) {
  auto& queue = state.queue_of(s);
  if (queue.fair)
    queue.fair->leave(s, seq, was_returned);
  else if (was_returned)
    state.lane_of(s).remove(seq);
  --queue.ready_by_priority[s.priority];
  queue.limited -= s.limits ? 1 : 0;
}

void leave_index(shard_state& state, segment& s, sequence seq) {
  auto entry = s.view(seq);
  auto& queue = state.queue_of(s);
  if (entry.state == task_state::scheduled) {
    state.due.erase(place_of(s.eligible_at(seq), seq));
    --queue.scheduled;
    queue.retrying -= waits_for_retry(s, entry) ? 1 : 0;
  } else if (entry.state == task_state::ready) {
    if (!s.limits || !leave_limits(state, s))
      leave_lane(state, s, seq, s.aside || has_history(entry));
    if (--queue.ready == 0)
      unlist_busy(queue, s.queue);
    state.move_head(s.queue);
  } else if (entry.state == task_state::gated) {
    --queue.gated;
  } else if (entry.state == task_state::dead) {
    state.dead_ends.erase(place_of(entry.retry_at, seq));
    --queue.dead;
    queue.blocking -= blocks_group(s) ? 1 : 0;
  }
  if (queue.fair && !is_terminal(entry.state))
    queue.fair->drop(s);
}

void enter_index(shard_state& state, segment& s, sequence seq, const task_entry& entry) {
  auto& queue = state.queue_of(s);
  if (queue.fair && !is_terminal(entry.state))
    queue.fair->take(s);
  switch (entry.state) {
  case task_state::scheduled:
    state.due.insert(place_of(s.eligible_at(seq), seq));
    ++queue.scheduled;
    queue.retrying += waits_for_retry(s, entry) ? 1 : 0;
    break;
  case task_state::ready:
    enter_lane(state, s, seq, s.aside || has_history(entry));
    if (queue.ready++ == 0)
      list_busy(queue, s.queue);
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
    queue.blocking += blocks_group(s) ? 1 : 0;
    break;
  case task_state::completed:
  case task_state::cancelled:
    break;
  }
}

void count_fresh(shard_state& state, const segment& s, std::uint32_t count) {
  auto& queue = state.queue_of(s);
  if (queue.fair) {
    queue.fair->take(s, count);
    queue.fair->enter(s, count);
  }
  if (count == s.count)
    state.lane_of(s).append(s.first);
  if (std::exchange(queue.ready, queue.ready + count) == 0 && count > 0)
    list_busy(queue, s.queue);
  queue.ready_by_priority[s.priority] += count;
  state.stir(s.queue);
}

void leave_closed(shard_state& state, const segment& s) {
  auto& queue = state.queue_of(s);
  if (queue.fair)
    queue.fair->forget(s);
  else if (auto& of = queue.lanes[s.priority])
    of->forget(s.first);
}

bool blocks_group(const segment& s) noexcept {
  return !s.group.empty() && s.settings.when_dead == on_dead::block;
}

bool waits_for_retry(const segment& s, const task_entry& entry) noexcept {
  return entry.retry_at > s.not_before;
}

bool keeps_place(const segment& s, const task_entry& entry) noexcept {
  return !is_terminal(entry.state) || (entry.state == task_state::dead && blocks_group(s));
}

std::optional<sequence> open_member(const shard_state& state, const segment& s) {
  auto name = state.names.of_group(s.queue, s.group);
  const auto& late = state.groups.late;
  for (auto at = late.lower_bound({name, 0}); at != late.end() && at->first == name; ++at) {
    if (is_same_group(state, s, at->second))
      return at->second;
  }
  return first_member(state, name, s);
}

void settle_group_of(shard_state& state, segment& s) {
  if (s.group.empty())
    return;
  auto name = state.names.of_group(s.queue, s.group);
  auto& [members, late] = state.groups;
  auto open = open_member(state, s);
  if (keeps_place(s, s.view(s.first)))
    members.insert(name, s.first);
  else
    members.erase(name, s.first);
  if (open)
    late.erase({name, *open});
  auto first = first_member(state, name, s);
  if (!first)
    return;
  if (open && is_leased(state, *open)) {
    if (*open != *first)
      late.emplace(name, *open);
    return;
  }
  if (open && *open != *first)
    close_gate(state, *open);
  open_gate(state, *first);
}

void fill_groups(
  shard_state& state, std::vector<number_pair> members, std::vector<number_pair> open) {
  std::sort(members.begin(), members.end());
  std::sort(open.begin(), open.end());
  state.groups.members.assign(members);
  places open_left(open);
  for (places left(members); !left.empty();) {
    auto name = left.front().first;
    auto named = take_named(left, name);
    auto open_named = take_named(open_left, name);
    if (!is_settled(state, named, open_named))
      settle_groups(state, named, open_named);
  }
}

} // namespace codeq::core
