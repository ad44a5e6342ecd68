// SPDX-License-Identifier: Apache-2.0
#include "core/task_selection.hpp"
#include "core/turn.hpp"

namespace codeq::core {

namespace {

/// What a command of this kind picks from what it names.
task_part part_of(const change_many& c) {
  auto part = c.part;
  if (c.what == bulk_kind::purge_all)
    return part;
  // Below the first sequence of all there is nothing.
  if (part.filter.state.value_or(task_state::dead) != task_state::dead)
    part.below = 1;
  part.filter.state = task_state::dead;
  return part;
}

} // namespace

void turn::run(const change_many& c) {
  auto selected = select_tasks(state_, part_of(c));
  bulk_answered answer{c.peer, c.number, 0, selected.after, selected.more};
  if (c.what == bulk_kind::redrive) {
    answer.changed = redrive_all(selected.tasks);
  } else {
    purge_all(selected.tasks);
    answer.changed = selected.tasks.size();
  }
  // The last part: what of the queue is not in memory is on disk only, and goes as well.
  bool is_whole = c.what == bulk_kind::purge_all && !c.part.filter.state && !answer.more;
  if (is_whole)
    mark_purged(c.part);
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
