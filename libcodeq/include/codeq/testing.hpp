// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/handler.hpp"
#include "codeq/result.hpp"
#include "codeq/task.hpp"

#include <memory>
#include <string>
#include <utility>
#include <vector>

/// Defined by `CODEQ_HANDLERS` in the source that is tested.
extern "C" void codeq_register_handlers(codeq::handler_registry& registry);

/// Tests of handlers without a coordinator, a network or a clock. Link `codeq::testing`.
namespace codeq::testing {

/// What the attempt of `run_once` is, beside its task.
struct attempt_options {
  std::uint32_t attempt = 1;
  fencing_token token{1};
  /// The handler is told to stop before it begins.
  bool cancelled = false;
  /// What an earlier attempt saved.
  std::string checkpoint{};
};

/// What a handler said while it ran.
struct handler_said {
  /// Percent and note, in order.
  std::vector<std::pair<int, std::string>> progress;
  std::vector<std::string> log;
  /// The times it asked its lease to be valid for.
  std::vector<duration> extensions;
  /// What it saved for the next attempt.
  std::vector<std::string> checkpoints;
};

/// What `run_once` returns.
struct run_result {
  codeq::outcome outcome;
  handler_said said;
};

/// Calls a function for one attempt at `spec`, on the calling thread. What it throws becomes a
/// failure with the text, as in a node.
[[nodiscard]] run_result
run_once(const handler_function& function, const task_spec& spec, const attempt_options& = {});

/// What the handler library that is linked into the test registers.
[[nodiscard]] inline handler_registry registered_handlers() {
  handler_registry registry;
  codeq_register_handlers(registry);
  return registry;
}

/// What happens to the next attempt at a task of a queue.
enum class mishap : std::uint8_t {
  /// The lease runs out before the handler answers, because no heartbeat got through: the handler
  /// is told to stop, its answer is refused, and the task is delivered again.
  lost_lease,
  /// The task is cancelled before the handler begins.
  cancel,
  /// The node dies before the handler's answer leaves, and is started again: everything that it
  /// ran is lost, and charged.
  crash,
};

/// One attempt, in the order they began.
struct attempt_seen {
  task_id task;
  std::uint32_t attempt = 0;
  fencing_token token{};
  timestamp began;
  /// What the handler answered; empty while it has not.
  std::optional<codeq::outcome> answer;
  /// The answer counted; a refused or lost one did not.
  bool accepted = false;
  handler_said said;
};

/// Producer, shard, worker and handlers in this thread, under a clock that stands still until it is
/// told to move. The shard is the one that ships, so what it decides is what a coordinator decides;
/// its store is in memory. Functions take no time; actors may wait by `delayed_send`. Handlers of
/// every isolation run here, so a crash is the test's.
class testbed {
public:
  /// A worker with these handlers and so many slots. @pre no two for one queue
  explicit testbed(const handler_registry& handlers, std::size_t slots = limits::slots_default);

  ~testbed();
  testbed(const testbed&) = delete;
  testbed& operator=(const testbed&) = delete;

  /// Adds a task and lets everything happen that happens at once. Errors: as `producer::enqueue`.
  result<enqueued_task> enqueue(const task_spec& spec);

  /// Lets time pass; what becomes due on the way happens then.
  void advance(duration by);

  /// Shard time.
  [[nodiscard]] timestamp now() const;

  /// The task as `codeqctl get` would show it. Errors: `unknown_task`.
  [[nodiscard]] result<task_status> status(task_id task);

  /// All tasks of a queue in the order they were added, follow-ups of handlers among them.
  [[nodiscard]] std::vector<task_status> tasks(const std::string& queue);

  /// Every attempt so far.
  [[nodiscard]] const std::vector<attempt_seen>& attempts() const;

  /// The next attempt at a task of `queue` meets this; may be said several times.
  void inject(const std::string& queue, mishap what);

  /// Cancels a task, also one whose handler runs. False when it was over.
  bool cancel(task_id task);

  /// The lease of a running attempt runs out. False when the task does not run.
  bool lose_lease(task_id task);

  /// The worker dies with all that it runs and is started again.
  void crash();

  /// The worker's handlers are gone, and with them their state; what they ran is given back.
  void restart_worker();

private:
  struct impl;
  std::unique_ptr<impl> impl_;
};

} // namespace codeq::testing
