// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"

#include "client/peer.hpp"
#include "http/desk/gateway_actors.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace codeq::http {

/// How the gateway of a cluster's coordinator reaches all shards.
struct far_shards_options {
  /// The own coordinator, whose map names the others.
  std::string coordinator;
  /// Name of the own coordinator.
  std::string node;
  /// With the role of a gateway.
  client::client_identity identity;
  /// Null without TLS.
  std::shared_ptr<security::tls_source> tls{};
};

/// The gateway's connections to the coordinators of its cluster, the own one among them. Owned by
/// the desk and used from its thread.
class far_shards {
public:
  struct events {
    /// The shards, ascending, have another coordinator, or a new connection to it: what is not
    /// answered is to be sent again.
    std::function<void(const std::vector<shard_id>&)> moved;
    /// The coordinators of the shards, ascending, had not served them a short time ago: what is not
    /// answered is to be sent again.
    std::function<void(const std::vector<shard_id>&)> retried;
    /// Requests that were sent on the connection and are not answered will not be.
    std::function<void(const actors::connection_actor&)> lost;
    /// Runs an action later.
    std::function<void(duration, std::function<void()>)> after;
  };

  void start(gateway_actor::pointer self, far_shards_options options, events then);

  /// Null: the coordinator of the shard is not known or not connected.
  [[nodiscard]] const actors::connection_actor* connection_of(shard_id shard) const {
    return peers_.connection_of(shard);
  }

  /// The connection for claims at a shard of another coordinator. Null: there is none, the shard is
  /// the own coordinator's, or its coordinator is of a version that takes no claims.
  [[nodiscard]] actors::connection_actor claims_connection_of(shard_id shard) const;

  /// Which coordinator serves a shard, for people.
  [[nodiscard]] std::string place_of(shard_id shard) const { return peers_.place_of(shard); }

  /// The name of the coordinator that serves the shard; empty when it is not known.
  [[nodiscard]] std::string node_of(shard_id shard) const;

  /// Why a shard cannot be reached.
  [[nodiscard]] error unreached(shard_id shard) const { return peers_.unreached(shard); }

  /// The other coordinators that serve shards.
  [[nodiscard]] client::peers::members others() const;

  // Messages to the gateway's actor.

  void take(const actors::link_up& m);
  void take(const actors::link_down& m);
  void take(const actors::from_link<schema::ClusterMap>& m);

private:
  void follow(const client::peers::arrival& came);
  void retry_later();

  gateway_actor::pointer self_ = nullptr;
  far_shards_options options_;
  events then_;
  client::peers peers_;
};

} // namespace codeq::http
