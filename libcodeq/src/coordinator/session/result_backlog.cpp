// SPDX-License-Identifier: Apache-2.0
#include "coordinator/session/result_backlog.hpp"

#include "base/tuning.hpp"

#include <algorithm>

namespace codeq::coordinator {

protocol::tasks_told
result_backlog::admit(shard_id shard, const protocol::tasks_told& told, std::uint64_t room) {
  protocol::tasks_told now;
  for (const auto& task : told.tasks) {
    bool is_progress = task.code == errc::none && task.state == task_state::leased;
    if (is_progress || room > 0)
      now.tasks.push_back(task);
    else
      waiting_[shard].push_back(task.seq);
    room -= std::min<std::uint64_t>(room, task.text.size());
  }
  return now;
}

std::optional<std::pair<shard_id, std::vector<sequence>>> result_backlog::take() {
  if (waiting_.empty())
    return std::nullopt;
  auto at = waiting_.begin();
  auto count = std::min(at->second.size(), tuning::results_asked_again_max);
  auto end = at->second.begin() + static_cast<std::ptrdiff_t>(count);
  std::pair asked{at->first, std::vector<sequence>(at->second.begin(), end)};
  at->second.erase(at->second.begin(), end);
  if (at->second.empty())
    waiting_.erase(at);
  return asked;
}

} // namespace codeq::coordinator
