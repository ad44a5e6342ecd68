// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/actors.hpp"
#include "security/tls_context.hpp"
#include "transport/settings.hpp"

#include <caf/actor_system.hpp>
#include <caf/fwd.hpp>

#include <functional>
#include <memory>
#include <string>

namespace codeq::transport {

struct link_options {
  /// Given back in `link_up` and `link_down`, so that an owner of several links tells them apart.
  std::size_t index = 0;
  /// Where the coordinator listens: `host:port`, an IPv6 address in brackets.
  std::string coordinator;
  /// Makes the hello of each new connection; called on the link's own thread.
  std::function<protocol::hello()> make_hello;
  /// Where frames go once the coordinator has accepted the hello; see `deliver`.
  actors::frame_sink sink;
  /// Gets `link_up` before the first frame of a connection and `link_down` after the last. When it
  /// ends, the link ends.
  caf::strong_actor_ptr owner;
  /// The times of the handshake and of pings. The outgoing bound does not apply: what the link's
  /// owner sends is bounded by its own window.
  connection_settings connection;
  /// Null dials without TLS.
  std::shared_ptr<security::tls_source> tls{};
  duration connect_timeout = limits::connect_timeout;
  duration reconnect_delay_min = limits::reconnect_delay_min;
  duration reconnect_delay_max = limits::reconnect_delay_max;
};

/// Keeps a connection to one coordinator: dials at once, and again with growing, jittered pauses
/// whenever it is lost, until `close_link`, the owner's end or a refusal for good (`link_down` with
/// `final`). Detached, because dialling blocks. After `close_link` the owner hears nothing more;
/// the link's own end (monitor it) says that the goodbye has left. A malformed `coordinator` is a
/// final `link_down` with `invalid_argument`.
[[nodiscard]] actors::link_actor spawn_link(caf::actor_system& system, link_options options);

} // namespace codeq::transport
