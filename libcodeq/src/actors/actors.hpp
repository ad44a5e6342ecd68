// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/handler.hpp"
#include "codeq/result.hpp"

#include "actors/frame_message.hpp"
#include "protocol/messages.hpp"

#include <caf/typed_actor.hpp>

#include <functional>
#include <string>

/// All actor interfaces of codeq, one sentence per message. A handle converts to any narrower
/// interface, so whoever holds one sees just what it may send.
namespace codeq::actors {

// Messages of the transport.

/// Where a connection's incoming frames go: decodes one frame and sends it, typed, to the session
/// or link that owns the connection; called on the middleman's thread. Errors: `protocol_error`
/// for a frame the owner does not take; the connection is then closed.
using frame_sink = std::function<result<void>(const protocol::wire_frame&)>;

/// Tells the owner that its connection is gone; the last message from it.
struct connection_lost {
  error reason;
};

/// Tells the owner that the connection's outgoing bytes passed the high mark, or are below the low
/// mark again (`limits::outgoing_bytes_high`, `_low`).
struct outgoing_pressure {
  bool high = false;
};

/// Asks a connection to write what it holds and to close.
struct close_connection {
  error reason;
};

/// Asks a connection whether its peer still answers a ping within `limits::name_probe_timeout`.
struct probe_peer {};

/// Lets an accepted connection read past the hello: `owner` gets its end, `sink` its frames.
struct connection_accepted {
  frame_sink sink;
  caf::strong_actor_ptr owner;
};

/// The CONNECTION actor interface: a broker of the middleman, one per peer.
using connection_actor = caf::typed_actor<
  // Writes one frame; frames leave in the order sent.
  caf::reacts_to<protocol::wire_frame>,
  // Hands an authenticated connection to its session.
  caf::reacts_to<connection_accepted>,
  // Answers whether the peer is alive.
  caf::replies_to<probe_peer>::with<bool>,
  // Ends the connection after what was sent before.
  caf::reacts_to<close_connection>>;

/// A peer said hello on a new connection; nothing else was read from it.
struct peer_hello {
  protocol::hello hello;
  connection_actor connection;
  /// Address and port, for logs.
  std::string remote;
};

/// The REGISTRAR actor interface: decides who may connect.
using registrar_actor = caf::typed_actor<
  // Answers the connection with `connection_accepted` or a `Refused` frame and `close_connection`.
  caf::reacts_to<peer_hello>>;

/// A link's connection is established and said hello; frames may be sent to `connection`.
struct link_up {
  /// Which of the owner's links, as given when it was spawned.
  std::size_t link = 0;
  connection_actor connection;
  protocol::hello_ack ack;
};

/// A link lost its connection, or could not make one; it dials again by itself unless `final`.
struct link_down {
  std::size_t link = 0;
  error reason;
  /// The coordinator refused this node for good (unauthorized, superseded, ...).
  bool final = false;
};

/// Ends a link: sends `goodbye` when connected, closes, and does not dial again.
struct close_link {
  error reason;
};

/// The LINK actor interface: keeps one connection to one coordinator; detached.
using link_actor = caf::typed_actor<
  // Says goodbye and ends.
  caf::reacts_to<close_link>>;

} // namespace codeq::actors

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::actors::connection_lost)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::actors::outgoing_pressure)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::actors::close_connection)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::actors::probe_peer)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::actors::connection_accepted)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::actors::peer_hello)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::actors::link_up)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::actors::link_down)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::actors::close_link)
