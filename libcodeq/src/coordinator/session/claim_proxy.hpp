// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "coordinator/session/claim_wire.hpp"
#include "coordinator/shard/shard_messages.hpp"

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

namespace codeq::coordinator {

/// The proxy's interface to its driver. Calls return before they call the proxy back.
class claim_proxy_port {
public:
  virtual ~claim_proxy_port() = default;

  // To the shard.

  virtual void attach(peer_attached who) = 0;
  virtual void detach() = 0;

  /// Takes the claim out of the shard's queues; answered by `credits_dropped` without waiting for a
  /// commit. Tasks that were granted before still come.
  virtual void drop_credits() = 0;

  virtual void command(core::command command) = 0;
  virtual void ask(protocol::queue_request question) = 0;

  /// To the gateway of the claim.
  virtual void send(const protocol::wire_frame& frame) = 0;

  /// Nothing more will be granted to the claim; the last call.
  virtual void ended() = 0;
};

/// Stands at a shard for a claim that another coordinator's gateway has: a peer of the shard that
/// passes on what the two say. It counts the claim's credits at the shard and notes the tasks that
/// the claim has not confirmed. When the claim detaches, or the connection ends, it drops the
/// credits and gives back, uncharged, those tasks and what was granted before; so no task is
/// granted to a claim that has gone. It ends at once unless granted tasks are still to come. If
/// only the confirmation of a task was lost with the connection, the task runs again, and the
/// report of the first worker is refused. A claim that is refused still confirms the tasks that
/// were sent before, until it detaches. A shard that has left may still deliver tasks, which are
/// leased at its new place: the proxy passes them on until no credit is left or its driver ends the
/// wait. Those that the claim does not receive run out their leases.
/// While it is held, the proxy keeps the claim's credits from the shard and tells the claim that no
/// task is ready there, so that the claim uses them elsewhere if it can. Tasks that were granted
/// before are given back. What the claim asks back it gets at once if no credit is at the shard.
/// Uses no actor, clock or socket.
class claim_proxy {
public:
  /// @pre `port` outlives the proxy
  claim_proxy(const claim_place& place, core::peer_id peer, claim_proxy_port& port);

  /// A step of the claim.
  void take(const claim_step& step);

  // Messages of the shard and the reader.

  void take(const task_delivery& m);
  void take(const credit_news& m);
  void take(const shard_reply& m);

  /// The shard is not here, or it is another instance of it. Steps of the claim have no effect any
  /// more, except for `claim_detached`, which ends the wait for late tasks.
  void shard_left();

  /// Keeps the claim's credits from the shard, or gives them to it again.
  void hold(bool is_held);

  /// The shard has dropped the credits, and this many granted tasks are being committed.
  void credits_dropped(std::uint32_t being_committed);

  /// Tells the claim that it is refused, and ends when it detaches.
  void refuse(const error& reason);

  /// The claim hears nothing more.
  void end();

private:
  enum class phase : std::uint8_t {
    open,
    refused,
    shard_has_left,
    ending,
    /// The same, and `credits_` are the tasks that still come.
    awaiting_tasks,
  };

  /// Whether the step has an effect in this phase.
  [[nodiscard]] bool accepts(const claim_step& step) const;

  void carry_out(const claim_attached& step);
  void carry_out(core::claim step);
  void carry_out(core::revoke_credits step);
  void carry_out(const claim_question& step);
  void carry_out(const claim_received& step);
  void carry_out(const claim_detached& step);

  void tell(const claim_event& what);
  void pass_on(const task_delivery& m);

  /// Gives back tasks that come while the claim is held, and returns their credits to the claim.
  void turn_down(const task_delivery& m, std::uint32_t tasks);

  /// Tells the claim that no task is ready for it, whatever the shard says.
  void tell_drained(std::int64_t being_read = 0);

  /// Handles the credit of a task that was granted and has gone before it was read.
  void take_unread(const credit_news& m);

  /// Handles credits that the shard has returned.
  void take_returned(std::uint32_t credits);

  /// Answers the claim's request for credits, if there is one, with those that are kept.
  void return_kept();

  /// Gives the shard the credits that were kept from it.
  void place_kept();

  void revoke_all();
  void give_back(const std::vector<core::task_lease>& leases);

  /// Detaches once no credit is left at the shard.
  void detach_if_settled();

  claim_place place_;
  core::peer_id peer_;
  claim_proxy_port& port_;
  /// The queue that questions name.
  queue_address asked_;
  bool is_attached_ = false;
  phase phase_ = phase::open;
  bool has_ended_ = false;
  /// Credits at the shard, or on their way back with tasks.
  std::uint32_t credits_ = 0;
  bool is_held_ = false;
  /// The credits that are kept from the shard, and the room for tasks that is owed to it.
  core::claim kept_{.bytes = 0};
  /// The claim has asked for so many credits, and was not answered.
  std::optional<std::uint32_t> asked_back_;
  /// The latest message of the shard said that it has more work.
  bool has_work_ = false;
  /// Granted tasks that are read from the store.
  std::int64_t being_read_ = 0;
  /// The leases of each message with tasks that the claim has not confirmed, oldest first.
  std::deque<std::vector<core::task_lease>> unconfirmed_;
  std::uint32_t confirmed_ = 0;
};

} // namespace codeq::coordinator
