// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/attempt.hpp"
#include "codeq/limits.hpp"
#include "codeq/result.hpp"

#include "cluster/shard_routes.hpp"
#include "worker/handlers/attempt_line.hpp"
#include "worker/node/attempt_meter.hpp"
#include "worker/node/claim_loop.hpp"
#include "worker/node/dispatcher_notes.hpp"
#include "worker/node/lease_book.hpp"
#include "worker/node/outbox.hpp"
#include "worker/node/queue_quota.hpp"
#include "worker/node/repeated_leases.hpp"
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
  /// Each queue at most once.
  std::vector<served_queue> queues;
  std::string tenant = "default";
  /// Maximum number of running tasks; at least 1.
  std::size_t slots = limits::slots_default;
  /// Number of tasks claimed in addition to the slots.
  std::size_t prefetch = limits::slots_default;
  /// Maximum number of tasks in one message, for claims and for reports; at least 1.
  std::size_t batch = limits::reports_per_request_max;
  /// Addresses of the coordinators that the user named; links are numbered from 0 in their order.
  std::vector<std::string> coordinators{""};
  /// Raised when a running handler has news; the driver then calls `take_news`. Never null.
  std::shared_ptr<wake_signal> wake;
};

/// The dispatcher's interface to its driver. Calls return before they call the dispatcher back.
class dispatcher_port : public dispatcher_notes {
public:
  // Links to coordinators.

  /// Sends a frame over a connected link.
  virtual void to_link(std::size_t link, const protocol::wire_frame& frame) = 0;

  /// Ends the connection of a link, if any, because its coordinator violated the protocol; the link
  /// dials again.
  virtual void break_link(std::size_t link, const error& reason) = 0;

  /// Adds the link with that number, to another coordinator of the cluster.
  virtual void open_link(std::size_t link, const std::string& coordinator) = 0;

  /// Ends a link in order; answered by `take_link_end`.
  virtual void close_link(std::size_t link, const error& reason) = 0;

  // Handlers.

  /// Starts a handler of that name or pattern; `group` is set for a keyed queue, otherwise empty.
  virtual handler_number start_handler(const std::string& handler, const std::string& group) = 0;

  /// Answered by `take_outcomes` or `take_handler_end`.
  virtual void run(handler_number handler, task&& attempt) = 0;
  virtual void run_batch(handler_number handler, std::vector<task> attempts) = 0;

  /// Ends a handler after its current attempt.
  virtual void stop_handler(handler_number handler) = 0;

  /// Requests a call of `flush` after the messages that the dispatcher has already been sent.
  virtual void flush_soon() = 0;

  /// Requests a call of `wake(number)` after `wait`.
  virtual void wake_after(duration wait, std::uint64_t number) = 0;

  /// The last call: success after a drain, otherwise the reason why the node cannot go on.
  virtual void ended(result<void> how) = 0;
};

/// State and decisions of a worker node: takes tasks from its links, has handlers run them, keeps
/// their leases alive and reports their outcomes. A task is in exactly one place: waiting (queued
/// in the book), running (in the book and in a slot), or ended (in the outbox until answered). A
/// running task whose lease is lost leaves the book at once, and its slot when its handler answers.
/// Uses no actor, clock, socket or thread: its driver calls it from one thread and passes the time
/// where it is needed.
class dispatcher {
public:
  /// @pre `port` outlives the dispatcher
  dispatcher(const dispatcher_options& options, dispatcher_port& port);

  dispatcher(const dispatcher&) = delete;
  dispatcher& operator=(const dispatcher&) = delete;

  // Frames from coordinators.

  void take(std::size_t link, const protocol::task_batch& batch, monotonic_time now);
  void take(std::size_t link, const protocol::result_reply& reply);
  void take(std::size_t link, const protocol::leases_lost& lost);
  void take(std::size_t link, const protocol::cancel_notice& notice);
  void take(std::size_t link, const protocol::resume_reply& reply);
  void take(std::size_t link, const protocol::checkpoints_saved& saved);
  void take(std::size_t link, const protocol::cluster_map_news& told, monotonic_time now);
  void take(std::size_t link, const protocol::credit_news& news);
  void take(std::size_t link, const protocol::heartbeat_reply& reply, monotonic_time now);

  // Handlers.

  /// Outcomes of a handler's attempts, in order.
  void take_outcomes(handler_number handler, std::span<outcome> answers, monotonic_time now);

  /// A handler has ended; `answer` is the outcome of each of its attempts.
  void take_handler_end(handler_number handler, const outcome& answer, monotonic_time now);

