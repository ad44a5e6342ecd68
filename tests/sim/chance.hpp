// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace codeq::sim {

/// Where every random decision of a run comes from: the same seed gives the same numbers on every
/// machine, which the distributions of the standard library do not promise.
class chance {
public:
  explicit chance(std::uint64_t seed) : state_(seed) {}

  /// The next 64 bits (SplitMix64; Steele, Lea, Flood 2014).
  std::uint64_t next() {
    state_ += 0x9E3779B97F4A7C15ull;
    auto x = state_;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
    return x ^ (x >> 31);
  }

  /// In [0, n). @pre n > 0
  std::uint64_t below(std::uint64_t n) { return next() % n; }

  /// In [from, to].
  std::int64_t between(std::int64_t from, std::int64_t to) {
    return from + static_cast<std::int64_t>(below(static_cast<std::uint64_t>(to - from + 1)));
  }

  /// True in `permille` of a thousand cases.
  bool hits(std::uint64_t permille) { return below(1000) < permille; }

private:
  std::uint64_t state_;
};

} // namespace codeq::sim
