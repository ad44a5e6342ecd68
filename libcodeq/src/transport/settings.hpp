// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/tuning.hpp"

namespace codeq::transport {

/// Limits of a connection. The defaults are those of the product; tests use shorter times.
struct connection_settings {
  /// Timeout of the handshake, separately for the hello and for its answer.
  duration hello_timeout = tuning::hello_timeout;
  /// A silent peer is sent a ping after this time.
  duration ping_interval = tuning::ping_interval;
  /// A silent peer is disconnected after this time.
  duration silent_peer_max = tuning::silent_peer_max;
  /// Timeout of a probe.
  duration probe_timeout = tuning::name_probe_timeout;
  /// How long a closing connection waits for its bytes to be sent and for the peer to close.
  duration linger = tuning::connection_linger;
  /// Above this number of buffered bytes the owner of an accepted connection is told to pause; at
  /// twice as many the peer is disconnected.
  std::size_t outgoing_bytes_high = tuning::outgoing_bytes_high;
  /// Below this number of buffered bytes the owner is told to resume.
  std::size_t outgoing_bytes_low = tuning::outgoing_bytes_low;
};

} // namespace codeq::transport