  /// The wake signal was raised.
  void take_news();

  // Links.

  /// `close_link` can reach links 0 .. count - 1.
  void take_links(std::size_t count);

  void take_link_up(std::size_t link, const protocol::hello_ack& ack, monotonic_time now);

  /// `is_refused`: see `actors::link_down`. The node ends when all coordinators refuse it, and when
  /// a newer process has its name in the cluster.
  void take_link_down(std::size_t link, const error& reason, bool is_refused);

  /// The link has ended for good.
  void take_link_end(std::size_t link);

  /// Sends reports and credits.
  void flush();

  void wake(std::uint64_t number, monotonic_time now);

  /// Changes queues and slots; ignored during a drain.
  void reconfigure(
    const std::vector<served_queue>& queues,
    std::size_t slots,
    std::size_t prefetch,
    monotonic_time now);

  /// Claims nothing more and ends in order. Handlers may run for at most `limit`. Reports wait for
  /// their answers until then, and for at least `tuning::shutdown_max` after the last attempt; a
  /// wait that is longer is noted once. A second call ends the wait.
  void drain(duration limit, monotonic_time now);

  /// Number of known queues that patterns match.
  [[nodiscard]] std::size_t adopted_queues() const noexcept { return pool_.adopted(); }

  /// The node's state and the counts of its attempts.
  [[nodiscard]] base::worker_node_counts counts() const;

  /// Ends at once, because the node cannot go on.
  void fail(const error& reason) { end(reason); }

private:
  /// The steps of a drain, in order.
  enum class step { running, draining, cancelling, reporting, closing, ended };

  struct link_state {
    /// True when `close_link` can reach it.
    bool is_there = false;
    /// Connected; frames may be sent.
    bool open = false;
    /// The coordinator refuses this node for a lasting reason, or another link leads to it.
    bool refused = false;
    /// Its coordinator is one of a cluster.
    bool is_of_cluster = false;
    /// It understands `reach` of claims: whether this node reaches all coordinators.
    bool takes_reach = false;
    /// The value of it that was sent last on this connection.
    bool knows_reach = false;
    bool answers_heartbeats = false;
    /// Shards that have not answered the resume.
    std::set<shard_id> resuming;
    /// Version of the open queues that the coordinator knows; 0: those of the hello.
    std::uint64_t queues_version = 0;
  };

  // dispatcher_tasks.cpp: tasks, handlers and reports.

  void accept_task(
    std::size_t link, task&& attempt, bool redelivered, monotonic_time received_at);
  void refuse_task(const lease_key& key, const task& attempt);
  void return_task(const lease_key& key, const task& attempt);
  void start_waiting();
  void run(waiting_list together);
  void begin(waiting_task& waiting);
  void end_attempt(const lease_key& key, outcome answer);
  /// Counts the end of an attempt, and notes it if it failed.
  void note_end(const held_lease& lease, report& made);
  void note_failure(const report& made);
  /// Drops a lease of a running task; its checkpoints wait for no answer any more.
  void drop_lease(const lease_key& key);
  /// Slots are free again.
  void go_on();
  static void stop_attempt(held_lease& lease, stop_cause cause);
  /// A delivery that comes late: the shard is served elsewhere, or in a later epoch, and this node
  /// has resumed there, so that it got the lease again or does so now.
  [[nodiscard]] bool
  is_stale(std::size_t link, const lease_key& key, bool redelivered) const;
  /// A further copy of a lease that was delivered again, of a cluster. Notes a first one.
  [[nodiscard]] bool is_repeated(const lease_key& key, bool redelivered);
  void lose(const lease_ref& gone);
  void take_answer(const report_answer& answer);
  void report_later(report made);
  /// Sends the reports and checkpoints that coordinators had no room for, after a pause.
  void retry_later();
  void send_postponed();
  void pass_news_on(monotonic_time now);
  void end_idle(monotonic_time now);
  void arm_idle_look(monotonic_time due, monotonic_time now);

  // dispatcher.cpp and dispatcher_links.cpp: links, leases and sending.

  void send_to(std::size_t link, const protocol::wire_frame& message);
  void resume(std::size_t link, std::size_t shards, monotonic_time now);
  /// Goes on in a cluster, after a connection or places of shards.
  void follow(const cluster::shard_routes::changes& changes, monotonic_time now);
  /// The same as `resume`, for shards that are reached on a new way.
  void resume_shards(std::span<const shard_id> shards, monotonic_time now);
  /// The store that the coordinator of a link serves.
  [[nodiscard]] std::size_t store_of(std::size_t link) const;
  /// The link to the coordinator of a store's shard; none when it is not connected.
  [[nodiscard]] std::optional<std::size_t> link_of(std::size_t store, shard_id shard) const;

