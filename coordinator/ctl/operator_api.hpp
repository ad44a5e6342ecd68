// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/operator.hpp"
#include "codeq/producer.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace codeq::ctl {

struct queue_changes;

/// A task by its id or by its key.
using task_target = std::variant<task_id, task_key>;

/// A gateway's own answer, JSON; it is shown as it came.
struct document {
  std::string json;
};

/// A value from a node port, or the document that a gateway gave instead.
template <class T>
using answer = result<std::variant<T, document>>;

/// What one request of an enqueue came to.
struct added_tasks {
  std::vector<enqueued_task> tasks;
  std::optional<document> said{};
  /// False when the rest of the request was refused.
  bool is_whole = true;
};

/// What is known of a task when waiting for its end is over.
struct task_end {
  /// A state that is not terminal means that nobody waited. Empty when the task has not ended.
  std::optional<task_status> status{};
  /// Why there is no status, where that is known.
  std::optional<error> late{};
  std::optional<document> said{};
};

/// What codeqctl can ask of a coordinator, at its node port or at an HTTP gateway. Connects with
/// the first question; one thread at a time. Errors: of the connection; of `operator_client` and
/// `producer`; `unsupported` names what a gateway cannot do.
class operator_api {
public:
  using progressed = std::function<void(const task_progress&)>;
  using added = std::function<void(const added_tasks&)>;

  virtual ~operator_api() = default;

  // One task.

  virtual answer<task_status> status(const task_target& task) = 0;

  /// @pre to redrive or purge, the task is named by its id
  virtual answer<change_outcome> change(const task_target& task, task_change what) = 0;
  virtual answer<change_outcome> force(task_id task, force_kind how, const std::string& text) = 0;
  virtual answer<task_explanation> explain(task_id task) = 0;
  virtual answer<task_timeline> events(task_id task) = 0;

  // Queues and many tasks.

  virtual answer<queue_info> show_queue(const queue_address& queue) = 0;
  virtual answer<queue_info>
  configure_queue(const queue_address& queue, const queue_changes& changes) = 0;
  virtual answer<queue_info> pause_queue(const queue_address& queue, bool paused) = 0;
  virtual answer<std::vector<task_status>> list(const task_filter& filter, std::size_t limit) = 0;
  virtual answer<std::uint64_t> change_dead(const dead_filter& filter, dead_change what) = 0;
  virtual answer<std::uint64_t> purge_queue(const queue_address& queue) = 0;
  virtual answer<std::uint64_t> purge_tenant(const std::string& tenant) = 0;

  // The coordinator.

  virtual answer<coordinator_stats> stats() = 0;

  /// The counts of one queue, or of all queues of the tenant when its name is empty.
  virtual answer<coordinator_stats> stats_of(const queue_address& queue) = 0;

  /// Has the store backed up and waits until that is done.
  virtual result<backup_status> back_up() = 0;

  // What a producer does.

  /// Checks credentials and addresses before a payload is read for `enqueue`.
  virtual result<void> prepare_enqueue() = 0;

  /// Adds copies of a task in as few requests as possible; `told` gets what each came to.
  virtual result<void> enqueue(const task_spec& task, std::size_t copies, const added& told) = 0;

  /// How the task ended, after waiting for that when `wait` is given.
  virtual result<task_end> await(task_id task, std::optional<duration> wait) = 0;

  /// As `await`, and calls `told` on the way, on another thread, but not after it returned.
  virtual result<task_end> watch(task_id task, duration wait, progressed told) = 0;

  /// True when `watch` is possible.
  [[nodiscard]] virtual bool tells_progress() const = 0;

  /// What is wrong when waiting ended with `reason`: for a timeout while no coordinator can be
  /// reached it is that. May try to connect for a moment.
  virtual error cause_of(const error& reason) = 0;
};

/// Asks a coordinator at its node port.
[[nodiscard]] std::unique_ptr<operator_api> make_node_api(operator_options options);

/// Asks the HTTP gateway at that URL; the coordinators of `options` do not matter.
[[nodiscard]] std::unique_ptr<operator_api>
make_http_api(std::string url, operator_options options);

} // namespace codeq::ctl
