// SPDX-License-Identifier: Apache-2.0
#include "load/percentiles.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>

namespace codeq::bench {

percentiles percentiles_of(std::vector<std::chrono::nanoseconds> times) {
  std::sort(times.begin(), times.end());
  auto at = [&times](double share) {
    auto rank = std::ceil(share * static_cast<double>(times.size()));
    auto index = static_cast<std::size_t>(std::max(rank - 1, 0.0));
    std::chrono::duration<double, std::milli> ms = times[std::min(index, times.size() - 1)];
    return ms.count();
  };
  return {at(0.5), at(0.99), at(0.999), at(1)};
}

std::string to_members(const percentiles& p, const std::string& prefix) {
  std::ostringstream line;
  line << '"' << prefix << R"(p50_ms":)" << p.p50 << ",\"" << prefix << R"(p99_ms":)" << p.p99
       << ",\"" << prefix << R"(p999_ms":)" << p.p999 << ",\"" << prefix << R"(max_ms":)" << p.max;
  return line.str();
}

} // namespace codeq::bench
