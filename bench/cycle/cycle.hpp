// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "load/cluster.hpp"

#include <string>

namespace codeq::bench {

struct cycle_options {
  cluster_options cluster = {.slots = 128, .prefetch = 512, .shards = 2, .library = {}};
  std::size_t tasks = 200'000;
  std::string queue = "cycle";
  /// Bytes of each.
  std::size_t payload = 256;
  std::size_t producers = 2;
  /// Tasks of one enqueue request. With 1, claims and results are messages of one task too.
  std::size_t batch = 64;
  /// Tasks of one producer that wait for their answers at most.
  std::size_t window = 1024;
};

struct cycle_figures {
  std::size_t tasks = 0;
  std::size_t completed = 0;
  /// Whose stored results were read and found right.
  std::size_t verified = 0;
  /// From the first enqueue to the last end, and to the last acknowledged enqueue.
  double seconds = 0;
  double enqueue_seconds = 0;
  /// Of all processes, the producers' too.
  double cpu_seconds = 0;
  /// Keys that the store wrote; bytes of its log and of its tables.
  std::int64_t record_ops = 0;
  std::int64_t log_bytes = 0;
  std::int64_t table_bytes = 0;
  /// Of the coordinator, in the end.
  std::size_t resident_bytes = 0;

  [[nodiscard]] double tasks_per_s() const { return static_cast<double>(tasks) / seconds; }
};

/// Runs tasks from an empty queue to the last acknowledged end: enqueued, claimed under a lease,
/// handled by an actor, result stored. Then reads back that every task is completed and that a
/// sample of results is right. Errors: `unavailable` when anything is missing.
[[nodiscard]] result<cycle_figures> run_cycle(const cycle_options& options);

/// The same as a JSON object.
[[nodiscard]] result<std::string> measure_cycle(const cycle_options& options);

} // namespace codeq::bench
