// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/task.hpp"
#include "codeq/task_limits.hpp"

#include "sim/world.hpp"

#include <map>
#include <string>
#include <vector>

namespace codeq::sim {

/// Plain tasks and groups; operators do not change these queues.
inline const std::vector<std::string> plain_queues = {"a", "b", "c"};
/// The one of them whose tasks have fairness keys.
inline const std::string fair_queue = "b";
/// Tasks with keys; paused sometimes.
inline const std::string keyed_queue = "k";
/// Paused and limited, with defaults that change.
inline const std::string managed_queue = "q";
/// The header that has the fairness keys of its tasks at times.
inline const std::string fairness_header = "customer";
/// Purged sometimes.
inline const std::string purged_queue = "p";
/// A tenant without workers: its tasks wait until the whole tenant is purged.
inline const std::string other_tenant = "other";

/// The limits of a run with limits, which exist on every shard before tasks arrive.
inline const std::map<std::string, limit_definition> sim_limits = {
  {"one", {.concurrency = 1, .rate = {}}},
  {"slow", {.concurrency = 3, .rate = start_rate{8, std::chrono::seconds(1), 3}}}};

/// How long one of their keys is closed after each start of the coordinator.
inline constexpr duration key_closed_for{1'000};

/// All queues that workers serve.
[[nodiscard]] std::vector<std::string> served_queues();

/// Few keys, so that most are taken.
inline constexpr std::uint64_t key_count = 4;

[[nodiscard]] std::string some_key(chance& random);

/// Usually empty.
[[nodiscard]] std::string some_group_of_key(chance& random);

/// Generates the tasks that producers enqueue. The producer sets the payloads.
class workload {
public:
  explicit workload(world& all) : world_(all) {}

  /// The tasks of one request.
  [[nodiscard]] std::vector<task_spec> some_request();

  /// One task for each key of `keyed_queue`, without groups.
  [[nodiscard]] std::vector<task_spec> all_keys();

private:
  [[nodiscard]] task_spec some_task();
  void add_group(task_spec& task);
  void add_key(task_spec& task);
  void add_time(task_spec& task);
  void add_fairness(task_spec& task);
  /// For tasks that may be on any shard, in runs with limits.
  void add_limits(task_spec& task);
  [[nodiscard]] task_spec some_special_task();
  [[nodiscard]] std::vector<task_spec> some_plain_request();

  world& world_;
};

} // namespace codeq::sim