  [[nodiscard]] std::optional<std::size_t> link_of(const lease_key& key) const {
    return link_of(key.store, key.shard);
  }

  void send_reports();
  void retry_places(monotonic_time now);
  /// Asks coordinators again that returned none of their credits.
  void ask_for_credits_again();
  /// Finds out whether there is a link to the coordinator of every shard.
  void find_reach();
  void tell_reach(std::size_t link);
  /// Finds out which links lead to coordinators that lead shards.
  void find_leading();
  /// Sends the news of these leases' handlers again.
  void resend_news(const lease_book::lease_test& is_meant);
  void forget_link(std::size_t link);
  void look_at_leases(monotonic_time now);
  void send_beats(std::vector<beat> beats, monotonic_time now);
  /// The number of a heartbeat that is sent now: the time, so that the answer tells from when the
  /// leases count. 0 when the coordinator answers none.
  [[nodiscard]] std::uint64_t heartbeat_number(std::size_t link, monotonic_time now) const;
  void arm_look(monotonic_time now);
  void schedule_flush();
  [[nodiscard]] std::uint64_t wake_at(monotonic_time due, monotonic_time now);
  [[nodiscard]] std::uint64_t wake_after(duration wait);

  // dispatcher_queues.cpp: how many tasks of each queue to take.

  /// True when the queue is handled, if need be because of a pattern.
  [[nodiscard]] bool serves(const std::string& queue);
  /// Forgets queues of patterns of which the node holds no task.
  void forget_idle_queues();
  void set_weights();
  void set_quota(const std::string& queue);
  [[nodiscard]] std::size_t held_of(const std::string& queue) const;
  void set_quotas();
  void look_at_quotas();
  void send_queues(std::size_t link);
  /// Ends an idle handler whose queue has another isolation since new settings.
  void retire(handler_number handler);
  void give_back_unhandled();
  void give_back(const waiting_task& waiting);

  // dispatcher_drain.cpp: the drain.

  void enter(step next, duration at_most);
  void abandon_waiting();
  /// Notifies every coordinator that this node takes no more tasks.
  void void_credits();
  void stop_all_attempts();
  void abandon_running();
  void end_step(monotonic_time now);
  void advance_drain();
  void close_links();
  void end(result<void> how);

  dispatcher_port& port_;
  const std::string tenant_;
  const std::shared_ptr<wake_signal> wake_;
  slot_pool pool_;
  lease_book book_;
  /// Tasks that wait for a slot; tasks whose lease was lost are skipped.
  waiting_tasks waiting_;
  claim_loop claims_;
  outbox outbox_;
  repeated_leases repeated_;
  attempt_meter meter_;
  std::size_t prefetch_;
  /// Maximum number of tasks in one message.
  const std::size_t batch_;
  /// Quotas of queues that may not use all slots.
  std::map<std::string, queue_quota> quotas_;
  /// Queues of which no more tasks are wanted at present.
  std::set<std::string> closed_;
  /// Incremented when the set of wanted queues changes.
  std::uint64_t queues_version_ = 0;
  std::vector<link_state> links_;
  cluster::shard_routes routes_;
  bool reaches_all_ = false;
  /// The store of the cluster's shards, once one of its coordinators was connected.
  std::optional<std::size_t> cluster_store_;

  /// The time of the current call, at which attempts begin and end.
  monotonic_time now_{};
  step step_ = step::running;
  bool flush_scheduled_ = false;
  std::optional<monotonic_time> look_armed_;
  std::optional<monotonic_time> idle_armed_;
  // Number of the current wake-up for each purpose; earlier ones are stale.
  std::uint64_t last_wake_ = 0;
  std::uint64_t look_wake_ = 0;
  std::uint64_t idle_wake_ = 0;
  std::uint64_t news_wake_ = 0;
  std::uint64_t step_wake_ = 0;
  /// The end of the drain's limit. 0: it has passed, or a second call has ended the wait.
  std::uint64_t limit_wake_ = 0;
  monotonic_time limit_ends_{};
  std::uint64_t retry_wake_ = 0;
  std::uint64_t places_wake_ = 0;
  /// 0: it is not due.
  std::uint64_t ask_wake_ = 0;
  bool retries_places_ = false;
  bool has_postponed_ = false;
};

} // namespace codeq::worker
