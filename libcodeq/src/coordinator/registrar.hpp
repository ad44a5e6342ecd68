// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/coordinator_actors.hpp"
#include "actors/registrar_actors.hpp"
#include "base/clock.hpp"
#include "coordinator/session.hpp"
#include "protocol/convert.hpp"
#include "security/rate_limiter.hpp"
#include "security/token_source.hpp"

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace codeq::coordinator {

struct registrar_options {
  /// By number.
  std::vector<actors::shard_actor> shards;
  /// Random, per start of the coordinator.
  std::uint64_t coordinator_id = 0;
  std::uint64_t store_id = 0;
  process_gauges gauges;
  /// Of shard time; used by the registrar only.
  std::shared_ptr<base::clock> clock;
  /// Who may come in; null lets everybody in to do everything.
  std::shared_ptr<security::token_source> tokens{};
  /// Not null when there are tokens.
  std::shared_ptr<security::rate_limiter> limiter{};
  backup_control backups{};
};

/// The state of the registrar: who is connected, and which worker has which name.
class registrar_state {
public:
  static constexpr const char* name = "registrar";

  void start(actors::registrar_internal_actor::pointer self, const registrar_options& options);

  /// Decides over a hello.
  void welcome(const actors::peer_hello& m);

  /// A session is gone.
  void forget(const caf::actor_addr& session);

  /// Ends the sessions whose tokens are gone or say something else.
  void review_sessions();

  /// Ends every session.
  void stop();

private:
  struct connected {
    core::peer_id peer = 0;
    actors::session_actor session;
    actors::connection_actor connection;
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
    /// Null while not connected.
    caf::actor_addr session;
    /// The latest incarnations that were replaced, oldest first.
    std::deque<std::uint64_t> superseded;
  };

  [[nodiscard]] result<newcomer> introduce(const actors::peer_hello& m) const;
  [[nodiscard]] result<std::shared_ptr<const security::principal>>
  authenticate(const protocol::node_introduction& node) const;
  void welcome_worker(const actors::peer_hello& m, const newcomer& who);
  void decide_probed(const actors::peer_hello& m, const caf::actor_addr& probed, bool is_alive);
  void take_over(const actors::peer_hello& m, const newcomer& who);
  void accept(const actors::peer_hello& m, const newcomer& who);
  void refuse(const actors::peer_hello& m, const error& reason);
  using session_map = std::unordered_map<caf::actor_addr, connected>;

  [[nodiscard]] session_map::iterator session_of(const worker_name& name);
  void end_session_of(worker_name& name, const error& reason);
  void forget_peer(const connected& c);

  actors::registrar_internal_actor::pointer self_ = nullptr;
  registrar_options options_;
  core::peer_id last_peer_ = 0;
  session_map sessions_;
  std::unordered_map<std::string, worker_name> workers_;
  bool stopping_ = false;
};

/// The actor that decides who may connect.
[[nodiscard]] actors::registrar_internal_actor::behavior_type registrar(
  actors::registrar_internal_actor::stateful_pointer<registrar_state> self,
  const registrar_options& options);

} // namespace codeq::coordinator
