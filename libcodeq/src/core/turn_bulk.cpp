// SPDX-License-Identifier: Apache-2.0
#include "core/apply.hpp"
#include "core/turn.hpp"

#include <algorithm>

namespace codeq::core {

namespace {

/// True when a command of this kind is about a task with that entry.
bool is_meant(const change_many& c, const task_entry& entry) {
  if (entry.gone || (c.filter.state && *c.filter.state != entry.state))
    return false;
  return c.what == change_many::kind::purge_all || entry.state == task_state::dead;
}

/// True when some task of the segment may be meant.
bool may_hold(const change_many& c, const segment& s, const queue_address& queue) {
  bool is_fresh = s.entries.empty();
  return queue.tenant == c.filter.tenant
         && (c.filter.queue.empty() || queue.queue == c.filter.queue)
         && (!is_fresh || c.what == change_many::kind::purge_all);
}

/// The segment that holds the first sequence behind `after`, or else the next one.
segment_map::const_iterator first_behind(const segment_map& segments, sequence after) {
  auto at = segments.upper_bound(after + 1);
  if (at != segments.begin() && std::prev(at)->second.contains(after + 1))
    --at;
  return at;
}

} // namespace

void turn::run(const change_many& c) {
  bulk_answered answer{c.peer, c.number, 0, std::min(c.filter.after, state_.sequences.next), false};
  auto tasks = pick(c, answer);
  if (c.what == change_many::kind::redrive) {
    answer.changed = redrive_all(tasks);
  } else {
    purge_all(tasks);
    answer.changed = tasks.size();
  }
  // The last part: what of the queue is not in memory is on disk only, and goes as well.
  bool is_whole = c.what == change_many::kind::purge_all && !c.filter.state && !answer.more;
  if (is_whole)
    mark_purged(c.filter);
  effects_.emplace_back(answer);
}

std::vector<sequence> turn::pick(const change_many& c, bulk_answered& answer) const {
  auto limit = std::clamp<std::size_t>(c.filter.limit, 1, limits::bulk_tasks_max);
  auto below = c.filter.below == 0 ? state_.sequences.next : c.filter.below;
  std::vector<sequence> picked;
  std::size_t looked_at = 0;
  for (auto at = first_behind(state_.segments, answer.after); at != state_.segments.end(); ++at) {
    const auto& s = at->second;
    auto end = std::min<sequence>(s.first + s.count, below);
    bool is_skipped = !may_hold(c, s, state_.queues[s.queue]->address);
    for (auto seq = std::max(s.first, answer.after + 1); seq < end; ++seq) {
      if (is_skipped)
        seq = end - 1;
      bool is_picked = !is_skipped && is_meant(c, s.view(seq));
      answer.more =
        looked_at == limits::bulk_looked_at_max || (is_picked && picked.size() == limit);
      if (answer.more)
        return picked;
      ++looked_at;
      answer.after = seq;
      if (is_picked)
        picked.push_back(seq);
    }
    if (s.first >= below)
      break;
  }
  return picked;
}

std::size_t turn::redrive_all(const std::vector<sequence>& tasks) {
  for (auto seq : tasks)
    append_change({seq, change_kind::redriven, {}, {}});
  return tasks.size();
}

} // namespace codeq::core
