// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"

#include "actors/actors.hpp"
#include "client/shard_way.hpp"
#include "cluster/shard_routes.hpp"
#include "protocol/messages.hpp"
#include "security/tls_context.hpp"

#include <caf/actor_system.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace codeq::client {

/// Identity that a client sends in its hello.
struct client_identity {
  schema::Role role = schema::Role::PRODUCER;
  std::string name;
  /// Random per process start.
  std::uint64_t incarnation = 0;
  /// Returns the bearer token for a new connection, empty for none; called on the links' threads.
  std::function<std::string()> token{};
};

[[nodiscard]] protocol::hello make_hello(const client_identity& who);

/// The coordinator's shard time at the beginning of the connection.
[[nodiscard]] timestamp shard_time_of(const protocol::hello_ack& ack);

/// A connection that is up, and the store that it leads to.
struct peer {
  std::size_t link = 0;
  actors::connection_actor connection;
  store_identity store;
  /// See `HelloAck.tenant`.
  std::string tenant{};
  /// See `HelloAck.takesClaims`.
  bool takes_claims = false;
  /// See `HelloAck.takesEpochs`.
  bool takes_epochs = false;
};

/// The links of a client, at first one per coordinator address that the user named. If these
/// coordinators are alone, only one link is used: the first that is up. In a cluster there is a
/// link to each coordinator, and a shard's requests go to the one that serves it. Owned by the
/// client's actor and used from its thread.
class peers {
public:
  struct options {
    std::vector<std::string> coordinators;
    client_identity identity;
    actors::frame_sink sink;
    caf::strong_actor_ptr owner;
    /// Null: without TLS.
    std::shared_ptr<security::tls_source> tls{};
  };

  /// Starts the links.
  void dial(caf::actor_system& system, options opts);

  /// Consequences of a new connection, or of news of the map.
  struct arrival {
    /// The connection to use from now on.
    std::optional<peer> use;
    /// Connections that end because the new one leads to the same coordinator. `take_down` does not
    /// follow for them, and what was asked on them may stay without an answer.
    std::vector<actors::connection_actor> replaced{};
    /// In a cluster: the shards whose unanswered requests are to be sent again, ascending.
    std::vector<shard_id> resend;
    /// Call `retry` after `tuning::not_here_pause`; said once until then.
    bool retries = false;
  };

  /// Handles a new connection. Errors: `protocol_error` when the answer to the hello cannot be
  /// used; the connection is then closed.
  [[nodiscard]] result<arrival> take_up(const actors::link_up& up);

  /// Handles places of shards. A message that cannot be used closes its connection.
  [[nodiscard]] arrival take_places(const actors::from_link<schema::ClusterMap>& told);

  [[nodiscard]] arrival retry();

  /// Consequences of the loss of a connection.
  struct loss {
    /// The connection in use was lost.
    bool in_use = false;
    /// The connection to use from now on.
    std::optional<peer> instead;
    /// Every coordinator refuses this client; see `actors::link_down::is_refused`.
    bool all_refuse = false;
    /// The latest attempt to reach each coordinator has failed: no connection was accepted, or the
    /// peer spoke another protocol or has a certificate that is not accepted.
    bool unreachable = false;
  };

  [[nodiscard]] loss take_down(const actors::link_down& down);

  /// Closes the connection in use because its peer violated the protocol; the link dials again.
  void drop(const error& reason);

  /// True when a connection is in use.
  [[nodiscard]] bool is_connected() const noexcept { return in_use_.has_value(); }

  /// True when the connection in use is to a coordinator of a cluster.
  [[nodiscard]] bool is_cluster() const noexcept { return routes_ && routes_->is_cluster(); }

  /// In a cluster, the connection to the coordinator that serves the shard; null: there is none.
  [[nodiscard]] const actors::connection_actor* connection_of(shard_id shard) const;

  /// The same, if that coordinator takes the claims of gateways.
  [[nodiscard]] const actors::connection_actor* claims_connection_of(shard_id shard) const;

  /// The coordinators of the cluster, as far as they are connected.
  struct members {
    std::vector<actors::connection_actor> connections;
    /// Number of those that serve shards and are not connected; 1 before the first map.
    std::size_t missing = 0;
    /// The shards whose coordinator is not connected or not known, ascending.
    std::vector<shard_id> unreached{};
  };

  /// `without`: name of a coordinator that is left out; may be empty.
  [[nodiscard]] members all_members(const std::string& without = {}) const;

  /// Where shards are, as far as it is known.
  [[nodiscard]] const cluster::cluster_map& map() const { return routes_->map(); }

  /// Which coordinator serves a shard, for people.
  [[nodiscard]] std::string place_of(shard_id shard) const;

  /// Why a shard cannot be reached: `disconnected`. @pre connection_of(shard) is null
  [[nodiscard]] error unreached(shard_id shard) const;

  /// The connection of a link; null when it is not up.
  [[nodiscard]] actors::connection_actor connection_on(std::size_t link) const;

  [[nodiscard]] const std::vector<actors::link_actor>& links() const noexcept { return links_; }

private:
  struct state {
    std::optional<peer> up;
    bool is_refused = false;
    bool unreachable = false;
    /// Another link leads to its coordinator.
    bool is_closed = false;
  };

  void add_link(const std::string& coordinator);
  [[nodiscard]] std::optional<std::size_t> first_up() const;
  [[nodiscard]] arrival carry_out(cluster::shard_routes::changes changes);
  /// Tells the places of the shards in which epochs they get what is sent from now on.
  void name_epochs(const std::vector<shard_id>& shards);

  caf::actor_system* system_ = nullptr;
  options options_;
  std::vector<actors::link_actor> links_;
  std::vector<state> states_;
  std::optional<cluster::shard_routes> routes_;
  std::optional<std::size_t> in_use_;
  /// A call of `retry` was asked for.
  bool will_retry_ = false;
};

} // namespace codeq::client
