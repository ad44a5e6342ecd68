// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/limits.hpp"

namespace codeq::transport {

/// What a connection allows its peer. The defaults are the product's; tests make the times short.
struct connection_settings {
  /// How long the handshake may take: hello and the answer to it, each.
  duration hello_timeout = limits::hello_timeout;
  /// A peer that said nothing for this long is sent a ping.
  duration ping_interval = limits::ping_interval;
  /// A peer that said nothing for this long is dropped.
  duration silent_peer_max = limits::silent_peer_max;
  /// How long a probed peer has to answer.
  duration probe_timeout = limits::name_probe_timeout;
  /// How long a connection that closes waits for its bytes to leave and for the peer to close.
  duration linger = limits::connection_linger;
  /// Buffered bytes above which the owner of an accepted connection is told to hold back; at twice
  /// as many the peer is dropped.
  std::size_t outgoing_bytes_high = limits::outgoing_bytes_high;
  /// Buffered bytes below which the owner is told to go on.
  std::size_t outgoing_bytes_low = limits::outgoing_bytes_low;
};

} // namespace codeq::transport
