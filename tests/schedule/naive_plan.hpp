// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "schedule/plan.hpp"

#include <cstddef>
#include <vector>

namespace codeq::test {

/// What a call of `plan` has to decide.
struct naive_plan {
  std::vector<schedule::occurrence> to_fire;
  std::vector<schedule::occurrence> skipped;
  /// Number of occurrences that are decided afterwards.
  std::size_t decided = 0;
};

/// Decides about the occurrences from the one with number `decided` on, one by one.
[[nodiscard]] naive_plan decide_naively(
  const std::vector<schedule::occurrence>& all, std::size_t decided,
  const schedule::catch_up& how, const schedule::serving& when);

} // namespace codeq::test
