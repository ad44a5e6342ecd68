// SPDX-License-Identifier: Apache-2.0
#include "core/tables/outcome_holds.hpp"

#include <algorithm>
#include <utility>

namespace codeq::core {

void outcome_holds::change(log_position outcome, std::int64_t by) {
  auto at = changed_.try_emplace(outcome).first;
  at->second += by;
  if (at->second == 0)
    changed_.erase(at);
}

outcome_holds::changes outcome_holds::settle() {
  auto changed = std::exchange(changed_, {});
  std::vector<std::pair<log_position, std::int64_t>> ascending(changed.begin(), changed.end());
  std::sort(ascending.begin(), ascending.end());
  changes made;
  for (const auto& [outcome, by] : ascending) {
    auto at = settled_.first_from({outcome, 0});
    bool was_held = at && at->first == outcome;
    auto tasks = (was_held ? at->second : 0) + static_cast<std::uint64_t>(by);
    if (was_held)
      settled_.erase(*at);
    if (tasks > 0)
      settled_.insert({outcome, tasks});
    if (tasks > 0 && !was_held)
      made.added.push_back(outcome);
    else if (tasks == 0)
      made.removed.push_back(outcome);
  }
  return made;
}

std::vector<number_pair> outcome_holds::all() const {
  auto changed = changed_;
  std::vector<number_pair> held;
  auto add = [&](log_position outcome, std::uint64_t tasks) {
    if (tasks > 0)
      held.emplace_back(outcome, tasks);
  };
  settled_.for_each([&](const number_pair& record) {
    auto [outcome, tasks] = record;
    auto at = changed.extract(outcome);
    add(outcome, at ? tasks + static_cast<std::uint64_t>(at.mapped()) : tasks);
    return true;
  });
  for (const auto& [outcome, by] : changed)
    add(outcome, static_cast<std::uint64_t>(by));
  std::sort(held.begin(), held.end());
  return held;
}

} // namespace codeq::core
