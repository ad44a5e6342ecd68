// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/handler.hpp"
#include "codeq/operator_types.hpp"
#include "codeq/queue.hpp"
#include "codeq/result.hpp"
#include "codeq/schedule.hpp"
#include "codeq/task.hpp"
#include "codeq/task_limits.hpp"

#include <cstdint>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

/// Defined by `CODEQ_HANDLERS` in the source under test.
extern "C" void codeq_register_handlers(codeq::handler_registry& registry);

namespace codeq {

// Test frameworks show these values by name in their messages.

std::ostream& operator<<(std::ostream& out, task_state state);
std::ostream& operator<<(std::ostream& out, enqueue_kind kind);
std::ostream& operator<<(std::ostream& out, disposition what);
std::ostream& operator<<(std::ostream& out, const task_id& id);

} // namespace codeq

/// Tests of handlers without a coordinator, a network or a clock. Link `codeq::testing`.
namespace codeq::testing {

/// Parameters of the attempt that `run_once` makes.
struct attempt_options {
  std::uint32_t attempt = 1;
  fencing_token token{1};
  /// Requests cancellation before the handler begins.
  bool cancelled = false;
  /// Checkpoint saved by an earlier attempt.
  std::string checkpoint{};
  /// When the task was enqueued.
  timestamp enqueued_at{};
};

/// Calls that a handler made to its `task` while it ran.
struct handler_said {
  /// Percent and note of each report, in order.
  std::vector<std::pair<int, std::string>> progress;
  std::vector<std::string> log;
  /// Arguments of its calls of `extend`.
  std::vector<duration> extensions;
  /// Checkpoints that it saved.
  std::vector<std::string> checkpoints;
};

/// What `run_once` returns.
struct run_result {
  codeq::outcome outcome;
  handler_said said;
};

/// Calls a function for one attempt at `spec`, on the calling thread. As in a node, an exception
/// becomes a failure with `exception: ` and its text, and an outcome with a result, a delay or
/// follow-ups over their limits becomes the failure that says so. Whether the task has the limit
/// that an outcome names is not checked.
[[nodiscard]] run_result
run_once(const handler_function& function, const task_spec& spec, const attempt_options& = {});

/// The same with the handler that decides for `spec.queue`, typed ones and those of patterns
/// included. @throws std::invalid_argument when that is not a function
[[nodiscard]] run_result
run_once(const handler_registry& handlers, const task_spec& spec, const attempt_options& = {});

/// The handlers registered by the handler library that is linked into the test.
[[nodiscard]] inline handler_registry registered_handlers() {
  handler_registry registry;
  codeq_register_handlers(registry);
  return registry;
}

/// Fault that `testbed::inject` applies to the next attempt of a queue.
enum class mishap : std::uint8_t {
  /// The lease expires before the handler answers, because no heartbeat got through: the handler is
  /// cancelled, its answer is refused, and the task is delivered again.
  lost_lease,
  /// The task is cancelled before the handler begins.
  cancel,
  /// The node crashes before the handler's answer is sent, and is restarted: all its leases are
  /// lost, and charged.
  crash,
};

/// One attempt; attempts are listed in the order they began.
struct attempt_seen {
  task_id task;
  std::uint32_t attempt = 0;
  fencing_token token{};
  timestamp began;
  /// The handler's answer; empty until it answers.
  std::optional<codeq::outcome> answer;
  /// True when the shard accepted the answer; false when it was refused or lost.
  bool accepted = false;
  /// Also of an attempt that still runs, or that ended with the worker.
  handler_said said;
};

/// Parameters of a testbed.
struct testbed_options {
  /// Number of tasks that the worker runs at a time; at most `limits::slots_max`.
  std::size_t slots = limits::slots_default;
  /// The tenant whose tasks the worker runs, as `worker_options::tenant`, and whose limits
  /// `testbed::set_limit` defines. A task whose `tenant` is empty belongs to it.
  std::string tenant = "default";
  /// Shard time at the beginning, in the years 2000 to 2099. Default: 2023-11-14 22:13:20 UTC.
  timestamp start{duration{1'700'000'000'000}};
};

/// Producer, shard, worker and handlers on one thread, under a clock that moves only by `advance`.
/// The shard is the production code, so its decisions are those of a coordinator; its store is in
/// memory. Functions take no time; actors may wait by `delayed_send`. Handlers of every isolation
/// run in this process, so a handler that crashes takes the test with it. Every task can be queried
/// for ever; the key of an ended one is free when its retention is over.
class testbed {
public:
  /// Starts a worker with these handlers. @throws std::invalid_argument for handlers that
  /// `worker_node::start` refuses, such as two for one queue, and for bad options
  explicit testbed(const handler_registry& handlers, const testbed_options& = {});

