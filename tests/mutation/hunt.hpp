// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace codeq::mutation {

/// Whether and how the seeds caught a fault.
struct verdict {
  bool caught = false;
  std::string words = "nothing";
  std::uint64_t seeds = 0;
  double seconds = 0;
};

/// Runs one seed; returns what it violated, or nothing.
using seed_run = std::function<std::string(std::uint64_t seed)>;

/// The verdicts on all faults by number, each after at most `seeds_max` seeds. Runs each fault in a
/// process of its own, as many at a time as there are processors.
[[nodiscard]] std::vector<verdict> hunt_all(std::uint64_t seeds_max, const seed_run& run);

/// Prints a line for each fault.
void print(const std::vector<verdict>& verdicts);

} // namespace codeq::mutation
