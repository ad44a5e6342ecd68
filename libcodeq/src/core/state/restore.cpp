// SPDX-License-Identifier: Apache-2.0
#include "core/state/restore.hpp"

#include "core/state/queue_fairness.hpp"
#include "core/state/survivors.hpp"
#include "core/state/task_index.hpp"
#include "core/state/task_keys.hpp"
#include "core/state/task_outcomes.hpp"

#include <algorithm>
#include <utility>

namespace codeq::core {

namespace {

/// Adjacent tasks often ended together, so equal outcomes are counted in place.
void count_outcome(std::vector<number_pair>& counted, log_position outcome, std::uint64_t tasks) {
  if (counted.empty() || counted.back().first != outcome)
    counted.emplace_back(outcome, 0);
  counted.back().second += tasks;
}

void gather_key(const shard_state& state, const segment& s, gathered_index& gathered) {
  auto key = key_of(s);
  gathered.key_holders.emplace_back(state.names.of_key(key.queue, key.group, key.name), s.first);
  if (is_terminal(s.view(s.first).state))
    gathered.ended_keys.push_back(name_of(state, key));
}

void gather_member(
  const shard_state& state, const segment& s, const task_entry& entry, gathered_index& gathered) {
  number_pair member{state.names.of_group(s.queue, s.group), s.first};
  gathered.members.push_back(member);
  if (entry.state != task_state::gated)
    gathered.open_members.push_back(member);
}

void index_entries(shard_state& state, segment& s, gathered_index& gathered) {
  s.kept = 0;
  for (std::uint32_t i = 0; i < s.count; ++i) {
    auto seq = s.first + i;
    auto entry = s.view(seq);
    s.kept += is_kept(entry) ? 1 : 0;
    if (entry.state == task_state::scheduled) {
      gathered.due.push_back(place_of(s.eligible_at(seq), seq));
      auto& queue = state.queue_of(s);
      ++queue.scheduled;
      queue.retrying += waits_for_retry(s, entry) ? 1 : 0;
      if (queue.fair)
        queue.fair->take(s);
    } else if (entry.state == task_state::dead && entry.retry_at != timestamp{}) {
      gathered.dead_ends.push_back(place_of(entry.retry_at, seq));
      auto& queue = state.queue_of(s);
      ++queue.dead;
      queue.blocking += blocks_group(s) ? 1 : 0;
    } else {
      enter_index(state, s, seq, entry);
    }
    if (holds_outcome(entry))
      count_outcome(gathered.outcomes, entry.outcome, 1);
    if (!s.group.empty() && keeps_place(s, entry))
      gather_member(state, s, entry, gathered);
  }
}

} // namespace

void index_segment(shard_state& state, segment& s, gathered_index& gathered) {
  if (!s.aside && s.entries.empty()) {
    s.kept = s.count;
    count_fresh(state, s, s.count);
  } else {
    index_entries(state, s, gathered);
  }
  if (s.fairness)
    state.queue_of(s).fair->take_weight(s);
}

void restore_segment(shard_state& state, segment& s, gathered_index& gathered) {
  state.use_fairness(s);
  if (s.key)
    gather_key(state, s, gathered);
  index_segment(state, s, gathered);
  // A segment without fresh tasks is not needed in its lane. One without entries is in it.
  bool any_fresh = std::any_of(s.entries.begin(), s.entries.end(), [](const task_entry& entry) {
    return entry.state == task_state::ready && !has_history(entry);
  });
  if (!s.aside && any_fresh)
    state.lane_of(s).append(s.first);
  note_sparse(state, s);
}

void fill_indexes(shard_state& state, gathered_index gathered) {
  std::sort(gathered.due.begin(), gathered.due.end());
  state.due.assign(gathered.due);
  std::sort(gathered.dead_ends.begin(), gathered.dead_ends.end());
  state.dead_ends.assign(gathered.dead_ends);
  std::sort(gathered.outcomes.begin(), gathered.outcomes.end());
  std::vector<number_pair> held;
  for (const auto& [outcome, tasks] : gathered.outcomes)
    count_outcome(held, outcome, tasks);
  state.held_outcomes.assign(held);
  std::vector<log_position> positions;
  positions.reserve(held.size());
  for (const auto& [outcome, tasks] : held)
    positions.push_back(outcome);
  state.held_at_snapshot = position_set(std::move(positions));
  fill_groups(state, std::move(gathered.members), std::move(gathered.open_members));
}

} // namespace codeq::core
