// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/bytes.hpp"
#include "codeq/ids.hpp"
#include "codeq/task.hpp"
#include "codeq/time.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace codeq {

/// Cancellation flag of one attempt: requested when the attempt's result is no longer wanted.
/// Shared by the runtime and the handler; every member may be called from any thread.
class cancellation {
public:
  /// True once the lease is lost, the task is cancelled or the node stops without waiting.
  [[nodiscard]] bool requested() const noexcept;

  /// Sets the action that runs when cancellation is requested. It runs once, on the requesting
  /// thread; if cancellation was requested before, it runs at once on the calling thread. An
  /// attempt has at most one action; the action must not block.
  void on_request(std::function<void()> action);

  /// Requests cancellation. Called by the runtime; idempotent.
  void request();

  cancellation() = default;
  cancellation(const cancellation&) = delete;
  cancellation& operator=(const cancellation&) = delete;

private:
  std::atomic<bool> requested_{false};
  std::mutex mutex_;
  std::function<void()> action_;
};

/// Callback of `task::save_checkpoint`. `saved` is true once the checkpoint and all earlier ones of
/// the attempt are durable at the coordinator; it is false when the attempt ended before that was
/// known. Called once, from a thread of the runtime; must not block.
using checkpoint_saved = std::function<void(bool saved)>;

/// Implements the member functions of `task`; provided by the runtime that runs the handler. Every
/// member may be called from any thread, also after the attempt has ended.
class attempt_runtime {
public:
  attempt_runtime();
  virtual ~attempt_runtime();
  attempt_runtime(const attempt_runtime&) = delete;
  attempt_runtime& operator=(const attempt_runtime&) = delete;

  [[nodiscard]] virtual duration lease_remaining() const = 0;
  virtual void progress(int percent, std::string note) = 0;
  virtual void extend(duration by) = 0;
  virtual void log(std::string_view line) = 0;
  virtual void save_checkpoint(std::string state, checkpoint_saved then) = 0;
};

/// One attempt at a task, as its handler sees it. Cheap to copy: copies share the payload. The
/// member functions may be called from any thread.
struct task {
  task_id id;
  std::string tenant;
  std::string queue;
  /// The producer's key for the task, and the group whose tasks run one at a time in order. Empty:
  /// none.
  std::string key{};
  std::string group{};
  int priority = 0;
  /// 1 for the first charged delivery.
  std::uint32_t attempt = 1;
  std::uint32_t max_attempts = 1;
  /// Strictly increasing within the task and its group: guard writes into your own store with it.
  fencing_token token{};
  /// Time that the lease stays valid between two heartbeats. The runtime sends the heartbeats.
  duration lease{0};
  timestamp enqueued_at;
  /// The bytes that the producer gave; shared by all copies of the task.
  bytes payload;
  std::map<std::string, std::string> headers;
  /// The latest checkpoint that an earlier attempt saved; the handler resumes from it. Empty: none.
  bytes checkpoint{};
  /// Never null.
  std::shared_ptr<cancellation> cancel;
  /// Runtime behind the member functions below; null when there is none.
  std::shared_ptr<attempt_runtime> runtime{};

  /// Remaining time of the lease if no further heartbeat reaches the coordinator; zero once the
  /// lease has ended.
  [[nodiscard]] duration lease_remaining() const;

  /// Reports progress. Restarts the task's `progress_timeout` and is delivered to producers that
  /// watch the task, at most several times a second (then only the latest report). The worker sends
  /// reports every 20 ms; those that it has not sent when the attempt ends are not delivered, since
  /// the end says more. `percent` is 0..100; a `note` longer than 1 KiB is cut with a mark. @throws
  /// std::invalid_argument for `percent`
  void progress(int percent, std::string note = {}) const;

  /// Extends the lease to `by` (1 s to 12 h) from now even if no heartbeats are sent, for work that
  /// stops the whole process. The lease never extends past the task's `run_timeout`. Counts as
  /// progress. @throws std::invalid_argument for `by`
  void extend(duration by) const;

  /// Saves `state` (at most 64 KiB) as the checkpoint that the task's next attempt gets; it
  /// replaces the previous checkpoint. Counts as progress. Returns at once; `then`, if set, is
  /// called when the checkpoint is durable or refused. A failed attempt passes its latest
  /// checkpoint on, too. Checkpoints are refused after the lease has ended, so that an old attempt
  /// cannot overwrite the checkpoint of a newer one. They are deleted when the task ends. @throws
  /// std::invalid_argument for a `state` over its limit
  void save_checkpoint(std::string state, checkpoint_saved then = {}) const;

