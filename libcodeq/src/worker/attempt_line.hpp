// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/attempt.hpp"

#include "worker/checkpoint_line.hpp"

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace codeq::worker {

/// Wakes the dispatcher when some attempt has news; rings once until it is answered.
class news_bell {
public:
  /// `ring` is called from handlers' threads.
  explicit news_bell(std::function<void()> ring) : ring_(std::move(ring)) {}

  void ring() {
    if (!rung_.exchange(true))
      ring_();
  }

  /// The news are about to be looked at; what comes from here on rings again.
  void answer() { rung_.store(false); }

private:
  std::function<void()> ring_;
  std::atomic<bool> rung_{false};
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

  attempt_line(subject about, std::shared_ptr<news_bell> bell);

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
  const std::shared_ptr<news_bell> bell_;
  std::atomic<monotonic_time::rep> valid_until_{0};
  std::mutex mutex_;
  attempt_said said_;
  unsaved_checkpoint unsaved_;
};

/// `text`, or its beginning with a mark, within the limit of notes.
[[nodiscard]] std::string cut_note(std::string text);

} // namespace codeq::worker
