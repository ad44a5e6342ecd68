// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/backup_status.hpp"

#include "actors/coordinator_actors.hpp"
#include "coordinator/claim_router.hpp"
#include "protocol/convert.hpp"
#include "security/rate_limiter.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace codeq::coordinator {

/// Credits were held back so that the token's rate is kept; time to place some.
struct place_held_credits {};

} // namespace codeq::coordinator

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::coordinator::place_held_credits)

namespace codeq::coordinator {

/// What the SESSION understands inside its own process.
using session_internal_actor = actors::session_actor::extend<
  // Places credits that were held back.
  caf::reacts_to<place_held_credits>>;

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
  /// Null when everybody may do everything.
  std::shared_ptr<const security::principal> bearer{};
  /// Not null when there is a bearer.
  std::shared_ptr<security::rate_limiter> limiter{};
  /// Empty where there is nothing to back up.
  backup_control backups{};
};

/// The state of a session: checks which shard a message is for, owns the worker's credits, bounds
/// what a producer has in flight, and sends what comes back to the connection.
class session_state {
public:
  static constexpr const char* name = "session";

  void start(session_internal_actor::pointer self, const session_options& options);

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

  /// Places credits that were held back, as far as the token's rate allows.
  void place_held();

  /// The peer said goodbye: a worker's leases are given back.
  void goodbye();

  /// Tells the peer why, and closes the connection.
  void end(const error& reason);

  [[nodiscard]] claim_router& router() { return *router_; }

private:
  /// The worker takes tasks of these queues from here on.
  void take_from(const std::vector<queue_address>& queues);

  void refuse_enqueue(std::uint64_t number, const error& reason, duration retry_after);

  /// How long the bearer has to wait before it may do so much; zero when it may now.
  [[nodiscard]] duration take(security::rate_scope scope, std::uint64_t cost);

  /// Counts an operator's request. Errors: `overloaded`.
  [[nodiscard]] result<void> take_request();
  void misbehave(const error& reason);

  session_internal_actor::pointer self_ = nullptr;
  session_options options_;
  std::shared_ptr<const worker_identity> worker_;
  std::optional<claim_router> router_;
  duration lease_wish_{0};
  /// The worker takes no more tasks.
  bool draining_ = false;
  /// Credits beyond the token's rate.
  std::uint32_t held_credits_ = 0;

  // A producer's requests that are not answered yet.
  std::unordered_multimap<std::uint64_t, std::size_t> enqueue_bytes_;
  std::size_t inflight_bytes_ = 0;
};

/// The actor of one connected node.
[[nodiscard]] session_internal_actor::behavior_type session(
  session_internal_actor::stateful_pointer<session_state> self, const session_options& options);

/// Where the frames of a node with that role go; those that the role does not send are refused.
[[nodiscard]] actors::frame_sink
session_sink(schema::Role role, const actors::session_actor& session);

} // namespace codeq::coordinator
