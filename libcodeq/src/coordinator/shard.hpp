// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/coordinator_actors.hpp"
#include "actors/store_actors.hpp"
#include "base/clock.hpp"
#include "coordinator/lease_timer.hpp"
#include "coordinator/segment_cache.hpp"
#include "core/turn.hpp"
#include "protocol/reply.hpp"

#include <deque>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

namespace codeq::coordinator {

struct shard_options {
  /// What recovery found; owned by the actor from then on.
  std::shared_ptr<core::shard_state> state;
  /// Used by this shard's actor only.
  std::shared_ptr<base::clock> clock;
  actors::journal_actor journal;
  actors::reader_actor reader;
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

  /// Decides what a peer's message asks for; a malformed one ends the peer's session.
  template <class S, class... Extra>
  void decide_from(const actors::from_peer<S>& m, const Extra&... extra);

  void enqueue(const actors::from_peer<schema::EnqueueRequest>& m);
  void resume(const actors::from_peer<schema::ResumeRequest>& m);
  void await(const actors::from_peer<schema::AwaitRequest>& m);
  void attach(const actors::attach_session& m);
  void detach(const actors::detach_session& m);
  void end_leases(const actors::end_leases& m);
  void change(const actors::ask_change& m);
  void close_turn();
  void committed(std::uint64_t number);
  void wake(std::uint64_t number);
  [[nodiscard]] coordinator_stats stats() const;

  /// Takes a checkpoint and answers when everything is durable.
  [[nodiscard]] caf::result<bool> stop();

private:
  struct peer {
    actors::session_actor session;
    std::shared_ptr<const worker_identity> worker;
  };

  struct held_effects {
    std::uint64_t commit = 0;
    std::vector<core::effect> effects;
  };

  /// Hands what a turn decided to the journal.
  void submit(std::vector<core::event> events);
  void hold(std::vector<core::effect> effects);
  void release();
  void arm();
  void refuse(core::peer_id peer, std::uint64_t number, const error& reason);

  // Carries out one effect each.
  void carry_out(core::enqueue_answered& e);
  void carry_out(core::tasks_granted& e);
  void carry_out(core::claim_parked& e);
  void carry_out(core::work_available& e);
  void carry_out(core::credits_revoked& e);
  void carry_out(core::reports_answered& e);
  void carry_out(core::leases_lost& e);
  void carry_out(core::resumed& e);
  void carry_out(core::timer_wanted& e);
  void carry_out(core::timer_dropped& e);
  void carry_out(core::task_described& e);
  void carry_out(core::task_not_here& e);
  void carry_out(core::change_answered& e);
  void carry_out(core::cancel_wanted& e);
  void flush_endings();

  template <class Message>
  void send_to(core::peer_id peer, Message&& message);

  actors::shard_internal_actor::pointer self_ = nullptr;
  shard_options options_;
  std::shared_ptr<core::shard_state> state_;
  std::unique_ptr<core::turn> turn_;
  std::unordered_map<core::peer_id, peer> peers_;
  std::optional<segment_cache> cache_;
  std::optional<lease_timers> timers_;

  // Commits.
  std::uint64_t submitted_ = 0;
  std::uint64_t committed_ = 0;
  std::deque<held_effects> held_;
  std::unordered_map<core::peer_id, std::vector<protocol::ended_task>> endings_;

  // Time.
  std::optional<monotonic_time> armed_;
  std::uint64_t armed_number_ = 0;
  monotonic_time last_checkpoint_;
  std::optional<caf::typed_response_promise<bool>> stopping_;
};

/// The actor of one shard, the single writer of its keys.
[[nodiscard]] actors::shard_internal_actor::behavior_type shard(
  actors::shard_internal_actor::stateful_pointer<shard_actor_state> self,
  const shard_options& options);

} // namespace codeq::coordinator
