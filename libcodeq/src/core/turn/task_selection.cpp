// SPDX-License-Identifier: Apache-2.0
#include "core/turn/task_selection.hpp"

#include "base/tuning.hpp"
#include "core/state/task_index.hpp"

#include <algorithm>
#include <limits>

namespace codeq::core {

namespace {

/// Walks over the tasks after `part.after`, up to the part's limit or the limit of examined tasks.
class selector {
public:
  selector(const shard_state& state, const task_part& part)
    : state_(state),
      part_(part),
      filter_(part.filter),
      limit_(std::clamp<std::size_t>(part.limit, 1, tuning::bulk_tasks_max)),
      below_(part.below == 0 ? std::numeric_limits<sequence>::max() : part.below) {
    found_.after = part.after;
  }

  task_selection run() {
    auto visit = [this](const segment& s) {
      // Later segments were enqueued later.
      if (is_beyond(s))
        return false;
      found_.more = !walk(s);
      return !found_.more;
    };
    if (part_.newest_first) {
      found_.after = below_;
      state_.segments.walk_down(part_.after + 1, below_, visit);
    } else {
      state_.segments.walk(part_.after + 1, below_, visit);
    }
    return std::move(found_);
  }

private:
  /// False when no further task may be examined.
  bool look() {
    if (looked_at_ >= tuning::bulk_looked_at_max)
      return false;
    ++looked_at_;
    return true;
  }

  /// True when the window of enqueue times ends before this segment, in the order of the walk.
  [[nodiscard]] bool is_beyond(const segment& s) const {
    const auto& window = filter_.enqueued;
    if (part_.newest_first)
      return s.enqueued_at < window.since;
    return window.until != timestamp{} && s.enqueued_at >= window.until;
  }

  [[nodiscard]] bool is_asked_for(const segment& s) const {
    // An untouched segment contains no ended tasks, and none that was leased.
    bool needs_touch = (filter_.state && is_terminal(*filter_.state)) || !filter_.workers.empty()
                       || !filter_.error.empty() || filter_.ended.is_bounded();
    if (s.entries.empty() && needs_touch)
      return false;
    std::string_view key = s.key ? s.key->name : std::string_view();
    return may_match(filter_, state_.queues[s.queue]->address, s.enqueued_at, s.group, key);
  }

  /// False when the task cannot match what the filter asks of its attempts.
  [[nodiscard]] bool may_be_asked_for(const task_entry& entry) const {
    if (entry.gone || (filter_.state && entry.state != *filter_.state))
      return false;
    if (filter_.ended.is_bounded() && !is_terminal(entry.state))
      return false;
    if (!filter_.workers.empty() && entry.token == fencing_token{})
      return false;
    return filter_.error.empty() || entry.outcome != 0 || entry.state == task_state::dead;
  }

  /// False when the walk ends before the segment does.
  bool walk(const segment& s) {
    auto begin = std::max(s.first, part_.after + 1);
    auto end = std::min(s.first + s.count, below_);
    if (!is_asked_for(s)) {
      if (!look())
        return false;
      found_.after = part_.newest_first ? begin : end - 1;
      return true;
    }
    for (auto i = begin; i < end; ++i) {
      if (!take(s, part_.newest_first ? end - 1 - (i - begin) : i))
        return false;
    }
    return true;
  }

  /// True for a dead task that blocks its group.
  bool is_blocking(const segment& s, sequence seq) const {
    bool may_block = !s.group.empty() && s.view(seq).state == task_state::dead;
    return may_block && open_member(state_, s) == seq;
  }

  /// Examines one task; false when there is no room for it.
  bool take(const segment& s, sequence seq) {
    if (!look())
      return false;
    bool is_picked =
      may_be_asked_for(s.view(seq)) && (!filter_.is_blocking || is_blocking(s, seq));
    if (is_picked && found_.tasks.size() == limit_)
      return false;
    if (is_picked)
      found_.tasks.push_back(seq);
    found_.after = seq;
    return true;
  }

  const shard_state& state_;
  const task_part& part_;
  const task_filter& filter_;
  std::size_t limit_;
  sequence below_;
  std::size_t looked_at_ = 0;
  task_selection found_;
};

} // namespace

bool needs_store(const task_filter& filter) {
  if (!filter.workers.empty() || !filter.headers.empty() || !filter.error.empty())
    return true;
  return filter.ended.is_bounded() || !filter.state || is_terminal(*filter.state);
}

bool may_match(
  const task_filter& filter,
  const queue_address& queue,
  timestamp enqueued_at,
  std::string_view group,
  std::string_view key) {
  return queue.tenant == filter.tenant && (filter.queue.empty() || queue.queue == filter.queue)
         && (filter.group.empty() || group == filter.group)
         && (filter.key.empty() || key == filter.key) && filter.enqueued.contains(enqueued_at);
}

task_selection select_tasks(const shard_state& state, const task_part& part) {
  return selector(state, part).run();
}

} // namespace codeq::core
