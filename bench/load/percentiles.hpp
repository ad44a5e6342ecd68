// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace codeq::bench {

/// Percentiles in milliseconds. Each is a measured value: the smallest one that is not below the
/// given share of all values.
struct percentiles {
  double p50 = 0;
  double p99 = 0;
  double p999 = 0;
  double max = 0;
};

/// @pre `times` is not empty
[[nodiscard]] percentiles percentiles_of(std::vector<std::chrono::nanoseconds> times);

/// Members of a JSON object: `"p50_ms":0.1,"p99_ms":...`; `prefix` is put before each name.
[[nodiscard]] std::string to_members(const percentiles& p, const std::string& prefix = "");

} // namespace codeq::bench
