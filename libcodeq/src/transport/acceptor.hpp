// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/limits.hpp"
#include "codeq/result.hpp"

#include "actors/actors.hpp"
#include "observe/limit_meter.hpp"
#include "security/tls_context.hpp"
#include "transport/settings.hpp"

#include <caf/actor.hpp>
#include <caf/actor_system.hpp>

#include <cstdint>
#include <memory>
#include <string>

namespace codeq::transport {

struct acceptor_options {
  /// The address to listen on; a wildcard only if it is given here.
  std::string address = "127.0.0.1";
  /// 0: the system chooses a port.
  std::uint16_t port = 0;
  /// Decides on every hello.
  actors::registrar_actor registrar;
  /// Maximum number of connections, shared fairly among remote addresses; further ones are closed
  /// at once.
  std::size_t connections_max = limits::connections_max;
  /// Maximum number of connections that the registrar has not accepted yet; a further one replaces
  /// another.
  std::size_t unauthenticated_connections_max = limits::unauthenticated_connections_max;
  connection_settings connection;
  /// Null: connections without TLS only. Otherwise: connections with TLS only.
  std::shared_ptr<security::tls_source> tls{};
  std::shared_ptr<observe::limit_meter> meter = std::make_shared<observe::limit_meter>();
};

/// A listening port. `caf::anon_send_exit(actor, caf::exit_reason::user_shutdown)` closes the port;
/// connections that it has accepted stay open.
struct acceptor_handle {
  caf::actor actor;
  /// The actual port.
  std::uint16_t port = 0;
};

/// Listens, and gives each new connection a broker of its own. Errors: `unavailable` when the
/// address cannot be used (in use, not local, not permitted); the context names address and port.
[[nodiscard]] result<acceptor_handle>
spawn_acceptor(caf::actor_system& system, acceptor_options options);

} // namespace codeq::transport
