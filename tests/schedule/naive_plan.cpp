// SPDX-License-Identifier: Apache-2.0
#include "schedule/naive_plan.hpp"

#include <algorithm>

namespace codeq::test {

naive_plan decide_naively(
  const std::vector<schedule::occurrence>& all, std::size_t decided,
  const schedule::catch_up& how, const schedule::serving& when) {
  auto since = std::min(when.since, when.now);
  naive_plan plan;
  std::vector<schedule::occurrence> within;
  for (; decided < all.size() && all[decided].due < since; ++decided) {
    bool is_within = all[decided].due >= since - how.window;
    (is_within ? within : plan.skipped).push_back(all[decided]);
  }
  std::size_t most = how.policy == misfire_policy::all      ? 1000
                     : how.policy == misfire_policy::latest ? 1
                                                            : 0;
  auto kept = std::min(most, within.size());
  auto first_kept = within.end() - static_cast<std::ptrdiff_t>(kept);
  plan.skipped.insert(plan.skipped.end(), within.begin(), first_kept);
  plan.to_fire.assign(first_kept, within.end());
  while (decided < all.size() && all[decided].due <= when.now && plan.to_fire.size() < 1000)
    plan.to_fire.push_back(all[decided++]);
  plan.decided = decided;
  return plan;
}

} // namespace codeq::test
