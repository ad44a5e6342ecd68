// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "worker/claim_loop.hpp"
#include "worker/dispatcher.hpp"
#include "worker/lease_book.hpp"
#include "worker/outbox.hpp"
#include "worker/queue_quota.hpp"
#include "worker/slot_pool.hpp"
#include "worker/waiting_tasks.hpp"
#include "worker/wire.hpp"

#include <caf/stateful_actor.hpp>

#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>

namespace codeq::worker {

using dispatcher_self = actors::dispatcher_actor::stateful_pointer<dispatcher_state>;

/// What the dispatcher knows and does. One object per worker node, on the thread of the sockets.
/// A task is in exactly one place: waiting (in the book as queued), running (in the book as running
/// and in a slot), or ended (in the outbox until answered). A running task whose lease is lost
/// leaves the book at once and its slot when its handler answers.
class dispatcher_state {
public:
  static constexpr const char* name = "dispatcher";

  void start(dispatcher_self self, dispatcher_options options);

  // Frames of the coordinators.
  void take_tasks(std::size_t link, const protocol::task_batch& batch);
  void take_answers(std::size_t link, const protocol::result_reply& reply);
  void take_losses(std::size_t link, const protocol::leases_lost& lost);
  void take_cancel(std::size_t link, const protocol::cancel_notice& notice);
  void take_resumed(std::size_t link, const protocol::resume_reply& reply);
  void take_saved(std::size_t link, const protocol::checkpoints_saved& saved);

  // Handlers.
  void take_outcomes(std::span<outcome> answers);
  void take_handler_end(caf::actor_id handler, const caf::error& reason);

  // Links.
  void take_link_up(const actors::link_up& up);
  void take_link_down(const actors::link_down& down);
  void take_links(std::vector<actors::link_actor> links);
  void take_link_end(const caf::actor_addr& link);

  // Own ticks.
  void flush();
  void look_at_leases(std::uint64_t number);
  void take_news(const actors::attempt_news& news);
  void end_idle();

  /// Other queues and slots, from outside.
  void reconfigure(actors::reconfigure_worker& wish);

  /// A factory of handlers, or memory, failed: the node cannot go on.
  void take_exception(const std::exception_ptr& thrown);

  // The drain.
  void drain(duration limit);
  void drain_step_over(int step);

private:
  /// The steps of an orderly end, in order.
  enum class step { running, draining, cancelling, reporting, closing, ended };

  struct link_state {
    actors::link_actor link;
    actors::connection_actor connection;
    /// Connected; frames may be sent.
    bool open = false;
    /// The coordinator refused this node for good.
    bool refused = false;
    /// Shards that have not answered the resume.
    std::set<shard_id> resuming;
    /// Which queues the coordinator knows to be open; 0 are those of the hello.
    std::uint64_t queues_version = 0;
  };

  // dispatcher_tasks.cpp
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
  void stop_handler(held_lease& lease, stop_cause cause);
  void lose(const lease_ref& gone);
  void take_answer(const report_answer& answer);
  void report_later(report made);

  // dispatcher_links.cpp
  void send_to(std::size_t link, const protocol::wire_frame& message);
  void break_link(std::size_t link, const error& reason);
  void resume(std::size_t link, std::size_t shards);
  void forget_link(std::size_t link);
  void send_beats(std::vector<beat> beats);
  void arm_look();
  void schedule_flush();
  [[nodiscard]] monotonic_time now() const;

  // dispatcher_queues.cpp
  [[nodiscard]] std::size_t held_of(const std::string& queue) const;
  void set_quotas();
  void look_at_quotas();
  void send_queues(std::size_t link);
  void give_back_unhandled();
  void give_back(const waiting_task& waiting);
  [[nodiscard]] std::shared_ptr<news_bell> make_bell();
  void arm_idle_look(monotonic_time due);

  // dispatcher_drain.cpp
  void enter(step next, duration at_most);
  void abandon_waiting();
  /// Tells every coordinator that this node takes no more.
  void void_credits();
  void stop_all_handlers();
  void abandon_running();
  void advance_drain();
  void close_links();
  void end(result<void> how);

  dispatcher_self self_ = nullptr;
  std::string tenant_;
  std::optional<slot_pool> pool_;
  std::optional<claim_loop> claims_;
  std::optional<outbox> outbox_;
  lease_book book_;
  std::shared_ptr<news_bell> bell_;
  /// What waits for a slot; tasks that lost their lease meanwhile are skipped.
  std::optional<waiting_tasks> waiting_;
  std::size_t prefetch_ = 0;
  /// Tasks of one message at most.
  std::size_t batch_ = 1;
  /// Of queues that may not use all slots.
  std::map<std::string, queue_quota> quotas_;
  /// Queues of which no more is wanted for now.
  std::set<std::string> closed_;
  /// Changes with what is wanted.
  std::uint64_t queues_version_ = 0;
  std::vector<link_state> links_;
  std::function<void(result<void>)> on_end_;

  step step_ = step::running;
  bool flush_scheduled_ = false;
  std::uint64_t look_number_ = 0;
  std::optional<monotonic_time> look_armed_;
  std::optional<monotonic_time> idle_armed_;
};

} // namespace codeq::worker
