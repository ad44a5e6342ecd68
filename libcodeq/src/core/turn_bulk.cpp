// SPDX-License-Identifier: Apache-2.0
#include "core/task_selection.hpp"
#include "core/turn.hpp"

namespace codeq::core {

namespace {

/// What a command of this kind picks from what its filter names.
task_filter filter_of(const change_many& c) {
  auto filter = c.filter;
  if (c.what == change_many::kind::purge_all)
    return filter;
  // Below the first sequence of all there is nothing.
  if (filter.state.value_or(task_state::dead) != task_state::dead)
    filter.below = 1;
  filter.state = task_state::dead;
  return filter;
}

} // namespace

void turn::run(const change_many& c) {
  auto selected = select_tasks(state_, filter_of(c));
  bulk_answered answer{c.peer, c.number, 0, selected.after, selected.more};
  if (c.what == change_many::kind::redrive) {
    answer.changed = redrive_all(selected.tasks);
  } else {
    purge_all(selected.tasks);
    answer.changed = selected.tasks.size();
  }
  // The last part: what of the queue is not in memory is on disk only, and goes as well.
  bool is_whole = c.what == change_many::kind::purge_all && !c.filter.state && !answer.more;
  if (is_whole)
    mark_purged(c.filter);
  effects_.emplace_back(answer);
}

std::size_t turn::redrive_all(const std::vector<sequence>& tasks) {
  std::size_t redriven = 0;
  for (auto seq : tasks) {
    if (is_key_taken(*find_segment(state_.segments, seq)))
      continue;
    append_change({seq, change_kind::redriven, {}, {}}, task_event::author::operator_user);
    ++redriven;
  }
  return redriven;
}

} // namespace codeq::core
