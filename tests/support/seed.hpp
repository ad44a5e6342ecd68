// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <random>

namespace codeq::test {

/// The seed of a random test: `CODEQ_SEED` when it is set, else a fresh one; printed, so that a
/// failure can be repeated.
[[nodiscard]] inline std::uint64_t choose_seed() {
  const char* given = std::getenv("CODEQ_SEED");
  std::uint64_t seed = given ? std::strtoull(given, nullptr, 10) : std::random_device{}();
  std::cout << "CODEQ_SEED=" << seed << '\n';
  return seed;
}

} // namespace codeq::test
