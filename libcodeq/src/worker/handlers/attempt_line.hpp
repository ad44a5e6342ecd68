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

/// Wakes the dispatcher when some attempt has something to tell. Raised many times, it wakes once,
/// until it is cleared. Any thread may raise it.
class wake_signal {
public:
  /// `wake` is called on the thread that raises the signal.
  explicit wake_signal(std::function<void()> wake) : wake_(std::move(wake)) {}

  void raise() {
    if (!raised_.exchange(true))
      wake_();
  }

  /// Call it before looking at the attempts, so that what they tell meanwhile wakes again.
  void clear() { raised_.store(false); }

private:
  std::function<void()> wake_;
  std::atomic<bool> raised_{false};
};

/// How far a handler says that it is.
struct progress_line {
  int percent = 0;
  std::string note;
};

/// What a handler said since the last look.
struct attempt_said {
  bool progressed = false;
  /// Zero is no wish.
  duration extend{0};
  /// The latest.
  std::optional<progress_line> line;
  std::optional<checkpoint_line> checkpoint;
};

/// The line between a running handler, on any thread, and the dispatcher.
class attempt_line final : public attempt_runtime {
public:
  /// What log lines name.
  struct subject {
    task_id id;
    std::string queue;
    std::uint32_t attempt = 0;
    fencing_token token{};
  };

  attempt_line(subject about, std::shared_ptr<wake_signal> wake);

  // The handler's side.
  [[nodiscard]] duration lease_remaining() const override;
  void progress(int percent, std::string note) override;
  void extend(duration by) override;
  void log(std::string_view line) override;
  void save_checkpoint(std::string state, checkpoint_saved then) override;

  // The dispatcher's side.

  /// Until when the lease is valid as far as this node knows.
  void set_valid_until(monotonic_time until);

  [[nodiscard]] attempt_said take();

  [[nodiscard]] unsaved_checkpoint& unsaved() { return unsaved_; }

private:
  const subject about_;
  const std::shared_ptr<wake_signal> wake_;
  std::atomic<monotonic_time::rep> valid_until_{0};
  std::mutex mutex_;
  attempt_said said_;
  unsaved_checkpoint unsaved_;
};

/// `text`, or its beginning with a mark, within the limit of notes.
[[nodiscard]] std::string cut_note(std::string text);

} // namespace codeq::worker
