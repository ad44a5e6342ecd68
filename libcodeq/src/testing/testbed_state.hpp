// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/testing.hpp"

#include "testing/event_loop.hpp"
#include "testing/said_runtime.hpp"
#include "testing/test_shard.hpp"
#include "testing/test_worker.hpp"
#include "testing/virtual_actors.hpp"

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace codeq::testing {

/// A shard, a worker and its handlers, and the injected mishaps.
struct testbed::impl final : handler_host {
  impl(const handler_registry& registry, const testbed_options& given);

  /// Processes everything that is due without advancing time.
  void settle();
  void advance(duration by);
  /// Writes a line to stderr if the worker does not run the tasks of the queue, once for each
  /// queue. A test of a producer, which has no handlers at all, gets none.
  void warn_of_missing_handler(const queue_address& queue);
  [[nodiscard]] bool has_handler(const std::string& queue) const;
  /// The task with the worker's tenant if it has none.
  [[nodiscard]] task_spec with_tenant(task_spec spec) const;
  /// Starts a worker process in place of the previous one.
  void connect();

  /// An attempt whose handler has not answered.
  struct running {
    sequence seq = 0;
    std::size_t place = 0;
    std::shared_ptr<cancellation> cancel;
    std::shared_ptr<said_runtime> runtime;
    std::optional<mishap> coming;
  };

  /// A handler of the current process.
  struct started {
    const handler_registry::entry* entry = nullptr;
    std::string group;
    /// Leases of the attempts that it runs.
    std::vector<fencing_token> tokens;
  };

  worker::handler_number start_handler(const std::string& queue, const std::string& group) override;
  void run(worker::handler_number handler, std::vector<task> attempts) override;
  void stop_handler(worker::handler_number handler) override;
  void report_answered(fencing_token token, errc code) override;

  bool call_next();
  void start(worker::handler_number handler, std::vector<task> attempts);
  void prepare(task& attempt);
  /// The handler has answered its attempts, in order.
  void finish(worker::handler_number handler, std::vector<outcome> answers);
  /// The handler actor has ended.
  void end(worker::handler_number handler, const outcome& answer);
  /// Records the answers, then applies the injected mishaps. False when the answers must not be
  /// reported, since the handler's process is gone.
  bool take_answers(worker::handler_number handler, const std::vector<outcome>& answers);
  void expire(fencing_token token);
  /// Copies what the handlers of running attempts said so far to `attempts`.
  void update_said();
  void crash();
  void step(duration by);
  [[nodiscard]] std::optional<duration> next_event() const;
  /// The lease of a running attempt at the task; empty when there is none.
  [[nodiscard]] std::optional<fencing_token> find(task_id task) const;

  const testbed_options options;
  std::map<std::string, handler_registry::entry> handlers;
  /// Queues without a handler for which a line was written.
  std::set<queue_address> missing_handlers;
  event_loop loop;
  test_shard shard;
  virtual_actors actors;
  std::shared_ptr<test_worker> worker;
  std::uint64_t incarnation = 0;
  worker::handler_number last_handler = 0;
  std::map<worker::handler_number, started> started_handlers;
  std::map<fencing_token, running> running_attempts;
  /// Pending calls of handlers and answers of handlers, in order. Handlers may call the testbed, so
  /// they are not called from the loop.
  std::deque<std::function<void()>> calls;
  std::map<std::string, std::deque<mishap>> mishaps;
  std::vector<attempt_seen> attempts;
  /// The index of each attempt in `attempts`.
  std::map<fencing_token, std::size_t> places;
};

} // namespace codeq::testing