  /// Writes a line to the node's log, together with the task, attempt and token.
  void log(std::string_view line) const;
};

/// How an attempt ended, as its handler reports it. There is no default constructor: a handler has
/// to choose an outcome.
class outcome {
public:
  /// The work is done; `result` (at most 1 MiB) is stored and can be read by producers. With a
  /// longer one the task is dead, since another attempt would make the same.
  [[nodiscard]] static outcome completed(std::string result = {});

  /// The attempt failed; the task is retried by its policy, or dead when attempts are used up.
  [[nodiscard]] static outcome failed(std::string reason);

  /// No further attempt can succeed; the task is dead.
  [[nodiscard]] static outcome failed_permanently(std::string reason);

  /// As `failed`, with the handler's own delay: 0 (at once) to `limits::retry_max`. With another
  /// one the delay comes from the retry policy, and the reason says so.
  [[nodiscard]] static outcome nack(duration delay, std::string reason);

  /// As `failed`; the delay comes from the task's retry policy.
  [[nodiscard]] static outcome nack(std::string reason);

  /// Gives the task back: it is ready at once in its old place, and the attempt is not charged.
  [[nodiscard]] static outcome abandon();

  /// Something that the handler uses refuses more work for a while, as with HTTP status 429: gives
  /// the task back uncharged, and starts no task of the same key of its limit before `retry_after`
  /// (0 to 31 d) has passed. `limit` is the name of a limit of the task; empty: its first one. A
  /// task that has no such limit waits alone. With another time the attempt is `failed`.
  [[nodiscard]] static outcome
  limited(duration retry_after, std::string limit = {}, std::string reason = {});

  /// Says what the attempt really cost for a limit of the task, in place of `task_limit::cost`:
  /// 0..`limits::limit_cost_settled_max`. The difference delays the next starts of the limit's key,
  /// or lets them come earlier. May be added to any outcome; the latest cost of a limit counts, and
  /// that of a limit that the task does not have is left out. @throws std::invalid_argument for
  /// `actual`, and for more limits than a task may have
  outcome& cost(std::string limit, std::uint32_t actual) &;
  [[nodiscard]] outcome&& cost(std::string limit, std::uint32_t actual) &&;

  /// Adds a follow-up task. It is enqueued in the same write as this completion: exactly once if
  /// the completion is accepted, never otherwise. At most 64 follow-ups of 8 MiB in total. They may
  /// be added to any outcome, but only `completed` enqueues them. One without `tenant` belongs to
  /// the task's tenant; the worker's token has to allow another one. A follow-up that is refused,
  /// such as one with a field over its limit, makes the attempt `failed`, with the reason. A
  /// duplicate key is handled by its `on_duplicate` (`reject` adds nothing). Queue limits do not
  /// apply to follow-ups.
  outcome& then(task_spec follow_up) &;
  [[nodiscard]] outcome&& then(task_spec follow_up) &&;

  /// Never `cancelled`.
  [[nodiscard]] disposition what() const noexcept { return kind_; }

  /// The result, or the reason.
  [[nodiscard]] const std::string& text() const noexcept { return text_; }

  /// Moves the text out; it is empty afterwards.
  [[nodiscard]] std::string take_text() noexcept { return std::move(text_); }

  /// The delay given to `nack`, or how long the key is closed by `limited`; empty when the retry
  /// policy decides.
  [[nodiscard]] std::optional<duration> delay() const noexcept { return delay_; }

  /// The limit given to `limited`; empty: the task's first one.
  [[nodiscard]] const std::string& limit_name() const noexcept { return limit_name_; }

  /// The actual costs, without keys.
  [[nodiscard]] const std::vector<task_limit>& costs() const noexcept { return costs_; }

  /// In the order they were added.
  [[nodiscard]] const std::vector<task_spec>& follow_ups() const noexcept { return follow_ups_; }

private:
  outcome(disposition what, std::string text) : kind_(what), text_(std::move(text)) {}

  disposition kind_;
  std::string text_;
  std::optional<duration> delay_;
  std::vector<task_spec> follow_ups_;
  std::string limit_name_;
  std::vector<task_limit> costs_;
};

} // namespace codeq
