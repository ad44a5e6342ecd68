// SPDX-License-Identifier: Apache-2.0
#include "core/task_selection.hpp"

#include "codeq/limits.hpp"

#include <algorithm>
#include <limits>

namespace codeq::core {

namespace {

/// Walks over the tasks behind `filter.after` until the filter's limit or the limit of work.
class selector {
public:
  selector(const shard_state& state, const task_filter& filter)
    : state_(state),
      filter_(filter),
      limit_(std::clamp<std::size_t>(filter.limit, 1, limits::bulk_tasks_max)),
      below_(filter.below == 0 ? std::numeric_limits<sequence>::max() : filter.below) {
    found_.after = filter.after;
  }

  task_selection run() {
    state_.segments.walk(filter_.after + 1, [this](const segment& s) {
      found_.more = s.first < below_ && !walk(s);
      return s.first < below_ && !found_.more;
    });
    return std::move(found_);
  }

private:
  /// False when there is no room for one more look.
  bool look() {
    if (looked_at_ >= limits::bulk_looked_at_max)
      return false;
    ++looked_at_;
    return true;
  }

  /// False when the walk ends before the segment does.
  bool walk(const segment& s) {
    const auto& queue = state_.queues[s.queue]->address;
    auto end = std::min(s.first + s.count, below_);
    // Where nothing was touched, nothing has ended.
    bool may_hold = !s.entries.empty() || !filter_.state || !is_terminal(*filter_.state);
    bool is_asked_for = may_hold && queue.tenant == filter_.tenant
                        && (filter_.queue.empty() || queue.queue == filter_.queue);
    if (!is_asked_for) {
      if (!look())
        return false;
      found_.after = end - 1;
      return true;
    }
    for (auto seq = std::max(s.first, filter_.after + 1); seq < end; ++seq) {
      if (!look())
        return false;
      auto entry = s.view(seq);
      bool is_picked = !entry.gone && (!filter_.state || entry.state == *filter_.state);
      if (is_picked && found_.tasks.size() == limit_)
        return false;
      if (is_picked)
        found_.tasks.push_back(seq);
      found_.after = seq;
    }
    return true;
  }

  const shard_state& state_;
  const task_filter& filter_;
  std::size_t limit_;
  sequence below_;
  std::size_t looked_at_ = 0;
  task_selection found_;
};

} // namespace

task_selection select_tasks(const shard_state& state, const task_filter& filter) {
  return selector(state, filter).run();
}

} // namespace codeq::core
