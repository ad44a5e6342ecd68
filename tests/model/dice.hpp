// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <random>
#include <vector>

namespace codeq::model {

/// Random choices within one step.
class dice {
public:
  explicit dice(std::uint32_t randomness) : random_(randomness) {}

  std::uint32_t below(std::size_t n) {
    return static_cast<std::uint32_t>(random_() % static_cast<std::uint32_t>(n));
  }

  bool one_in(std::size_t n) { return below(n) == 0; }

  template <class T>
  const T& pick(const std::vector<T>& from) {
    return from[below(from.size())];
  }

private:
  std::minstd_rand random_;
};

} // namespace codeq::model
