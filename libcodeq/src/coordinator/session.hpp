// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/backup_status.hpp"

#include "actors/coordinator_actors.hpp"
#include "coordinator/claim_router.hpp"
#include "protocol/convert.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace codeq::coordinator {

/// What the process as a whole measures, by metric name; called on any thread.
using process_gauges = std::function<std::map<std::string, std::int64_t>()>;

/// Begins a backup, or with false only says how the latest one is; called on any thread.
using backup_control = std::function<result<backup_status>(bool start)>;

struct session_options {
  core::peer_id peer = 0;
  /// Null for producers and operators.
  std::shared_ptr<const worker_identity> worker;
  protocol::node_introduction node;
  actors::connection_actor connection;
  /// By number.
  std::vector<actors::shard_actor> shards;
  /// Address of the peer, for logs.
  std::string remote;
  process_gauges gauges;
  /// Empty where there is nothing to back up.
  backup_control backups{};
};

/// The state of a session: checks which shard a message is for, owns the worker's credits, bounds
/// what a producer has in flight, and sends what comes back to the connection.
class session_state {
public:
  static constexpr const char* name = "session";

  void start(actors::session_actor::pointer self, const session_options& options);

  void enqueue(const protocol::enqueue_request& m);
  void claim(const protocol::claim_request& m);
  void stats(const protocol::stats_request& m);
  void back_up(const protocol::backup_request& m);

  /// Passes a message that names its shard on to it.
  template <class S>
  void forward(const protocol::frame<S>& m);

  /// Passes an operator's request on to the shard that it or its task names.
  template <class S>
  void ask_shard(const protocol::frame<S>& m);

  void deliver(const actors::tasks_for_peer& m);
  void finish_enqueue(const actors::enqueue_done& m);
  void send(const protocol::wire_frame& frame);
  void carry_out(const claim_router::moves& moves);
  void pause(bool paused);

  /// Takes all credits back, for good.
  void drain();

  /// The peer said goodbye: a worker's leases are given back.
  void goodbye();

  /// Tells the peer why, and closes the connection.
  void end(const error& reason);

  [[nodiscard]] claim_router& router() { return *router_; }

private:
  void refuse_enqueue(std::uint64_t number);
  void misbehave(const error& reason);

  actors::session_actor::pointer self_ = nullptr;
  session_options options_;
  std::shared_ptr<const worker_identity> worker_;
  std::optional<claim_router> router_;
  duration lease_wish_{0};
  /// The worker takes no more tasks.
  bool draining_ = false;

  // A producer's requests that are not answered yet.
  std::unordered_multimap<std::uint64_t, std::size_t> enqueue_bytes_;
  std::size_t inflight_bytes_ = 0;
};

/// The actor of one connected node.
[[nodiscard]] actors::session_actor::behavior_type session(
  actors::session_actor::stateful_pointer<session_state> self, const session_options& options);

/// Where the frames of a node with that role go; those that the role does not send are refused.
[[nodiscard]] actors::frame_sink
session_sink(schema::Role role, const actors::session_actor& session);

} // namespace codeq::coordinator
