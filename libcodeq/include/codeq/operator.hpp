// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"
#include "codeq/task.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace codeq {

struct operator_options {
  /// Addresses of coordinators, `host:port`.
  std::vector<std::string> coordinators;
  /// How long to wait for a connection and for each answer.
  duration timeout = std::chrono::seconds(10);
};

struct queue_stats {
  queue_address queue;
  std::uint64_t scheduled = 0;
  std::uint64_t gated = 0;
  std::uint64_t ready = 0;
  std::uint64_t leased = 0;
  /// Since the store was created.
  std::uint64_t completed = 0;
  std::uint64_t dead = 0;
  /// Leases that expired, since the store was created.
  std::uint64_t lost = 0;
};

struct coordinator_stats {
  std::vector<queue_stats> queues;
  /// By metric name, for example `codeq_lease_timers`.
  std::map<std::string, std::int64_t> gauges;
};

/// What an operator's tool can ask of a coordinator. Blocking; one thread at a time.
class operator_client {
public:
  /// Connects. Errors: `disconnected`, `timeout`, `unauthorized`.
  [[nodiscard]] static result<std::unique_ptr<operator_client>> connect(operator_options options);

  ~operator_client();
  operator_client(const operator_client&) = delete;
  operator_client& operator=(const operator_client&) = delete;

  /// Everything known of one task. Errors: `unknown_task`.
  [[nodiscard]] result<task_status> status(task_id task);

  /// Changes one task and returns when that is durable. Errors: `unknown_task`, `unsupported`.
  [[nodiscard]] result<change_outcome> change(task_id task, task_change what);

  /// Counts per queue and the coordinator's gauges.
  [[nodiscard]] result<coordinator_stats> stats();

private:
  struct impl;
  explicit operator_client(std::unique_ptr<impl> state);
  std::unique_ptr<impl> impl_;
};

} // namespace codeq
