// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/credentials.hpp"
#include "codeq/result.hpp"
#include "codeq/task.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace codeq {

struct producer_options {
  /// Addresses of coordinators, `host:port`.
  std::vector<std::string> coordinators;
  /// Shown in the coordinator's log; `[A-Za-z0-9._-]{1,128}`.
  std::string name = "producer";
  /// Maximum number of requests in flight; `enqueue` blocks while the window is full.
  std::size_t window_requests = limits::producer_window_requests_default;
  /// How to authenticate to coordinators.
  credentials access{};
};

/// One answer per task, in the order given. Errors of a task: `duplicate` when its key has a record
/// and it asked for `on_duplicate::reject`; otherwise the reason why its part of the batch was
/// refused.
using enqueue_answers = std::vector<result<enqueued_task>>;

/// Progress of a task that has not ended.
struct task_progress {
  task_id id;
  std::uint32_t attempt = 0;
  /// 0..100.
  int percent = 0;
  std::string note;
};

/// Adds tasks and waits for their outcomes. Survives lost connections: an enqueue whose answer was
/// lost is resent under the same request number and never adds a task twice. Thread-safe.
class producer {
public:
  /// Called when an enqueue is durable or refused, on a thread of the producer; must not block. An
  /// exception from it is logged and dropped.
  using enqueued = std::function<void(result<std::vector<task_id>>)>;

  /// The same for batches whose tasks are answered one by one.
  using each_enqueued = std::function<void(result<enqueue_answers>)>;

  /// Called when an awaited task ends, on a thread of the producer; must not block. An exception
  /// from it is logged and dropped. Errors: `unknown_task`.
  using ended = std::function<void(result<task_status>)>;

  /// Starts connecting in the background. Errors: `invalid_argument` for bad options;
  /// `unavailable` for certificates that cannot be used.
  [[nodiscard]] static result<std::unique_ptr<producer>> connect(producer_options options);

  ~producer();
  producer(const producer&) = delete;
  producer& operator=(const producer&) = delete;

  /// Adds a task and waits until it is durable. Errors: `invalid_argument` and `too_large` name the
  /// field, its value and the limit; `duplicate`; `timeout`: the outcome is unknown and the
  /// producer goes on trying.
  [[nodiscard]] result<enqueued_task>
  enqueue(task_spec task, duration wait = std::chrono::seconds(30));

  /// Adds up to 1,000 tasks, all or none, and waits until they are durable. Errors: also
  /// `invalid_argument` for a task with a key or a group, because it may belong to another shard.
  [[nodiscard]] result<std::vector<task_id>>
  enqueue(std::vector<task_spec> tasks, duration wait = std::chrono::seconds(30));

  /// As `enqueue`, without waiting for the answer. Blocks only while the window is full.
  void enqueue_async(std::vector<task_spec> tasks, enqueued done);

  /// Adds up to 1,000 tasks of any kind and waits until all are answered. Tasks of the same shard
  /// form one part of the batch, which is added all or none; each part succeeds or fails on its
  /// own. Tasks of one group keep their order. Errors of the whole call: nothing was added, or
  /// `timeout`.
  [[nodiscard]] result<enqueue_answers>
  enqueue_each(std::vector<task_spec> tasks, duration wait = std::chrono::seconds(30));

  /// As `enqueue_each`, without waiting for the answers.
  void enqueue_each_async(std::vector<task_spec> tasks, each_enqueued done);

  /// Waits until the task ends and returns its final status. Errors: `timeout`, `unknown_task`.
  [[nodiscard]] result<task_status> await(task_id task, duration wait);

  /// Calls `done` for each task when it ends. The coordinator notifies the producer; there is no
  /// polling.
  void await_async(std::vector<task_id> tasks, ended done);

  /// Called when a handler reports progress, at most several times a second, on a thread of the
  /// producer; must not block. An exception from it is logged and dropped.
  using progressed = std::function<void(const task_progress&)>;

  /// As `await`, and calls `told` for each progress report. Progress is not stored: reports made
  /// before the call are not delivered.
  [[nodiscard]] result<task_status> watch(task_id task, progressed told, duration wait);

  /// As `await_async`, and calls `told` for each progress report.
  void watch_async(std::vector<task_id> tasks, progressed told, ended done);

private:
  struct impl;
  explicit producer(std::unique_ptr<impl> state);
  std::unique_ptr<impl> impl_;
};

} // namespace codeq
