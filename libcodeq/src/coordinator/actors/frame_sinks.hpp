// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "coordinator/actors/coordinator_actors.hpp"
#include "coordinator/actors/turn_loop.hpp"
#include "coordinator/shared/enqueue_shares.hpp"
#include "protocol/convert.hpp"

#include <memory>
#include <string>

/// Where the frames of a connection go once its node may connect. A sink runs on the thread of the
/// sockets, and its error closes the connection.
namespace codeq::coordinator {

/// The tenant whose share of the enqueue bytes a connection's messages take until they are durable.
struct enqueue_payer {
  /// The tenant of the connection's token. Without tokens all connections are of one tenant.
  std::string tenant = "default";
  std::shared_ptr<enqueue_shares> shares = std::make_shared<enqueue_shares>();
};

/// A session, and where it runs.
struct session_place {
  session_actor session;
  core::peer_id peer = 0;
  /// See `session_driver_options`.
  std::shared_ptr<turn_loop> loop{};
};

/// The sink for frames of a node with that role; refuses those that the role must not send.
/// Enqueues, changes and checkpoints take their share here, before they are queued anywhere, or are
/// dropped and refused.
[[nodiscard]] actors::frame_sink
session_sink(schema::Role role, session_place to, enqueue_payer payer);

/// The sink for frames of another coordinator of the cluster, which has messages for the replicas
/// here.
[[nodiscard]] actors::frame_sink
stream_sink(replicas_actor to, const protocol::node_introduction& from);

} // namespace codeq::coordinator
