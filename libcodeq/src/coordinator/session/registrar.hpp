// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/limits.hpp"
#include "codeq/result.hpp"

#include "base/fair_share.hpp"
#include "coordinator/session/session.hpp"
#include "protocol/convert.hpp"
#include "security/principal.hpp"

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

namespace codeq::coordinator {

/// An accepted node, and the first frame that it is sent.
struct session_opening {
  session_options session;
  protocol::node_introduction node;
  protocol::hello_ack ack;
  /// In a cluster, the frame behind it.
  std::optional<protocol::cluster_map_news> places{};
};

struct registrar_options {
  std::size_t shard_count = 1;
  /// Random number per start of the coordinator.
  std::uint64_t coordinator_id = 0;
  std::uint64_t store_id = 0;
  /// Maximum number of nodes; tenants share it fairly.
  std::size_t connections_max = limits::connections_max;
  /// Name of the cluster, and this coordinator's in it; empty: this coordinator is alone.
  std::string cluster{};
  std::string node{};
  /// Null when this coordinator is alone.
  std::shared_ptr<const map_source> places{};
  /// Nodes have to show a token; false in a single-user setup.
  bool takes_tokens = false;
};

/// The registrar's interface to its driver. Calls return before they call the registrar back.
class registrar_port {
public:
  virtual ~registrar_port() = default;

  /// Starts the session of the connection whose hello has this number: attaches it to every shard,
  /// then acknowledges the hello, which is the first frame that the peer gets. Shards process the
  /// attachment after all earlier messages.
  virtual void open_session(std::uint64_t hello, session_opening opening) = 0;

  /// Lets another coordinator of the cluster send messages to the replicas here; it gets the
  /// acknowledgement of its hello first.
  virtual void open_stream(
    std::uint64_t hello, const protocol::node_introduction& node, const protocol::hello_ack& ack) =
    0;

  /// Closes the connection of another coordinator, whose hello had this number, and sends it the
  /// reason.
  virtual void end_stream(std::uint64_t hello, const error& reason) = 0;

  /// A node of the tenant is refused because of `connections_max`.
  virtual void note_full(const std::string& tenant) = 0;

  /// Refuses the connection whose hello has this number, with the reason, and closes it.
  virtual void refuse(std::uint64_t hello, const error& reason) = 0;

  /// Checks whether the node of a session is alive; answered by `probed`.
  virtual void probe(core::peer_id peer, std::uint64_t hello) = 0;

  /// Ends a session and sends the node the reason.
  virtual void end_session(core::peer_id peer, const error& reason) = 0;

  /// When the node of a session sent its latest message, on a monotonic clock; 0 before the first
  /// one.
  [[nodiscard]] virtual std::int64_t last_message(core::peer_id peer) const = 0;

  /// Detaches a peer from every shard.
  virtual void detach(core::peer_id peer) = 0;

  /// Sends every shard a command.
  virtual void to_shards(core::command command) = 0;

  /// The bearer of a node's token; null when the token is not accepted. @pre nodes show tokens
  [[nodiscard]] virtual std::shared_ptr<const security::principal>
  authenticate(const std::string& token) const = 0;

  /// Checks whether the rights of a session's bearer still hold. Errors: `unauthorized`,
  /// `going_away`.
  [[nodiscard]] virtual result<void> review(const security::principal& bearer) const = 0;

  /// Requests a call of `review_due` after `wait`.
  virtual void review_after(duration wait) = 0;
};

/// The messages for replicas in a frame of another coordinator; empty for its goodbye. Errors:
/// `protocol_error` for any other frame.
[[nodiscard]] result<std::optional<protocol::replica_frame>>
read_stream_frame(const protocol::wire_frame& frame);

/// Decides which nodes may connect: one connected worker per name and tenant. Uses no actor, clock
/// or connection: its driver calls it from one thread and numbers the hellos.
class registrar {
public:
  /// @pre `port` outlives the registrar
  registrar(const registrar_options& options, registrar_port& port);

  /// Decides on a hello. `now` is shard time.
  void welcome(std::uint64_t hello, const protocol::hello& message, timestamp now);

  /// The result of the probe that was made because of the hello.
  void probed(std::uint64_t hello, core::peer_id peer, bool is_alive, timestamp now);

  /// A session has ended.
  void forget(core::peer_id peer);

  /// The connection of another coordinator has ended.
  void forget_stream(std::uint64_t hello) { streams_.erase(hello); }

  /// Ends the sessions, and the connections of other coordinators, whose tokens were removed or
  /// changed, or have expired.
  void review_sessions();

  /// The wait of `review_after` is over: does the same, again and again while one of them has a
  /// token that expires.
  void review_due();

  /// Ends every session and accepts no more nodes.
  void stop();

private:
  struct connected {
    std::string worker_name;
    std::shared_ptr<const security::principal> bearer;
  };

  /// A node that may connect.
  struct newcomer {
    protocol::node_introduction node;
    /// Null in a single-user setup.
    std::shared_ptr<const security::principal> bearer;
  };

  struct worker_name {
    std::uint64_t incarnation = 0;
    /// Zero while not connected.
    core::peer_id peer = 0;
    /// The latest incarnations that were replaced, oldest first.
    std::deque<std::uint64_t> superseded;
  };

  [[nodiscard]] result<newcomer> introduce(const protocol::hello& message) const;
  [[nodiscard]] result<std::shared_ptr<const security::principal>>
  authenticate(const protocol::node_introduction& node) const;
  void welcome_worker(std::uint64_t hello, const newcomer& who, timestamp now);
  void welcome_coordinator(std::uint64_t hello, const newcomer& who, timestamp now);
  void take_over(std::uint64_t hello, const newcomer& who, timestamp now);
  void accept(std::uint64_t hello, const newcomer& who, timestamp now);

  /// Checks that the tenant may have one more session, if need be in place of another tenant's.
  /// Errors: `overloaded`.
  [[nodiscard]] result<void> check_share(const std::string& tenant) const;

  /// Takes a place for a session of the tenant. If it has no room but less than its equal part, it
  /// replaces the session of the tenant with most that sent no message for the longest time.
  void take_share(const std::string& tenant);

  /// @pre the tenant has a session
  [[nodiscard]] core::peer_id most_idle_of(const std::string& tenant) const;
  [[nodiscard]] protocol::hello_ack make_ack(const newcomer& who, timestamp now) const;
  void end_session_of(const worker_name& name, const error& reason);
  void drop(core::peer_id peer);
  /// True when a session, or the connection of another coordinator, has a token that expires.
  [[nodiscard]] bool has_expiring_tokens() const;
  void review_later();

  registrar_options options_;
  registrar_port& port_;
  core::peer_id last_peer_ = 0;
  std::unordered_map<core::peer_id, connected> sessions_;
  /// The bearers of the tokens of other coordinators, by the numbers of their hellos; empty in a
  /// single-user setup.
  std::unordered_map<std::uint64_t, std::shared_ptr<const security::principal>> streams_;
  /// Places of sessions, by the tenants of their tokens.
  base::fair_share shares_;
  std::unordered_map<std::string, worker_name> workers_;
  /// Hellos that wait for a probe, by number.
  std::unordered_map<std::uint64_t, protocol::hello> probing_;
  bool stopping_ = false;
  /// A call of `review_due` is arranged.
  bool will_review_ = false;
};

} // namespace codeq::coordinator
