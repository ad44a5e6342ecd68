// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/clock.hpp"
#include "coordinator/segment_cache.hpp"
#include "coordinator/timing_wheel.hpp"
#include "coordinator/turn_runner.hpp"
#include "protocol/convert.hpp"
#include "protocol/reply.hpp"
#include "sim/auditor.hpp"
#include "sim/journal_shell.hpp"
#include "sim/session_shell.hpp"
#include "sim/world.hpp"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

namespace codeq::sim {

/// Wraps the core as the shard's actor does: turns, commits, held effects, timers.
class shard_shell {
public:
  struct parts {
    std::unique_ptr<core::shard_state> state;
    journal_shell* journal = nullptr;
    reader_shell* reader = nullptr;
    auditor* audit = nullptr;
    std::uint16_t shard_count = 1;
    /// The shards of the same process.
    std::function<shard_shell&(shard_id)> neighbour;
  };

  struct peer {
    core::peer_id id = 0;
    session_shell* session = nullptr;
    std::shared_ptr<const worker_identity> worker;
    std::vector<queue_address> queues;
  };

  shard_shell(world& all, process& home, parts made);

  [[nodiscard]] mailbox& box() { return box_; }

  /// The shard's clock.
  [[nodiscard]] timestamp now() { return clock().shard; }

  // Messages.
  void decide(const core::command& c);
  void attach(const peer& p);
  void detach(core::peer_id peer);
  void release(const std::shared_ptr<const worker_identity>& worker);
  void replace(const std::shared_ptr<const worker_identity>& worker);
  void committed(std::uint64_t number);
  void take(core::peer_id from, const protocol::enqueue_request& m);
  void take(core::peer_id from, const protocol::heartbeat_request& m);
  void take(core::peer_id from, const protocol::result_request& m);
  void take(core::peer_id from, const protocol::resume_request& m);
  void take(core::peer_id from, const protocol::await_request& m);
  void take(core::peer_id from, const protocol::change_request& m);
  void take(core::peer_id from, const protocol::force_request& m);
  void take(core::peer_id from, const protocol::queue_request& m);
  void take(core::peer_id from, const protocol::bulk_request& m);

  /// The shard's memory when all of it is durable, else null.
  [[nodiscard]] core::shard_state* settled_state();

  /// Dead tasks that others of their group wait behind.
  [[nodiscard]] std::vector<task_id> blockers() const;

private:
  [[nodiscard]] instant clock();
  void close_turn();
  void commit(std::vector<core::event> events);
  void gather(std::uint64_t number, std::vector<core::event> events);
  void release();
  void arm();
  void wake(std::uint64_t number);
  void flush_endings();
  [[nodiscard]] session_shell* session_of(core::peer_id peer);
  void send_to(core::peer_id peer, const protocol::wire_frame& frame);

  template <class T>
  void decide_or_end(core::peer_id from, const result<T>& command);

  /// Decides what an operator asks, or refuses it.
  template <class S>
  void operate(core::peer_id from, const protocol::frame<S>& m);

  /// What nobody in the simulation asks for.
  template <class Effect>
  void carry_out(Effect&) {}

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
  void carry_out(core::cancel_wanted& e);

  world& world_;
  process& home_;
  parts parts_;
  mailbox box_;
  core::shard_state& state_;
  base::shard_time shard_time_;
  coordinator::turn_runner turns_;
  std::map<core::peer_id, peer> peers_;
  coordinator::segment_cache cache_;
  coordinator::timing_wheel wheel_;
  std::map<fencing_token, sequence> timers_;

  std::map<core::peer_id, std::vector<protocol::ended_task>> endings_;
};

} // namespace codeq::sim
