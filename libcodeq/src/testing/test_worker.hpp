// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "coordinator/session/session.hpp"
#include "testing/event_loop.hpp"
#include "testing/test_shard.hpp"
#include "worker/node/dispatcher.hpp"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace codeq::testing {

/// Runs the handlers of a worker. Calls return before they call the worker back.
class handler_host {
public:
  virtual ~handler_host() = default;

  [[nodiscard]] virtual worker::handler_number
  start_handler(const std::string& queue, const std::string& group) = 0;

  /// Answered by `test_worker::take_outcomes` or `test_worker::take_handler_end`.
  virtual void run(worker::handler_number handler, std::vector<task> attempts) = 0;

  virtual void stop_handler(worker::handler_number handler) = 0;

  /// The shard has answered the report of an attempt.
  virtual void report_answered(fencing_token token, errc code) = 0;
};

/// One worker process and its connection: drives a dispatcher and its session with the shard.
/// Actions posted for a process are dropped when the process is destroyed.
class test_worker final : public worker::dispatcher_port,
                          public coordinator::session_port,
                          public std::enable_shared_from_this<test_worker> {
public:
  struct parts {
    event_loop& loop;
    test_shard& shard;
    handler_host& host;
    worker_identity identity;
    std::string tenant;
    std::vector<worker::served_queue> queues;
    std::size_t slots = 1;
  };

  explicit test_worker(const parts& made);

  /// Connects to the shard in place of the previous process. Call once, first.
  void connect();

  /// Ends the session: the leases are given back.
  void leave();

  /// Passes on the outcomes of a handler's attempts.
  void take_outcomes(worker::handler_number handler, std::vector<outcome> answers);

  /// A handler ended; `answer` is the outcome of its attempt.
  void take_handler_end(worker::handler_number handler, const outcome& answer);

  /// Sends progress and checkpoints of running handlers, without waiting for more.
  void take_news();

  // The dispatcher's port.

  void to_link(std::size_t link, const protocol::wire_frame& frame) override;
  [[noreturn]] void break_link(std::size_t link, const error& reason) override;

  /// The test's coordinator is alone.
  void open_link(std::size_t, const std::string&) override {}

  void close_link(std::size_t, const error&) override {}

  worker::handler_number start_handler(const std::string& queue, const std::string& group) override;
  void run(worker::handler_number handler, task&& attempt) override;
  void run_batch(worker::handler_number handler, std::vector<task> attempts) override;
  void stop_handler(worker::handler_number handler) override;
  void flush_soon() override;
  void wake_after(duration wait, std::uint64_t number) override;

  void ended(result<void>) override {}

  void note_connected(std::size_t, std::size_t) override {}

  void note_no_patterns(std::size_t) override {}

  void note_settings(std::size_t, std::size_t, std::size_t) override {}

  void note_unhandled(const task&) override {}

  void note_handler_end(fencing_token, const std::string&) override {}

  void note_failed(const worker::failed_attempt&) override {}

  void note_lost(const task_id&, fencing_token) override {}

  void note_refused(const worker::report_answer&) override {}

  void note_over(const task_id&, fencing_token) override {}

  void note_drain(std::size_t, duration) override {}

  void note_abandoned(const task_id&, fencing_token) override {}

  void note_awaits_answers(std::size_t, duration) override {}

  void note_unanswered(std::size_t) override {}

  // The session's port.

  void ask_shard(shard_id to, coordinator::peer_request request) override;
  void command_shard(shard_id to, core::command command) override;
  void send(const protocol::wire_frame& frame) override;

  void close(const error&) override {}

  void gather_stats(bool) override {}

  void ask_cluster(
    std::uint64_t, const cluster_change&, const core::origin_ptr&) override {}

  void wake_after(duration wait, coordinator::session_wake what) override;

  /// Frames count as written as soon as they are sent.
  [[nodiscard]] coordinator::outgoing_bytes outgoing() const override { return {sent_, sent_}; }

  [[nodiscard]] result<void> keep_unread(std::uint64_t) override { return {}; }

  [[nodiscard]] duration
  take_rate(const security::principal&, security::rate_scope, std::uint64_t) override {
    return duration{0};
  }

  [[nodiscard]] timestamp now() override;

  [[nodiscard]] std::map<std::string, std::int64_t> gauges() const override { return {}; }

  [[nodiscard]] result<backup_status> back_up(const backup_wish& wish) override;
  [[nodiscard]] result<std::string> set_log_level(const std::string& level) override;
  [[nodiscard]] result<coordinator::drain_outcome>
  drain_worker(const std::string&, bool) override {
    return coordinator::drain_outcome::unknown;
  }

  void mark_drained(std::vector<base::worker_counts>&) const override {}

  [[nodiscard]] result<std::vector<backup_info>> list_backups() const override;

  void note_limit(std::string_view, std::uint64_t) override {}

  void note_goodbye() override {}

  [[noreturn]] void note_refused(const error& reason) override;

private:
  [[nodiscard]] worker::dispatcher_options make_options() const;

  /// Posts an action that is dropped when the process is gone.
  void later(event_loop::action what);
  [[nodiscard]] event_loop::action while_alive(event_loop::action what);
  void receive(test_shard::worker_message message);
  void read(const protocol::wire_frame& frame);

  parts parts_;
  coordinator::session_options connection_;
  coordinator::session session_;
  worker::dispatcher dispatcher_;
  /// Number of the latest wake-up that the dispatcher requested.
  std::uint64_t last_wake_ = 0;
  /// Bytes of frames sent to the dispatcher.
  std::uint64_t sent_ = 0;
};

} // namespace codeq::testing
