// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/limits.hpp"
#include "codeq/outcome.hpp"
#include "codeq/result.hpp"

#include "worker/handlers/attempt_line.hpp"
#include "worker/node/claim_loop.hpp"
#include "worker/node/dispatcher_notes.hpp"
#include "worker/node/lease_book.hpp"
#include "worker/node/outbox.hpp"
#include "worker/node/queue_quota.hpp"
#include "worker/node/slot_pool.hpp"
#include "worker/node/waiting_tasks.hpp"
#include "worker/node/wire.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace codeq::worker {

struct dispatcher_options {
  /// No queue twice.
  std::vector<served_queue> queues;
  std::string tenant = "default";
  /// Tasks that run at once; at least 1.
  std::size_t slots = limits::slots_default;
  /// Tasks taken beyond the slots.
  std::size_t prefetch = limits::slots_default;
  /// Tasks of one message at most, both of those claimed and of those reported; at least 1.
  std::size_t batch = limits::reports_per_request_max;
  /// How many coordinators; links are numbered below.
  std::size_t links = 1;
  /// Rung when a running handler has said something; answered by `take_news`. Never null.
  std::shared_ptr<wake_signal> wake;
};

/// The outside of a dispatcher. No call leads back into the dispatcher before it has returned.
class dispatcher_port : public dispatcher_notes {
public:
  // Links to coordinators.

  /// Sends over a link that has a connection.
  virtual void to_link(std::size_t link, const protocol::wire_frame& frame) = 0;

  /// Ends the connection of a link, if any, since its coordinator broke the protocol; the link
  /// dials again.
  virtual void break_link(std::size_t link, const error& reason) = 0;

  /// Ends a link in order; answered by `take_link_end`.
  virtual void close_link(std::size_t link, const error& reason) = 0;

  // Handlers.

  /// Starts a handler of the queue; of a keyed queue for that group, which is empty otherwise.
  virtual handler_number start_handler(const std::string& queue, const std::string& group) = 0;

  /// Answered by `take_outcomes` or `take_handler_end`.
  virtual void run(handler_number handler, task&& attempt) = 0;
  virtual void run_batch(handler_number handler, std::vector<task> attempts) = 0;

  /// Ends a handler once it is done with what it runs.
  virtual void stop_handler(handler_number handler) = 0;

  /// Asks for `flush` behind what the dispatcher was sent before.
  virtual void flush_soon() = 0;

  /// Asks for `wake(number)` after so long.
  virtual void wake_after(duration wait, std::uint64_t number) = 0;

  /// The last call: success after a drain, else why the node cannot go on.
  virtual void ended(result<void> how) = 0;
};

/// What a worker node knows and decides: takes tasks from its links, has handlers run them, keeps
/// their leases alive and reports how they ended. A task is in exactly one place: waiting (in the
/// book as queued), running (in the book as running and in a slot), or ended (in the outbox until
/// answered). A running task whose lease is lost leaves the book at once and its slot when its
/// handler answers. Knows no actor, clock, socket or thread: its driver calls it from one thread,
/// with the time of each call that needs it.
class dispatcher {
public:
  /// @pre `port` outlives the dispatcher
  dispatcher(const dispatcher_options& options, dispatcher_port& port);

  dispatcher(const dispatcher&) = delete;
  dispatcher& operator=(const dispatcher&) = delete;

  // Frames of the coordinators.

  void take(std::size_t link, const protocol::task_batch& batch, monotonic_time now);
  void take(std::size_t link, const protocol::result_reply& reply);
  void take(std::size_t link, const protocol::leases_lost& lost);
  void take(std::size_t link, const protocol::cancel_notice& notice);
  void take(std::size_t link, const protocol::resume_reply& reply);
  void take(std::size_t link, const protocol::checkpoints_saved& saved);

  // Handlers.

  /// How the attempts of a handler ended, in their order.
  void take_outcomes(handler_number handler, std::span<outcome> answers, monotonic_time now);

  /// A handler is gone; `answer` is what that means for each attempt that it ran.
  void take_handler_end(handler_number handler, const outcome& answer);

  /// The wake rang.
  void take_news();

  // Links.

  /// There are so many links that `close_link` reaches.
  void take_links(std::size_t count);

  void take_link_up(std::size_t link, const protocol::hello_ack& ack, monotonic_time now);

  /// `final`: the coordinator refused this node for good, and the link dials no more.
  void take_link_down(std::size_t link, const error& reason, bool final);

  /// The link is gone for good.
  void take_link_end(std::size_t link);