  /// The same with this number of slots.
  testbed(const handler_registry& handlers, std::size_t slots)
      : testbed(handlers, testbed_options{.slots = slots}) {}

  ~testbed();
  testbed(const testbed&) = delete;
  testbed& operator=(const testbed&) = delete;

  /// Adds a task and processes everything that is due now. A task of a queue without a handler
  /// stays ready, and a line on stderr names the queue and the registered ones; so does a task of
  /// another tenant than the worker's. Errors: as `producer::enqueue`.
  result<enqueued_task> enqueue(const task_spec& spec);

  /// Defines a limit of the worker's tenant, or changes it. Errors: as
  /// `operator_client::set_limit`.
  result<limit_info> set_limit(const std::string& name, const limit_definition& definition);

  /// Sets the whole configuration of a queue of the worker's tenant. Errors: as
  /// `operator_client::configure_queue`.
  result<queue_info> configure_queue(const std::string& queue, const queue_config& config);

  /// Sets a schedule, which fires while the clock advances. Its tenant is that of its task. Errors:
  /// as `operator_client::set_schedule`.
  result<schedule_answer> set_schedule(const std::string& name, const schedule_spec& spec);

  /// Errors: `unknown_schedule`.
  result<schedule_answer> change_schedule(const std::string& name, schedule_action what);

  /// The occurrences of a schedule, at most `limits::schedule_history_max`. Errors:
  /// `unknown_schedule`.
  [[nodiscard]] result<std::vector<schedule_occurrence>> occurrences(const std::string& name);

  /// Advances the clock; events that become due on the way happen at their time.
  void advance(duration by);

  /// Shard time.
  [[nodiscard]] timestamp now() const;

  /// Status of the task, as `codeqctl get` shows it. Errors: `unknown_task`.
  [[nodiscard]] result<task_status> status(task_id task);

  /// Why the task does not run now; `to_sentence` says it in words. Errors: `unknown_task`.
  [[nodiscard]] result<task_explanation> explain(task_id task);

  /// All tasks of a queue in the order they were added, including follow-ups, of every tenant.
  [[nodiscard]] std::vector<task_status> tasks(const std::string& queue);

  /// All attempts so far.
  [[nodiscard]] const std::vector<attempt_seen>& attempts() const;

  /// Applies `what` to the next attempt at a task of `queue`. Repeated calls are applied in order.
  void inject(const std::string& queue, mishap what);

  /// Cancels a task, even if its handler is running. False when the task has ended already.
  bool cancel(task_id task);

  /// Changes a task as an operator does, for example redrives a dead one. Errors: `unknown_task`.
  result<change_outcome> change(task_id task, task_change what);

  /// Makes the lease of a running attempt expire. False when the task is not running.
  bool lose_lease(task_id task);

  /// Crashes the worker with all that it runs, and restarts it.
  void crash();

  /// Drains and restarts the worker: its handlers lose their state, and running tasks are given
  /// back.
  void restart_worker();

private:
  struct impl;
  std::unique_ptr<impl> impl_;
};

} // namespace codeq::testing
