// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/bytes.hpp"
#include "codeq/ids.hpp"
#include "codeq/time.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace codeq {

/// Tells a running handler that its attempt is no longer wanted. Shared by the runtime and the
/// handler; every member may be called from any thread.
class cancellation {
public:
  /// True once the lease is lost, the task is cancelled or the node stops without waiting.
  [[nodiscard]] bool requested() const noexcept;

  /// Calls `action` once, from the thread that requests the cancellation, or at once when that
  /// happened before. At most one action per task; it must not block.
  void on_request(std::function<void()> action);

  /// Used by the runtime; idempotent.
  void request();

  cancellation() = default;
  cancellation(const cancellation&) = delete;
  cancellation& operator=(const cancellation&) = delete;

private:
  std::atomic<bool> requested_{false};
  std::mutex mutex_;
  std::function<void()> action_;
};

/// Learns what became of a checkpoint: true once it is durable at the coordinator, together with
/// all that the attempt saved before; false when the attempt ended first, so that nobody can tell.
/// Called once, from a thread of the runtime; must not block.
using checkpoint_saved = std::function<void(bool saved)>;

/// What stands behind the verbs of a `task`; implemented by whatever runs the handler. Every member
/// may be called from any thread, also when the attempt is over.
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

/// One attempt at a task, as its handler sees it. Cheap to copy: the payload is shared, not copied.
/// The verbs may be called from any thread.
struct task {
  task_id id;
  std::string tenant;
  std::string queue;
  /// The producer's own name for the task, and the group that it runs in order with; empty is none.
  std::string key{};
  std::string group{};
  int priority = 0;
  /// 1 for the first charged delivery.
  std::uint32_t attempt = 1;
  std::uint32_t max_attempts = 1;
  /// Strictly increasing within the task and its group: guard writes into your own store with it.
  fencing_token token{};
  /// How long the lease is valid between two heartbeats (the runtime sends them).
  duration lease{0};
  timestamp enqueued_at;
  bytes payload;
  std::vector<std::pair<std::string, std::string>> headers;
  /// What an earlier attempt at this task saved last, to go on from there; empty is nothing.
  bytes checkpoint{};
  /// Never null.
  std::shared_ptr<cancellation> cancel;
  /// What the verbs below reach; null where nobody listens.
  std::shared_ptr<attempt_runtime> runtime{};

  /// For how long the lease is valid even if no further heartbeat gets through; zero when it is
  /// over.
  [[nodiscard]] duration lease_remaining() const;

  /// Says how far the work is: feeds the task's `progress_timeout`, and producers that watch the
  /// task are told, several times a second at most and then the latest. `percent` is 0..100; a
  /// `note` of more than 1 KiB is cut with a mark. @throws std::invalid_argument for `percent`
  void progress(int percent, std::string note = {}) const;

  /// Asks that the lease be valid for `by` (1 s to 12 h) from now even without heartbeats, for work
  /// that stops the whole process. Not beyond the task's `run_timeout`. Counts as progress.
  /// @throws std::invalid_argument for `by`
  void extend(duration by) const;

  /// Hands `state` (at most 64 KiB) on to the task's next attempt, in place of what it was handed
  /// on before. Counts as progress. Returns at once; `then`, if any, learns when it is durable. The
  /// latest one goes with a failure, too. What is saved when the lease is over is refused, so that
  /// no attempt overtakes a later one; when the task ends, all of it is gone.
  /// @throws std::invalid_argument for a `state` over its limit
  void save_checkpoint(std::string state, checkpoint_saved then = {}) const;

  /// Writes a line into the node's log that names task, attempt and token.
  void log(std::string_view line) const;
};

} // namespace codeq
