// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/attempt.hpp"

#include "worker/handlers/checkpoint_line.hpp"

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace codeq::worker {

/// Wakes the dispatcher when an attempt has news. Raising it repeatedly wakes the dispatcher only
/// once until the signal is cleared. Thread-safe.
class wake_signal {
public:
  /// `wake` is called on the thread that raises the signal.
  explicit wake_signal(std::function<void()> wake) : wake_(std::move(wake)) {}

  void raise() {
    if (!raised_.exchange(true))
      wake_();
  }

  /// Call before reading the attempts' news, so that later news wakes the dispatcher again.
  void clear() { raised_.store(false); }

private:
  std::function<void()> wake_;
  std::atomic<bool> raised_{false};
};

/// A progress report of a handler.
struct progress_line {
  int percent = 0;
  std::string note;
};

/// News of an attempt since it was last read.
struct attempt_said {
  /// True also for a checkpoint, unless it repeats a postponed one.
  bool progressed = false;
  /// Requested lease time; zero: none.
  duration extend{0};
  /// The latest report.
  std::optional<progress_line> line;
  std::optional<checkpoint_line> checkpoint;
};

/// Connects a running handler, on any thread, with the dispatcher.
class attempt_line final : public attempt_runtime {
public:
  /// The attempt that log lines name.
  struct subject {
    task_id id;
    std::string queue;
    std::uint32_t attempt = 0;
    fencing_token token{};
    std::uint32_t max_attempts = 0;
  };

  attempt_line(subject about, std::shared_ptr<wake_signal> wake);

  // Called by the handler.
  [[nodiscard]] duration lease_remaining() const override;
  void progress(int percent, std::string note) override;
  void extend(duration by) override;
  void log(std::string_view line) override;
  void save_checkpoint(std::string state, checkpoint_saved then) override;

  // Called by the dispatcher.

  /// Sets the end of the lease as far as this node knows it.
  void set_valid_until(monotonic_time until);

  [[nodiscard]] attempt_said take();

  [[nodiscard]] const subject& about() const noexcept { return about_; }

  [[nodiscard]] unsaved_checkpoint& unsaved() { return unsaved_; }

private:
  const subject about_;
  const std::shared_ptr<wake_signal> wake_;
  std::atomic<monotonic_time::rep> valid_until_{0};
  std::mutex mutex_;
  attempt_said said_;
  unsaved_checkpoint unsaved_;
};

/// `text`, cut with a mark if it exceeds the limit of notes.
[[nodiscard]] std::string cut_note(std::string text);

} // namespace codeq::worker
