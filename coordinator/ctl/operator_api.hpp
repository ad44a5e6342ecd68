// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/operator.hpp"
#include "codeq/producer.hpp"

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace codeq::ctl {

struct queue_changes;

/// The tenant that is meant when nobody names one.
inline constexpr std::string_view default_tenant = "default";

/// The end of the error that the tenant does not have a name: how to choose another tenant.
inline constexpr std::string_view other_tenant_advice = "; --tenant NAME chooses another tenant";

/// A task, identified by its id or by its key.
using task_target = std::variant<task_id, task_key>;

/// The JSON answer of a gateway, with the names that commands print; it is not interpreted.
struct document {
  std::string json;
};

/// A value from a node port, or the document of a gateway.
template <class T>
using answer = result<std::variant<T, document>>;

enum class operation_verb : std::uint8_t { redrive, purge, cancel, promote };

/// In the order of `operation_verb`.
inline constexpr std::array<std::string_view, 4> operation_kind_names{
  "redrive", "purge", "cancel", "promote"};

/// A change of all tasks that match a filter.
struct operation_start {
  operation_verb kind = operation_verb::redrive;
  task_filter filter{};
  /// Maximum number of tasks, and of tasks per second; 0: no limit.
  std::uint64_t limit = 0;
  std::uint64_t rate = 0;
  /// Pauses when more than this percentage of the canary's tasks failed again.
  std::optional<std::uint64_t> canary{};
};

enum class operation_step : std::uint8_t { show, pause, resume, cancel };

/// Copies of a task to add.
struct enqueue_request {
  task_spec task{};
  std::size_t copies = 1;
  /// The URL to which the end of each task is posted; empty: none. @pre when not: `sends_webhooks`
  std::string webhook{};
};

/// A worker after a drain, or after it was taken back.
struct drained_worker {
  std::string name;
  bool is_drained = false;
};

/// Outcome of waiting for the end of a task.
struct task_end {
  /// Not terminal only when the call did not wait. Empty when the task has not ended.
  std::optional<ended_task> status{};
  /// Why there is no status, when the reason is known.
  std::optional<error> late{};
};

/// The requests that codeqctl can make to a coordinator, through its node port or an HTTP gateway.
/// Connects with the first request; use from one thread at a time. Errors: of the connection; of
/// `operator_client` and `producer`; `unsupported` names what a gateway, or a node port, cannot do.
/// An empty tenant stands for the default one: the environment's, else the token's, else `default`.
class operator_api {
public:
  using progressed = std::function<void(const task_progress&)>;
  using added = std::function<void(const std::vector<enqueued_task>&)>;

  virtual ~operator_api() = default;

  // One task.

  virtual answer<task_status> status(const task_target& task) = 0;

  /// @pre for redrive and purge: the task is identified by its id
  virtual answer<change_outcome> change(const task_target& task, task_change what) = 0;
  virtual answer<change_outcome> force(task_id task, force_kind how, const std::string& text) = 0;
  virtual answer<task_explanation> explain(task_id task) = 0;
  virtual answer<task_timeline> events(task_id task) = 0;

  // Queues and many tasks.

  virtual answer<queue_info> show_queue(const queue_address& queue) = 0;
  /// Why the waiting tasks of a queue do not run, in sums.
  virtual answer<queue_explanation> explain_queue(const queue_address& queue) = 0;
  virtual answer<queue_info>
  configure_queue(const queue_address& queue, const queue_changes& changes) = 0;
  virtual answer<queue_info> pause_queue(const queue_address& queue, bool paused) = 0;
  /// A page of the queue's fairness keys, as `operator_client::fairness`.
  virtual answer<fairness_page> fairness(
    const queue_address& queue, const std::optional<std::string>& after, std::size_t limit) = 0;
  /// A page of at most `limits::listed_tasks_max` tasks; of a gateway at most
  /// `limits::http_listed_tasks_max`.
  virtual answer<task_page> list(const task_filter& filter, const page_request& page) = 0;
  virtual answer<std::uint64_t> change_dead(const dead_filter& filter, dead_change what) = 0;
  virtual answer<dead_summary> summarize_dead(const dead_filter& filter) = 0;
  virtual answer<std::uint64_t> purge_queue(const queue_address& queue) = 0;
  virtual answer<std::uint64_t> purge_tenant(const std::string& tenant) = 0;

  // Operations; of a gateway only.

  virtual result<document> start_operation(const operation_start& what) = 0;
  virtual result<document> operations(const std::string& tenant) = 0;
  virtual result<document> change_operation(const std::string& id, operation_step what) = 0;

  // Schedules.

  virtual answer<schedule_answer>
  set_schedule(const schedule_address& name, const schedule_spec& spec) = 0;
  virtual answer<schedule_answer>
  change_schedule(const schedule_address& name, schedule_action what) = 0;
  virtual answer<schedule_answer>
  backfill_schedule(const schedule_address& name, timestamp from, timestamp until) = 0;
  virtual answer<schedule_info> show_schedule(const schedule_address& name) = 0;

  /// The next times of a schedule.
  virtual answer<schedule_info> next_of(const schedule_address& name, std::uint32_t count) = 0;

  /// The next times of a schedule that was not set.
  virtual answer<std::vector<schedule_time>> preview_schedule(
    const schedule_address& name, const schedule_spec& spec, std::uint32_t count) = 0;
  virtual answer<std::vector<schedule_occurrence>>
  schedule_history(const schedule_address& name) = 0;
  virtual answer<std::vector<schedule_info>> list_schedules(const std::string& tenant) = 0;

  // Limits.

  /// Sets a limit, or in a dry run only tells what that would come to.
  virtual answer<limit_info>
  set_limit(const limit_address& name, const limit_definition& definition, bool is_dry_run) = 0;
  virtual answer<limit_info> show_limit(const limit_address& name) = 0;
  virtual answer<limit_info> delete_limit(const limit_address& name) = 0;
  virtual answer<limit_list> list_limits(const std::string& tenant) = 0;
  virtual answer<limit_keys_page>
  limit_keys(const limit_address& name, const limit_keys_request& page) = 0;
  virtual answer<limit_key_info>
  close_limit_key(const limit_address& name, const std::string& key, duration how_long) = 0;
  virtual answer<limit_key_info>
  open_limit_key(const limit_address& name, const std::string& key) = 0;

  // The coordinator.

  virtual answer<coordinator_stats> stats() = 0;

  /// Counts of one queue, or of all queues of the tenant when the name is empty.
  virtual answer<coordinator_stats> stats_of(const queue_address& queue) = 0;

  virtual answer<worker_list> workers() = 0;

  /// Drains a worker, or takes it back; see `operator_client::drain_worker`.
  virtual answer<drained_worker> drain_worker(const std::string& name, bool is_drained) = 0;

  /// The state of the cluster.
  virtual answer<cluster_status> cluster() = 0;

  /// Decides on places of shards; see `operator_client::change_cluster`.
  virtual answer<cluster_status> change_cluster(const cluster_change& change) = 0;

  /// A page of the audit log.
  virtual answer<audit_page> audit(const audit_filter& filter) = 0;

  /// Starts a backup of the store and waits until it has ended.
  virtual result<backup_status> back_up() = 0;

  /// Has all coordinators of a cluster back up their stores, waits until that has ended, and writes
  /// to the file what a restore has to know.
  virtual result<cluster_backup> back_up_cluster(const std::filesystem::path& file) = 0;

  /// Changes the level of the coordinator's log, or only reads it when `level` is empty; returns
  /// the level in force.
  virtual answer<std::string> log_level(const std::string& level) = 0;

  virtual result<std::vector<backup_info>> backups() = 0;

  // Requests of producers.

  /// Checks credentials and addresses, before the payload for `enqueue` is read.
  virtual result<void> prepare_enqueue() = 0;

  /// Adds copies of a task in as few requests as possible; calls `told` with the outcome of each.
  virtual result<void> enqueue(const enqueue_request& request, const added& told) = 0;

  /// True when a task may have a webhook: gateways keep and send them.
  [[nodiscard]] virtual bool sends_webhooks() const = 0;

  /// How the task ended; waits for its end at most `wait`, or not at all when that is empty.
  virtual result<task_end> await(task_id task, std::optional<duration> wait) = 0;

  /// As `await`, and calls `told` for each progress report, on another thread but never after it
  /// returned.
  virtual result<task_end> watch(task_id task, duration wait, progressed told) = 0;

  /// True when `watch` is supported.
  [[nodiscard]] virtual bool tells_progress() const = 0;

  /// The error to report when a wait ended with `reason`: after a timeout, the reason why no
  /// coordinator can be reached, if so. May try to connect for a moment.
  virtual error cause_of(const error& reason) = 0;
};

/// Client of a coordinator's node port.
[[nodiscard]] std::unique_ptr<operator_api>
make_node_api(operator_options options, std::string tenant);

/// Client of the HTTP gateway at that URL; the coordinators in `options` are ignored.
[[nodiscard]] std::unique_ptr<operator_api>
make_http_api(std::string url, operator_options options, std::string tenant);

} // namespace codeq::ctl
