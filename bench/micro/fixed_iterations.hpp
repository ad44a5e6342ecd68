// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <benchmark/benchmark.h>

namespace codeq::bench {

/// For `Apply`: sets the number of iterations to the environment variable CODEQ_MICRO_ITERATIONS,
/// so that instructions can be counted. Without the variable the library chooses the number.
void fix_iterations(benchmark::internal::Benchmark* made);

} // namespace codeq::bench