  /// Sends reports and credits.
  void flush();

  void wake(std::uint64_t number, monotonic_time now);

  /// Other queues and slots from here on; ignored once it drains.
  void
  reconfigure(const std::vector<served_queue>& queues, std::size_t slots, std::size_t prefetch);

  /// Takes nothing more and ends in order; handlers may run for at most `limit`. A second call ends
  /// the waiting.
  void drain(duration limit);

  /// Ends at once: the node cannot go on.
  void fail(const error& reason) { end(reason); }

private:
  /// The steps of an orderly end, in order.
  enum class step { running, draining, cancelling, reporting, closing, ended };

  struct link_state {
    /// `close_link` reaches it.
    bool is_there = false;
    /// Connected; frames may be sent.
    bool open = false;
    /// The coordinator refused this node for good.
    bool refused = false;
    /// Shards that have not answered the resume.
    std::set<shard_id> resuming;
    /// Which queues the coordinator knows to be open; 0 are those of the hello.
    std::uint64_t queues_version = 0;
  };

  // dispatcher_tasks.cpp: tasks, handlers and reports.

  void accept_task(std::size_t link, task&& attempt, monotonic_time received_at);
  void refuse_task(const lease_key& key, const task& attempt);
  void return_task(const lease_key& key, const task& attempt);
  void start_waiting();
  void run(waiting_list together);
  void begin(waiting_task& waiting);
  void end_attempt(const lease_key& key, outcome answer);
  /// Forgets a lease of a running task; what it saved waits for no answer any more.
  void drop_lease(const lease_key& key);
  /// Slots are free again.
  void go_on();
  static void stop_attempt(held_lease& lease, stop_cause cause);
  void lose(const lease_ref& gone);
  void take_answer(const report_answer& answer);
  void report_later(report made);
  void send_postponed();
  void pass_news_on(monotonic_time now);
  void end_idle(monotonic_time now);
  void arm_idle_look(monotonic_time due, monotonic_time now);

  // dispatcher.cpp and dispatcher_links.cpp: links, leases and what is sent.

  void send_to(std::size_t link, const protocol::wire_frame& message);
  void resume(std::size_t link, std::size_t shards, monotonic_time now);
  void forget_link(std::size_t link);
  void look_at_leases(monotonic_time now);
  void send_beats(std::vector<beat> beats);
  void arm_look(monotonic_time now);
  void schedule_flush();
  [[nodiscard]] std::uint64_t wake_at(monotonic_time due, monotonic_time now);
  [[nodiscard]] std::uint64_t wake_after(duration wait);

  // dispatcher_queues.cpp: how much of which queue is wanted.

  [[nodiscard]] std::size_t held_of(const std::string& queue) const;
  void set_quotas();
  void look_at_quotas();
  void send_queues(std::size_t link);
  void give_back_unhandled();
  void give_back(const waiting_task& waiting);

  // dispatcher_drain.cpp: the orderly end.

  void enter(step next, duration at_most);
  void abandon_waiting();
  /// Tells every coordinator that this node takes no more.
  void void_credits();
  void stop_all_attempts();
  void abandon_running();
  void end_step();
  void advance_drain();
  void close_links();
  void end(result<void> how);

  dispatcher_port& port_;
  const std::string tenant_;
  const std::shared_ptr<wake_signal> wake_;
  slot_pool pool_;
  lease_book book_;
  /// What waits for a slot; tasks that lost their lease meanwhile are skipped.
  waiting_tasks waiting_;
  claim_loop claims_;
  outbox outbox_;
  std::size_t prefetch_;
  /// Tasks of one message at most.
  const std::size_t batch_;
  /// Of queues that may not use all slots.
  std::map<std::string, queue_quota> quotas_;
  /// Queues of which no more is wanted for now.
  std::set<std::string> closed_;
  /// Changes with what is wanted.
  std::uint64_t queues_version_ = 0;
  std::vector<link_state> links_;

  step step_ = step::running;
  bool flush_scheduled_ = false;
  std::optional<monotonic_time> look_armed_;
  std::optional<monotonic_time> idle_armed_;
  // Which wake-up is for what; an older one is stale.
  std::uint64_t last_wake_ = 0;
  std::uint64_t look_wake_ = 0;
  std::uint64_t idle_wake_ = 0;
  std::uint64_t news_wake_ = 0;
  std::uint64_t step_wake_ = 0;
  std::uint64_t retry_wake_ = 0;
  bool has_postponed_ = false;
};

} // namespace codeq::worker
