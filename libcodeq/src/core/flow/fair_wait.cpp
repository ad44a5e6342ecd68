// SPDX-License-Identifier: Apache-2.0
#include "core/flow/fair_wait.hpp"

#include <algorithm>

namespace codeq::core {

duration longest_fair_wait(
  const fair_order::standing& at, std::uint64_t group_weight, const fair_slots& slots) {
  const auto in_group = at.other_keys * (at.is_key_in_debt ? 2 : 1);
  // A round of the group's keys takes as many rounds of the groups.
  const auto rounds =
    1 + (in_group + group_weight - 1) / group_weight + (at.is_group_in_debt ? 1 : 0);
  const auto at_once = std::max<std::uint64_t>(slots.leased, 1);
  // The tasks that have the slots now may have begun just now.
  const auto running = slots.are_taken ? at_once : 0;
  const auto ahead = at.other_groups * rounds + in_group + running;
  const auto largest = static_cast<std::uint64_t>(at.largest_cost);
  constexpr auto most = static_cast<std::uint64_t>(duration::max().count());
  if (ahead > most / largest)
    return duration::max();
  return duration{static_cast<duration::rep>(ahead * largest / at_once)};
}

} // namespace codeq::core
