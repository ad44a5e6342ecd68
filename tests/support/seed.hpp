// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstdlib>
#include <iostream>

namespace codeq::test {

/// The seed of a random test: `CODEQ_SEED` when it is set, else always the same one, so that a run
/// can be repeated. Fresh seeds are `CODEQ_SEED=$RANDOM`.
[[nodiscard]] inline std::uint64_t choose_seed() {
  const char* given = std::getenv("CODEQ_SEED");
  std::uint64_t seed = given ? std::strtoull(given, nullptr, 10) : 1;
  std::cout << "CODEQ_SEED=" << seed << '\n';
  return seed;
}

} // namespace codeq::test
