// SPDX-License-Identifier: Apache-2.0
#include "coordinator/shard/end_questions.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace codeq::coordinator {

void end_questions::asked(monotonic_time now) {
  if (!look_)
    look_ = now + interval;
}

void end_questions::cancelled(shard_id to, sequence task, monotonic_time now) {
  cancels_[to].insert(task);
  asked(now);
}

std::vector<end_questions::question>
end_questions::take(std::map<shard_id, std::vector<sequence>> open, monotonic_time now) {
  const auto cancels = std::exchange(cancels_, {});
  const auto last = std::exchange(last_, {});
  look_ = open.empty() ? std::nullopt : std::optional(now + interval);
  std::vector<question> questions;
  for (auto& [to, tasks] : open) {
    std::sort(tasks.begin(), tasks.end());
    question asked{to, {}, {}};
    if (const auto wanted = cancels.find(to); wanted != cancels.end())
      std::set_intersection(
        wanted->second.begin(), wanted->second.end(), tasks.begin(), tasks.end(),
        std::back_inserter(asked.cancels));
    if (!asked.cancels.empty())
      cancels_.emplace(to, std::set(asked.cancels.begin(), asked.cancels.end()));
    const auto before = last.find(to);
    auto from = before == last.end()
                  ? tasks.begin()
                  : std::upper_bound(tasks.begin(), tasks.end(), before->second);
    if (from == tasks.end())
      from = tasks.begin();
    const auto count = std::min<std::size_t>(
      tasks_max, static_cast<std::size_t>(std::distance(from, tasks.end())));
    asked.tasks.assign(from, from + static_cast<std::ptrdiff_t>(count));
    last_.emplace(to, asked.tasks.back());
    questions.push_back(std::move(asked));
  }
  return questions;
}

} // namespace codeq::coordinator
