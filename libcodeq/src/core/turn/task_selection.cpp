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

  [[nodiscard]] bool is_asked_for(const segment& s) const {
    const auto& queue = state_.queues[s.queue]->address;
    // An untouched segment contains no ended tasks.
    bool may_hold = !s.entries.empty() || !filter_.state || !is_terminal(*filter_.state);
    return may_hold && queue.tenant == filter_.tenant
           && (filter_.queue.empty() || queue.queue == filter_.queue);
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
    auto entry = s.view(seq);
    bool is_picked = !entry.gone && (!filter_.state || entry.state == *filter_.state)
                     && (!filter_.is_blocking || is_blocking(s, seq));
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

task_selection select_tasks(const shard_state& state, const task_part& part) {
  return selector(state, part).run();
}

} // namespace codeq::core
