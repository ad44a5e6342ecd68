// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/limits.hpp"
#include "codeq/result.hpp"

#include "base/fair_share.hpp"
#include "coordinator/session/session.hpp"
#include "protocol/convert.hpp"
#include "security/token_table.hpp"

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>

namespace codeq::coordinator {

/// A node that may come in, and what it is told first.
struct session_opening {
  session_options session;
  protocol::node_introduction node;
  protocol::hello_ack ack;
};

struct registrar_options {
  std::size_t shard_count = 1;
  /// Random, per start of the coordinator.
  std::uint64_t coordinator_id = 0;
  std::uint64_t store_id = 0;
  /// Of all nodes; tenants share them fairly.
  std::size_t connections_max = limits::connections_max;
};

/// The outside of the registrar. No call leads back into the registrar before it has returned.
class registrar_port {
public:
  virtual ~registrar_port() = default;

  /// Starts the session of the connection that said hello under this number: attaches it to every
  /// shard, then acknowledges the hello; the acknowledgement is the first frame that the peer gets.
  /// Shards get this behind everything that they were told before.
  virtual void open_session(std::uint64_t hello, session_opening opening) = 0;

  /// A node of the tenant is refused because of `connections_max`.
  virtual void note_full(const std::string& tenant) = 0;

  /// Tells the connection that said hello under this number why it may not come in, and closes it.
  virtual void refuse(std::uint64_t hello, const error& reason) = 0;

  /// Asks whether the node of a session still answers; answered by `probed`.
  virtual void probe(core::peer_id peer, std::uint64_t hello) = 0;

  /// Tells a node why its session ends, and ends it.
  virtual void end_session(core::peer_id peer, const error& reason) = 0;

  /// Has every shard forget a peer.
  virtual void detach(core::peer_id peer) = 0;

  /// Gives every shard a command.
  virtual void to_shards(core::command command) = 0;

  /// The tokens in force; null lets everybody in to do everything.
  [[nodiscard]] virtual std::shared_ptr<const security::token_table> tokens() const = 0;
};

/// Decides who may connect, and as what: one living worker for each name and tenant. Knows no
/// actor, clock or connection: its driver calls it from one thread and numbers hellos.
class registrar {
public:
  /// @pre `port` outlives the registrar
  registrar(const registrar_options& options, registrar_port& port);

  /// Decides over a hello. `now` is shard time.
  void welcome(std::uint64_t hello, const protocol::hello& message, timestamp now);

  /// Whether the node of the session answered that the hello had probed.
  void probed(std::uint64_t hello, core::peer_id peer, bool is_alive, timestamp now);

  /// A session is gone.
  void forget(core::peer_id peer);

  /// Ends the sessions whose tokens are gone or say something else.
  void review_sessions();

  /// Ends every session and lets nobody in any more.
  void stop();

private:
  struct connected {
    std::string worker_name;
    std::shared_ptr<const security::principal> bearer;
  };

  /// A node that may come in.
  struct newcomer {
    protocol::node_introduction node;
    /// Null when everybody may do everything.
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
  void take_over(std::uint64_t hello, const newcomer& who, timestamp now);
  void accept(std::uint64_t hello, const newcomer& who, timestamp now);

  /// Whether the tenant may have one more session. Errors: `overloaded`.
  [[nodiscard]] result<void> check_share(const std::string& tenant) const;
  [[nodiscard]] protocol::hello_ack make_ack(timestamp now) const;
  void end_session_of(const worker_name& name, const error& reason);
  void drop(core::peer_id peer);

  registrar_options options_;
  registrar_port& port_;
  core::peer_id last_peer_ = 0;
  std::unordered_map<core::peer_id, connected> sessions_;
  /// Of sessions, by the tenants of their tokens.
  base::fair_share shares_;
  std::unordered_map<std::string, worker_name> workers_;
  /// Hellos that wait for a probe, by number.
  std::unordered_map<std::uint64_t, protocol::hello> probing_;
  bool stopping_ = false;
};

} // namespace codeq::coordinator
