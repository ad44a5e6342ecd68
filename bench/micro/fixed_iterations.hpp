// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <benchmark/benchmark.h>

namespace codeq::bench {

/// For `Apply`: as many iterations as the environment variable CODEQ_MICRO_ITERATIONS says, so that
/// instructions can be counted; without it the library chooses.
void fix_iterations(benchmark::internal::Benchmark* made);

} // namespace codeq::bench
