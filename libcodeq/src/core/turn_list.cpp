// SPDX-License-Identifier: Apache-2.0
#include "core/task_selection.hpp"
#include "core/turn.hpp"

#include <utility>

namespace codeq::core {

void turn::run(const list_tasks& c) {
  auto selected = select_tasks(state_, c.part);
  tasks_listed listed{c.peer, c.number, {}, selected.after, selected.more};
  listed.tasks.reserve(selected.tasks.size());
  for (auto seq : selected.tasks)
    listed.tasks.push_back(view_of(*find_segment(state_.segments, seq), seq));
  effects_.emplace_back(std::move(listed));
}

} // namespace codeq::core
