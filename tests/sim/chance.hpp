// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
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

  /// In [from, to] microseconds.
  std::chrono::microseconds moment(std::int64_t from, std::int64_t to) {
    return std::chrono::microseconds{between(from, to)};
  }

  /// True in `permille` of a thousand cases.
  bool hits(std::uint64_t permille) { return below(1000) < permille; }

private:
  std::uint64_t state_;
};

/// The random numbers of a run. Each source of chance has a stream of its own, so that one number
/// more or less in one of them leaves the others as they are. All come from one seed.
struct chance_streams {
  explicit chance_streams(std::uint64_t seed) : chance_streams(chance(seed)) {}

  /// Faults and their times.
  chance faults;
  /// How long frames and connections take.
  chance network;
  /// How long messages between actors, and writes to the disk, take.
  chance mailboxes;
  /// Requests of producers and operators.
  chance workload;
  /// The behaviour of handlers and the settings of workers.
  chance handlers;

private:
  // Members are initialised in the order of their declaration.
  explicit chance_streams(chance seeds)
    : faults(seeds.next()),
      network(seeds.next()),
      mailboxes(seeds.next()),
      workload(seeds.next()),
      handlers(seeds.next()) {}
};

} // namespace codeq::sim
