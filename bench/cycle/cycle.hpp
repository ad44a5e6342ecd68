// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "load/cluster.hpp"

#include <string>

namespace codeq::bench {

struct cycle_options {
  cluster_options cluster = {.slots = 128, .prefetch = 512, .shards = 2};
  std::size_t tasks = 200'000;
  std::string queue = "cycle";
  /// Payload size of each task, in bytes.
  std::size_t payload = 256;
  std::size_t producers = 2;
  /// Number of tasks in one enqueue request. With 1, claims and results are sent in messages of one
  /// task, too.
  std::size_t batch = 64;
  /// Maximum number of tasks of one producer that wait for their acknowledgement.
  std::size_t window = 1024;
  /// Number of keys of a limit over which the tasks are spread; one task of each may run at a time.
  /// 0: the tasks have no limit.
  std::size_t limit_keys = 0;
  /// Number of fairness keys over which the tasks are spread. 0: the tasks have none.
  std::size_t fairness_keys = 0;
  /// Number of dashboards that are open meanwhile.
  std::size_t dashboards = 0;
};

struct cycle_figures {
  std::size_t tasks = 0;
  std::size_t completed = 0;
  /// Number of stored results that were read back and found correct.
  std::size_t verified = 0;
  /// Time from the first enqueue to the last end, and to the last acknowledged enqueue.
  double seconds = 0;
  double enqueue_seconds = 0;
  /// CPU time of all processes, including the producers'.
  double cpu_seconds = 0;
  /// The part of it that coordinators used, and the part that workers used.
  double coordinator_cpu_seconds = 0;
  double worker_cpu_seconds = 0;
  /// Number of keys that the store wrote; bytes of its log and of its tables.
  std::int64_t record_ops = 0;
  std::int64_t log_bytes = 0;
  std::int64_t table_bytes = 0;
  /// Bytes that the open dashboards have read.
  std::size_t dashboard_bytes = 0;
  /// Memory of the coordinators at the end.
  std::size_t resident_bytes = 0;

  [[nodiscard]] double tasks_per_s() const { return static_cast<double>(tasks) / seconds; }
};

/// Runs tasks from an empty queue to the last acknowledged end: enqueue, claim under a lease,
/// handling by an actor, storing the result. Then checks that every task has completed and that a
/// sample of results is correct. Errors: `unavailable` when anything is missing.
[[nodiscard]] result<cycle_figures> run_cycle(const cycle_options& options);

/// The same as a JSON object.
[[nodiscard]] result<std::string> measure_cycle(const cycle_options& options);

} // namespace codeq::bench
