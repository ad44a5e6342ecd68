// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace codeq::mutation {

/// Whether and how the seeds caught a fault.
struct verdict {
  bool caught = false;
  std::string words = "nothing";
  /// The seed that caught it, else how many were tried.
  std::uint64_t seed = 0;
  double seconds = 0;
};

/// Runs one seed; returns what it violated, or nothing.
using seed_run = std::function<std::string(std::uint64_t seed)>;

/// The verdicts on all faults by number, each after at most `seeds_max` seeds. Runs each fault in a
/// process of its own, as many at a time as there are processors.
[[nodiscard]] std::vector<verdict> hunt_all(std::uint64_t seeds_max, const seed_run& run);

/// Number of names that CODEQ_FAULT does not leave out, "no fault" among them.
[[nodiscard]] std::size_t count_hunted();

/// Prints a line for each fault, and how many were hunted for.
void print(const std::vector<verdict>& verdicts);

} // namespace codeq::mutation
