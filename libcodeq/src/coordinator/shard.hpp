// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/coordinator_actors.hpp"
#include "actors/store_actors.hpp"
#include "base/clock.hpp"
#include "coordinator/free_space.hpp"
#include "coordinator/lease_timer.hpp"
#include "coordinator/segment_cache.hpp"
#include "coordinator/turn_runner.hpp"
#include "protocol/convert.hpp"
#include "protocol/reply.hpp"

#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

namespace codeq::coordinator {

struct shard_options {
  /// What recovery found; owned by the actor from then on.
  std::shared_ptr<core::shard_state> state;
  /// Of the store.
  std::uint16_t shard_count = 1;
  /// Used by this shard's actor only.
  std::shared_ptr<base::clock> clock;
  actors::journal_actor journal;
  actors::reader_actor reader;
  /// Says when tasks may be added; used by this shard's actor only, empty for always.
  std::shared_ptr<free_space> space{};
  /// Bytes of bodies kept so that a task claimed soon is not read back.
  std::size_t cache_bytes = limits::segment_cache_bytes_default;
};

/// The state of a shard's actor: turns the core's decisions into writes and messages. Nothing that
/// a turn leads to leaves before the journal has committed that turn and all before it.
class shard_actor_state {
public:
  static constexpr const char* name = "shard";

  void start(actors::shard_internal_actor::pointer self, const shard_options& options);

  /// Decides a command in the current turn.
  void decide(const core::command& command);

  void enqueue(const actors::from_peer<schema::EnqueueRequest>& m);
  void beat(const actors::from_peer<schema::HeartbeatRequest>& m);
  void report(const actors::from_peer<schema::ResultRequest>& m);
  void resume(const actors::from_peer<schema::ResumeRequest>& m);
  void await(const actors::from_peer<schema::AwaitRequest>& m);
  void attach(const actors::attach_session& m);
  void detach(const actors::detach_session& m);
  void end_leases(const actors::end_leases& m);

  // Answers an operator's request.
  void operate(const actors::from_peer<schema::StatusRequest>& m);
  void operate(const actors::from_peer<schema::ChangeRequest>& m);
  void operate(const actors::from_peer<schema::ForceRequest>& m);
  void operate(const actors::from_peer<schema::QueueRequest>& m);
  void operate(const actors::from_peer<schema::BulkRequest>& m);
  void operate(const actors::from_peer<schema::ListRequest>& m);
  void operate(const actors::from_peer<schema::ExplainRequest>& m);
  void operate(const actors::from_peer<schema::EventsRequest>& m);

  // Follow-ups between shards.
  void take(actors::hand_over& m);
  void confirm(const actors::handed_over& m);
  void meet(const actors::meet_shards& m);

  void close_turn();
  void committed(std::uint64_t number);
  void raise_epoch(std::uint32_t epoch);
  void wake(std::uint64_t number);
  [[nodiscard]] coordinator_stats stats() const;

  /// Takes a checkpoint and answers when everything is durable.
  [[nodiscard]] caf::result<bool> stop();

private:
  struct peer {
    actors::session_actor session;
    std::shared_ptr<const worker_identity> worker;
    std::shared_ptr<const security::principal> bearer;
  };

  struct queue_watcher {
    actors::queue_watcher_actor actor;
    /// How many queues it knows.
    std::size_t told = 0;
  };

  void tell_queues(queue_watcher& watcher);

  /// Hands what a turn decided to the journal.
  void commit(std::vector<core::event> events);
  void release();
  void arm();

  /// Asks for another epoch when the numbers of this one run out; takes it when it is there.
  /// @pre no turn is open
  void renew_epoch();
  void refuse(core::peer_id peer, std::uint64_t number, const error& reason);

  // Carries out one effect each.
  void carry_out(core::enqueue_answered& e);
  void carry_out(core::tasks_granted& e);
  void carry_out(core::claim_parked& e);
  void carry_out(core::work_available& e);
  void carry_out(core::credits_revoked& e);
  void carry_out(core::reports_answered& e);
  void carry_out(core::deliver_follow_ups& e);
  void carry_out(core::follow_ups_taken& e);
  void carry_out(core::checkpoints_saved& e);
  void carry_out(core::leases_lost& e);
  void carry_out(core::resumed& e);
  void carry_out(core::timer_wanted& e);
  void carry_out(core::timer_dropped& e);
  void carry_out(core::task_described& e);
  void carry_out(core::task_not_here& e);

  void carry_out(core::change_answered& e);
  void carry_out(core::queue_answered& e);
  void carry_out(core::bulk_answered& e);
  void carry_out(core::tasks_listed& e);
  void carry_out(core::task_explained& e);
  void carry_out(core::cancel_wanted& e);
  void carry_out(core::progress_told& e);

  void flush_endings();
  [[nodiscard]] std::vector<worker_stats> worker_counts() const;
  void note_dispatch(const core::tasks_granted& granted);

  template <class Message>
  void send_to(core::peer_id peer, Message&& message) {
    if (auto at = peers_.find(peer); at != peers_.end())
      self_->send(at->second.session, std::forward<Message>(message));
  }

  [[nodiscard]] protocol::shard_place place() const { return {state_->id, options_.shard_count}; }

  /// Takes a converted message; a malformed one ends the peer's session and is empty.
  template <class Command>
  std::optional<Command> accept(core::peer_id peer, result<Command> command);

  // Answers what is not this peer's to see as if it was not there.
  void say_not_yours(core::peer_id peer, const std::vector<core::lease_beat>& beats);
  void say_not_yours(core::peer_id peer, const std::vector<core::lease_report>& reports);
  void say_not_yours(core::peer_id peer, const std::vector<sequence>& awaited);

  /// Reads an operator's request and decides it, or refuses it.
  template <class S>
  void decide_request(const actors::from_peer<S>& m);

  actors::shard_internal_actor::pointer self_ = nullptr;
  shard_options options_;
  std::shared_ptr<core::shard_state> state_;
  std::optional<turn_runner> turns_;
  std::unordered_map<core::peer_id, peer> peers_;
  std::unordered_map<core::peer_id, queue_watcher> queue_watchers_;
  std::vector<actors::shard_neighbour_actor> shards_;
  /// Until the other shards are known.
  std::vector<core::deliver_follow_ups> undelivered_;
  std::optional<segment_cache> cache_;
  std::optional<lease_timers> timers_;
  std::unordered_map<core::peer_id, std::vector<protocol::ended_task>> endings_;
  std::optional<caf::typed_response_promise<bool>> stopping_;
  // Since the start.
  time_counts dispatched_;
  time_counts ran_;
  /// The journal was asked for another epoch.
  bool wants_epoch_ = false;
  /// Begun, but a turn is open.
  std::optional<std::uint32_t> next_epoch_;
};

/// The actor of one shard, the single writer of its keys.
[[nodiscard]] actors::shard_internal_actor::behavior_type shard(
  actors::shard_internal_actor::stateful_pointer<shard_actor_state> self,
  const shard_options& options);

} // namespace codeq::coordinator
