// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/handler.hpp"

#include "worker/process/child_messages.hpp"
#include "worker/process/exec_spawn.hpp"
#include "worker/process/process_text.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace codeq::worker {

/// Messages from other threads to the thread that waits for a child process. Outlives the run.
class child_inbox {
public:
  struct news {
    bool cancelled = false;
    /// Numbers of saved checkpoints, and whether each is durable.
    std::vector<std::pair<std::uint64_t, bool>> saved;
  };

  child_inbox();

  [[nodiscard]] int number() const { return wake_.number(); }

  void cancel();
  void saved(std::uint64_t checkpoint, bool is_durable);
  [[nodiscard]] news take();

private:
  void ring();

  unique_fd wake_;
  std::mutex mutex_;
  news news_;
};

/// A child process that runs the handler of one queue. Used by one slot's thread at a time; SIGPIPE
/// must be blocked in that thread.
class child {
public:
  explicit child(child_process started);
  ~child();
  child(const child&) = delete;
  child& operator=(const child&) = delete;

  /// False once the process has ended.
  [[nodiscard]] bool is_alive() const { return !has_ended(process_.pid); }

  /// Runs one attempt; after a cancellation the child has `kill_grace` to answer. Blocks without
  /// polling. Empty when the child cannot be used any more: see `how_it_ended`.
  [[nodiscard]] std::optional<outcome> run(const task& attempt, duration kill_grace);

  /// Kills the child if it still runs and describes how it ended, with the end of its output during
  /// the latest attempt.
  [[nodiscard]] std::string how_it_ended();

private:
  using clock = std::chrono::steady_clock;

  enum place { input, output, errors, wake, ended, places };

  void wait();
  [[nodiscard]] int timeout_ms() const;
  void send(const to_child& message);
  void write_some();
  /// False when there was nothing to read.
  bool read_output();
  bool read_errors();
  void take_news();
  void tell_lease();
  void look_at_end();
  void take(const bytes& body);
  [[nodiscard]] result<void> take(schema::FromChild::Reader message);
  [[nodiscard]] result<void> take_checkpoint(schema::FromChild::Checkpoint::Reader saved);
  void give_up(std::string fault);
  int end();

  child_process process_;
  message_buffer incoming_;
  std::string outgoing_;
  tail printed_;
  std::shared_ptr<child_inbox> inbox_;
  /// Number of attempts that this child was given; both sides name it in all messages.
  std::uint64_t number_ = 0;
  const task* attempt_ = nullptr;
  duration kill_grace_{0};
  /// When the child is next told the remaining time of its lease.
  clock::time_point next_tell_;
  std::optional<clock::time_point> kill_at_;
  std::optional<outcome> answer_;
  bool usable_ = true;
  std::string fault_;
};

} // namespace codeq::worker
