// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/credentials.hpp"
#include "codeq/result.hpp"
#include "codeq/task.hpp"

#include <concepts>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace codeq {

struct producer_options {
  /// Addresses of coordinators, `host:port`.
  std::vector<std::string> coordinators{};
  /// Shown in the coordinator's log; `[A-Za-z0-9._-]{1,128}`.
  std::string name = "producer";
  /// Maximum number of unanswered requests, 1..`limits::producer_requests_max`; `enqueue` blocks
  /// while the window is full. In a cluster a shard gets what leaves as much free as it has, and
  /// one request in any case, so that one that does not answer holds up no others.
  std::size_t window_requests = limits::producer_window_requests_default;
  /// How to authenticate to coordinators.
  credentials access{};
  /// Tenant of tasks with an unset `task_spec::tenant`. With a token, the token's tenant.
  std::string tenant = "default";
};

/// One answer per task, in the order given. Errors of a task: `invalid_argument` and `too_large`
/// name the field, its value and the limit, and refuse the whole request; `duplicate` when its key
/// has a record and it asked for `reject`; otherwise the reason why its part was refused.
using enqueue_answers = std::vector<result<enqueued_task>>;

/// Adds tasks and waits for their ends. Survives lost connections: an enqueue whose answer was lost
/// is resent under the same request number and never adds a task twice. Thread-safe.
///
/// Warnings, for example that a coordinator is not reached, are logged to stderr. The environment
/// variables `CODEQ_LOG_LEVEL` (debug, info, warn, error, off; default: warn) and
/// `CODEQ_LOG_FORMAT` (text, json) change that.
///
/// When the compiler finds no `enqueue` for a spec in braces, write `codeq::task_spec{...}`: its
/// error then names the wrong field.
///
/// Each call comes in two forms. With a `wait` it blocks for at most that time. With a callback it
/// returns once the request is in the window of `window_requests`, and blocks only while that is
/// full. Callbacks run on a thread of the producer and must not block; one that is refused before
/// anything is sent runs on the calling thread, before the call returns. An exception from a
/// callback is logged and dropped.
class producer {
public:
  /// Called when the task is durable or refused.
  using added = std::function<void(result<enqueued_task>)>;

  /// Called when every task is durable or refused.
  using enqueued = std::function<void(enqueue_answers)>;

  /// Called when all tasks are durable, or all are refused.
  using all_enqueued = std::function<void(result<std::vector<task_id>>)>;

  /// Called for each awaited task when it ends. Errors: `unknown_task`; `unauthorized`;
  /// `protocol_error` when no coordinator accepts this client; `session_expired` when the
  /// coordinator now serves another store; `going_away` from the destructor.
  using ended = std::function<void(result<ended_task>)>;

  /// Called when a handler reports progress, at most several times a second.
  using progressed = std::function<void(const task_progress&)>;

  /// Starts connecting in the background. Errors: `invalid_argument` for bad options;
  /// `unavailable` for certificates that cannot be used.
  [[nodiscard]] static result<std::unique_ptr<producer>> connect(producer_options options);

  /// Calls the callbacks of all that is open with `going_away`; requests that were sent may still
  /// be executed.
  ~producer();
  producer(const producer&) = delete;
  producer& operator=(const producer&) = delete;

  /// Adds a task and waits until it is durable. Errors: those of `enqueue_answers`; when nothing
  /// was sent in time, and so nothing enqueued, `disconnected` (no connection, and the text has the
  /// addresses and the latest cause; or in a cluster none to the coordinator of the task's shard,
  /// and the text names both), `unauthorized` or `protocol_error` (the coordinator does not accept
  /// this client) or `overloaded` (too many unanswered requests). `timeout`: it was sent, the
  /// outcome is unknown, and the producer goes on trying.
  [[nodiscard]] result<enqueued_task>
  enqueue(task_spec task, duration wait = std::chrono::seconds(30));

  /// The same without waiting.
  void enqueue(task_spec task, added done);

  /// Adds up to 1,000 tasks and answers each of them. Tasks of one shard (those of a key or group,
  /// and all tasks that have neither) are one part of the batch, which is added all or none; parts
  /// are independent. Tasks of one group keep their order. Errors: as for one task; that of a field
  /// is the answer of every task, and names the index of the task, as in `task 0: priority is 12`.
  template <std::same_as<std::vector<task_spec>> Tasks>
  [[nodiscard]] enqueue_answers enqueue(Tasks tasks, duration wait = std::chrono::seconds(30)) {
    return enqueue_each(std::move(tasks), wait);
  }

  /// The same for tasks in braces.
  [[nodiscard]] enqueue_answers
  enqueue(std::initializer_list<task_spec> tasks, duration wait = std::chrono::seconds(30)) {
    return enqueue_each(tasks, wait);
  }

  /// The same without waiting.
  template <std::same_as<std::vector<task_spec>> Tasks, std::invocable<enqueue_answers> Done>
  void enqueue(Tasks tasks, Done done) {
    enqueue_each(std::move(tasks), std::move(done));
  }

  void enqueue(std::initializer_list<task_spec> tasks, enqueued done) {
    enqueue_each(tasks, std::move(done));
  }

  /// Adds up to 1,000 tasks, all or none. Errors: as for one task, also `invalid_argument` for a
  /// task with a key, a group or a limit, because it may belong to another shard.
  [[nodiscard]] result<std::vector<task_id>>
  enqueue_all_or_none(std::vector<task_spec> tasks, duration wait = std::chrono::seconds(30));
  void enqueue_all_or_none(std::vector<task_spec> tasks, all_enqueued done);

  /// Waits until the task ends. The coordinator notifies the producer; there is no polling. Errors:
  /// those of `ended`; `timeout`: it has not ended in time; `disconnected`: there is no connection
  /// at the end of the time, so whether it has ended is unknown (the text has the addresses and the
  /// latest cause).
  [[nodiscard]] result<ended_task> await(task_id task, duration wait);
  void await(std::vector<task_id> tasks, ended done);

  /// As `await`, and calls `told` for each progress report. Progress is not stored: reports made
  /// before the call are not delivered. With a `wait` the call returns only after a `told` that is
  /// running, and `told` is not called after the return.
  [[nodiscard]] result<ended_task> watch(task_id task, progressed told, duration wait);
  void watch(std::vector<task_id> tasks, progressed told, ended done);

private:
  struct impl;
  explicit producer(std::unique_ptr<impl> state);

  // Templates above, and these under another name: `enqueue({.queue = "q", .payload = "x"})` would
  // otherwise also be a vector of two iterators.
  [[nodiscard]] enqueue_answers enqueue_each(std::vector<task_spec> tasks, duration wait);
  void enqueue_each(std::vector<task_spec> tasks, enqueued done);

  std::unique_ptr<impl> impl_;
};

} // namespace codeq
