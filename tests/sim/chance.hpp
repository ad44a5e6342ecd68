// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>

namespace codeq::sim {

/// Source of every random decision of a run. The same seed gives the same numbers on every machine,
/// which the standard library's distributions do not guarantee.
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

  /// Uniform in [0, n). @pre n > 0
  std::uint64_t below(std::uint64_t n) { return next() % n; }

  /// Uniform in [from, to].
  std::int64_t between(std::int64_t from, std::int64_t to) {
    return from + static_cast<std::int64_t>(below(static_cast<std::uint64_t>(to - from + 1)));
  }

  /// Uniform in [from, to] microseconds.
  std::chrono::microseconds moment(std::int64_t from, std::int64_t to) {
    return std::chrono::microseconds{between(from, to)};
  }

  /// True with a probability of `permille` / 1000.
  bool hits(std::uint64_t permille) { return below(1000) < permille; }

private:
  std::uint64_t state_;
};

/// The random numbers of a run, all from one seed. Each source of chance has its own stream, so
/// that an extra draw from one stream does not change the others.
struct chance_streams {
  explicit chance_streams(std::uint64_t seed) : chance_streams(chance(seed)) {}

  /// Faults and their times.
  chance faults;
  /// Delays of frames and connections.
  chance network;
  /// Delays of messages between actors and of disk writes.
  chance mailboxes;
  /// Requests of producers and operators.
  chance workload;
  /// The behaviour of handlers and the settings of workers.
  chance handlers;
  /// Schedules, and requests for them.
  chance schedules;

private:
  // Members are initialised in the order of their declaration.
  explicit chance_streams(chance seeds)
    : faults(seeds.next()),
      network(seeds.next()),
      mailboxes(seeds.next()),
      workload(seeds.next()),
      handlers(seeds.next()),
      schedules(seeds.next()) {}
};

} // namespace codeq::sim
