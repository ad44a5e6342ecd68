// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/backup_status.hpp"
#include "codeq/credentials.hpp"
#include "codeq/operator_types.hpp"
#include "codeq/result.hpp"
#include "codeq/task.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace codeq {

struct operator_options {
  /// Addresses of coordinators, `host:port`.
  std::vector<std::string> coordinators;
  /// How long to wait for a connection and for each answer.
  duration timeout = std::chrono::seconds(10);
  /// What to show to coordinators.
  credentials access{};
};

/// What an operator's tool can ask of a coordinator. Blocking; one thread at a time. What concerns
/// a queue or a tenant is asked of every shard in turn; when that fails half way, the error says
/// what has been done, and asking again does the rest.
class operator_client {
public:
  /// Connects. Errors: `disconnected`, `timeout`, `unauthorized`; `invalid_argument` and
  /// `unavailable` for credentials that cannot be used.
  [[nodiscard]] static result<std::unique_ptr<operator_client>> connect(operator_options options);

  ~operator_client();
  operator_client(const operator_client&) = delete;
  operator_client& operator=(const operator_client&) = delete;

  // One task.

  /// Everything known of one task. Errors: `unknown_task`.
  [[nodiscard]] result<task_status> status(task_id task);
  [[nodiscard]] result<task_status> status(const task_key& task);

  /// Changes one task and returns when that is durable. Errors: `unknown_task`, `unsupported`.
  [[nodiscard]] result<change_outcome> change(task_id task, task_change what);

  /// The same by key, to cancel or promote. A key without a record is the outcome `not_found`.
  [[nodiscard]] result<change_outcome> change(const task_key& task, task_change what);

  /// Ends a lease or a task without its token. `text` is the result of a completed task or the
  /// reason of a failed one. Errors: `unknown_task`; `disconnected` leaves it open whether it was
  /// done.
  [[nodiscard]] result<change_outcome>
  force(task_id task, force_kind how, const std::string& text = {});

  /// Why the task does not run at this moment. Errors: `unknown_task`.
  [[nodiscard]] result<task_explanation> explain(task_id task);

  /// What happened to a task. Errors: `unknown_task`.
  [[nodiscard]] result<task_timeline> events(task_id task);

  // Queues.

  /// Errors: `invalid_argument` and `too_large` name the field, its value and the limit.
  [[nodiscard]] result<queue_info> show_queue(const queue_address& queue);

  /// Sets everything that is configured of a queue; it is made when it is new.
  [[nodiscard]] result<queue_info>
  configure_queue(const queue_address& queue, const queue_config& config);

  /// Stops or resumes handing out a queue's tasks; leases run on.
  [[nodiscard]] result<queue_info> pause_queue(const queue_address& queue, bool paused);

  // Many tasks.

  /// The oldest tasks that the filter picks, without their texts; at most `limit`
  /// (1..`limits::listed_tasks_max`) of them.
  [[nodiscard]] result<std::vector<task_status>>
  list(const task_filter& filter, std::size_t limit = limits::listed_tasks_default);

  /// Redrives or purges dead tasks; returns how many.
  [[nodiscard]] result<std::uint64_t> change_dead(const dead_filter& filter, dead_change what);

  /// Removes every task of a queue for good, whatever its state; leases are revoked. Returns how
  /// many.
  [[nodiscard]] result<std::uint64_t> purge_queue(const queue_address& queue);

  /// The same for all queues of a tenant.
  [[nodiscard]] result<std::uint64_t> purge_tenant(const std::string& tenant);

  /// Counts per queue and the coordinator's gauges.
  [[nodiscard]] result<coordinator_stats> stats();

  /// Begins a backup of the coordinator's store into the directory that the coordinator was started
  /// with. Errors: `unsupported` when there is none, `already` while one is running.
  [[nodiscard]] result<backup_status> start_backup();

  /// How the latest backup is.
  [[nodiscard]] result<backup_status> backup();

private:
  struct impl;
  explicit operator_client(std::unique_ptr<impl> state);
  std::unique_ptr<impl> impl_;
};

} // namespace codeq
