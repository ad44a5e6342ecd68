// SPDX-License-Identifier: Apache-2.0
#include "micro/fixed_iterations.hpp"

#include <cstdlib>

namespace codeq::bench {

void fix_iterations(benchmark::internal::Benchmark* made) {
  const char* text = std::getenv("CODEQ_MICRO_ITERATIONS");
  auto iterations = text ? std::strtoll(text, nullptr, 10) : 0;
  if (iterations > 0)
    made->Iterations(iterations);
}

} // namespace codeq::bench
