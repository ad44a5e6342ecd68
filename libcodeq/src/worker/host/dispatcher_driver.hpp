// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/actor_handler.hpp"
#include "codeq/result.hpp"

#include "actors/actors.hpp"
#include "observe/line_pace.hpp"
#include "worker/host/handler_actors.hpp"
#include "worker/node/dispatcher.hpp"

#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace codeq::worker {

/// Maximum number of log lines about failed attempts of a queue; attempts that were a task's last
/// have as many of their own.
inline constexpr std::uint32_t failure_lines_per_second = 5;

struct dispatcher_driver_options {
  /// One per queue.
  std::vector<handler_registry::entry> handlers;
  /// The driver fills in `queues` and `wake`.
  dispatcher_options dispatcher{};
  /// Starts the link with that number to a coordinator.
  std::function<actors::link_actor(
    const actors::dispatcher_actor& owner, std::size_t link, const std::string& coordinator)>
    start_link;
  /// Called once at the end, on the thread of the sockets: with success after a drain, otherwise
  /// with the reason why no coordinator accepts this node.
  std::function<void(result<void>)> on_end;
};

/// The actor of a dispatcher: passes it the time, and its messages to links and handlers. A
/// handler's number is the id of its actor.
class dispatcher_driver : public dispatcher_port {
public:
  static constexpr const char* name = "dispatcher";

  void start(actors::dispatcher_actor::pointer self, dispatcher_driver_options options);

  [[nodiscard]] dispatcher& hosted() { return *dispatcher_; }

  [[nodiscard]] monotonic_time now() const;

  void take_link_up(const actors::link_up& up);
  void take_link_down(const actors::link_down& down);
  void take_links(std::vector<actors::link_actor> links);
  void take_outcomes(std::span<outcome> answers);
  void take_down(const caf::down_msg& down);
  void take_exception(const std::exception_ptr& thrown);
  void reconfigure(actors::reconfigure_worker& wish);
  void tell_health(const actors::ask_health& question) const;

  void to_link(std::size_t link, const protocol::wire_frame& frame) override;
  void break_link(std::size_t link, const error& reason) override;
  void open_link(std::size_t link, const std::string& coordinator) override;
  void close_link(std::size_t link, const error& reason) override;
  handler_number start_handler(const std::string& queue, const std::string& group) override;
  void run(handler_number handler, task&& attempt) override;
  void run_batch(handler_number handler, std::vector<task> attempts) override;
  void stop_handler(handler_number handler) override;
  void flush_soon() override;
  void wake_after(duration wait, std::uint64_t number) override;
  void ended(result<void> how) override;

  // Defined in dispatcher_log.cpp.

  void note_connected(std::size_t link, std::size_t shards) override;
  void note_no_patterns(std::size_t link) override;
  void note_settings(std::size_t queues, std::size_t slots, std::size_t prefetch) override;
  void note_unhandled(const task& given_back) override;
  void note_handler_end(fencing_token token, const std::string& reason) override;
  void note_failed(const failed_attempt& failed) override;
  void note_lost(const task_id& task, fencing_token token) override;
  void note_refused(const report_answer& answer) override;
  void note_over(const task_id& task, fencing_token token) override;
  void note_drain(std::size_t running, duration limit) override;
  void note_abandoned(const task_id& task, fencing_token token) override;
  void note_awaits_answers(std::size_t reports, duration longest) override;
  void note_unanswered(std::size_t reports) override;

private:
  struct link_handles {
    actors::link_actor link;
    /// Null without a connection.
    actors::connection_actor connection;
    /// Where it leads to, for the log.
    std::string address;
  };

  [[nodiscard]] std::shared_ptr<wake_signal> make_wake_signal();

  actors::dispatcher_actor::pointer self_ = nullptr;
  std::function<void(result<void>)> on_end_;
  decltype(dispatcher_driver_options::start_link) start_link_;
  std::optional<dispatcher> dispatcher_;
  std::vector<link_handles> links_;
  handler_actors handlers_;
  /// Bounds the lines about failed attempts of each queue.
  observe::line_pace failure_lines_{failure_lines_per_second};
};

/// The behavior of the dispatcher's actor. Spawn it beside the sockets, where no handler can delay
/// it; a test with its own scheduler may spawn it there.
[[nodiscard]] actors::dispatcher_actor::behavior_type drive_dispatcher(
  actors::dispatcher_actor::stateful_pointer<dispatcher_driver> self,
  dispatcher_driver_options options);

/// Spawns the actor beside the sockets.
[[nodiscard]] actors::dispatcher_actor
spawn_dispatcher(caf::actor_system& system, dispatcher_driver_options options);

} // namespace codeq::worker
