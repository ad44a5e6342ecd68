// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/actors.hpp"
#include "base/tuning.hpp"
#include "security/tls_context.hpp"
#include "transport/settings.hpp"

#include <caf/actor_system.hpp>
#include <caf/fwd.hpp>

#include <functional>
#include <memory>
#include <string>

namespace codeq::transport {

struct link_options {
  /// Returned in `link_up` and `link_down`, to identify the link.
  std::size_t index = 0;
  /// Address of the coordinator: `host:port`, an IPv6 address in brackets.
  std::string coordinator;
  /// Creates the hello of each new connection; called on the link's own thread.
  std::function<protocol::hello()> make_hello;
  /// Receives the frames once the coordinator has accepted the hello; see `deliver`.
  actors::frame_sink sink;
  /// Gets `link_up` before the first frame of a connection and `link_down` after the last. It also
  /// gets `link_down` for each dial that fails, and for each connection that ends before it is up,
  /// without a `link_up` before it. The link ends when the owner ends.
  caf::strong_actor_ptr owner;
  /// Timeouts of the handshake and of pings. The bound of outgoing bytes does not apply: the link's
  /// owner bounds them by its own window.
  connection_settings connection;
  /// Null: without TLS.
  std::shared_ptr<security::tls_source> tls{};
  duration connect_timeout = tuning::connect_timeout;
  duration reconnect_delay_min = tuning::reconnect_delay_min;
  duration reconnect_delay_max = tuning::reconnect_delay_max;
  /// The owner reports why there is no connection, so the link logs it as `debug`, not as `warn`.
  bool owner_reports = false;
};

/// Keeps a connection to one coordinator: dials at once, and again with growing, jittered pauses
/// whenever the connection is lost or refused, until `close_link` or the owner's end. A refusal is
/// told by `link_down::is_refused`, but may end: a coordinator that has just started may not know a
/// token yet that the others know. It is for the owner to end the link. Only a newer process with
/// the name of this one, and a malformed `coordinator` (`invalid_argument`), end it at once.
/// Detached, because dialling blocks. After `close_link` the owner gets no more messages; the
/// link's own end, which can be monitored, shows that the goodbye was sent.
[[nodiscard]] actors::link_actor spawn_link(caf::actor_system& system, link_options options);

} // namespace codeq::transport
