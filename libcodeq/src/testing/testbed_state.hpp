// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/testing.hpp"

#include "testing/said_runtime.hpp"
#include "testing/test_shard.hpp"
#include "testing/virtual_actors.hpp"

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace codeq::testing {

/// A shard, a worker and its handlers, and what goes wrong between them.
struct testbed::impl {
  impl(const handler_registry& handlers, std::size_t slots);

  /// Lets everything happen that happens without time passing.
  void settle();
  void advance(duration by);
  void connect();

  /// An attempt whose handler has not answered.
  struct running {
    sequence seq = 0;
    std::string queue;
    std::size_t place = 0;
    duration lease{0};
    std::shared_ptr<cancellation> cancel;
    std::shared_ptr<said_runtime> runtime;
    std::optional<mishap> coming;
    /// How many it saved.
    std::uint32_t checkpoints = 0;
    bool cancelled = false;
    /// No heartbeat gets through any more.
    bool is_silent = false;
  };

  void hear();
  /// False when no such task waits.
  bool forget_waiting(fencing_token token);
  void stop(const core::task_lease& lease);
  void lose(fencing_token token);
  void hear_answers(const std::vector<core::report_answer>& answers);
  bool start_next();
  void start(task attempt);
  void start_batch(const handler_registry::entry& handler, task first);
  task prepare(task attempt);
  void hear_progress(fencing_token token, duration extend);
  bool save(fencing_token token, const std::string& state);
  [[nodiscard]] duration remaining(fencing_token token);
  void finish(fencing_token token, outcome answer);
  void send_report(fencing_token token, const running& ended, outcome answer);
  void expire(running& gone, fencing_token token);
  void crash();
  void step(duration by);
  void beat_all();
  [[nodiscard]] std::optional<duration> next_event();
  [[nodiscard]] running* find(task_id task, fencing_token* token = nullptr);

  std::map<std::string, handler_registry::entry> handlers;
  std::size_t slots;
  test_shard shard;
  virtual_actors actors;
  std::deque<task> waiting;
  std::map<fencing_token, running> running_attempts;
  std::map<std::string, std::deque<mishap>> mishaps;
  std::vector<attempt_seen> attempts;
  std::map<fencing_token, std::size_t> places;
};

} // namespace codeq::testing
