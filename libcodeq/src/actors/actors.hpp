// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/handler.hpp"
#include "codeq/result.hpp"

#include "actors/frame_message.hpp"
#include "protocol/messages.hpp"

#include <caf/typed_actor.hpp>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

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
  /// Does not wait until the peer has read what was written.
  bool at_once = false;
};

/// Asks a connection whether its peer still answers a ping within `limits::name_probe_timeout`.
struct probe_peer {};

/// How far the frames of a connection's owner got. Written by the connection, read on any thread.
struct outgoing_progress {
  /// Bytes that the socket took, headers of frames included.
  std::atomic<std::uint64_t> written{0};
};

/// Lets an accepted connection read past the hello: `owner` gets its end, `sink` its frames.
/// `progress` counts the frames that are sent to the connection from here on.
struct connection_accepted {
  frame_sink sink;
  caf::strong_actor_ptr owner;
  std::shared_ptr<outgoing_progress> progress;
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

// Messages of the worker.

/// A frame that came over one of the dispatcher's links.
template <class S>
struct from_link {
  std::size_t link = 0;
  protocol::frame<S> message;
};

/// Gives the dispatcher its links, by index.
struct links_spawned {
  std::vector<link_actor> links;
};

/// Asks the dispatcher to end in order: claim nothing more and let handlers run for at most
/// `limit`. A second one ends the waiting.
struct drain_request {
  duration limit{0};
};

/// Tasks that a batch function takes together, and how they ended, in their order.
struct batch_attempt {
  std::vector<task> tasks;
};

struct batch_outcome {
  std::vector<outcome> answers;
};

/// Sent by the dispatcher to itself: what was gathered in this turn has to leave.
struct dispatcher_flush {};

/// Handlers said how far they are.
struct attempt_news {};

/// What the dispatcher asked for under that number is due.
struct wake_dispatcher {
  std::uint64_t number = 0;
};

/// Changes what the dispatcher works on and how much of it, while it runs.
struct reconfigure_worker {
  std::vector<handler_registry::entry> handlers;
  std::size_t slots = 0;
  std::size_t prefetch = 0;
};

/// The DISPATCHER actor interface: owns a worker's slots, leases and reports. It runs on the
/// thread of the sockets, so that no handler can hold it up.
using dispatcher_actor = caf::typed_actor<
  // Starts, or queues, the tasks of a batch.
  caf::reacts_to<from_link<schema::TaskBatch>>,
  // Takes how the attempt of the sending handler ended.
  caf::reacts_to<outcome>,
  // The same for all attempts of a batch.
  caf::reacts_to<batch_outcome>,
  // Forgets the reports that were decided.
  caf::reacts_to<from_link<schema::ResultReply>>,
  // Stops the handlers of leases that are gone; nothing is reported for them.
  caf::reacts_to<from_link<schema::LeasesLost>>,
  // Asks the handler of a cancelled task to stop.
  caf::reacts_to<from_link<schema::CancelNotice>>,
  // Claims again once every shard of the link has answered.
  caf::reacts_to<from_link<schema::ResumeReply>>,
  // Tells handlers that what they saved is durable.
  caf::reacts_to<from_link<schema::CheckpointsSaved>>,
  // Resends reports and names the held leases to every shard.
  caf::reacts_to<link_up>,
  // Lets handlers run on; the leases count on.
  caf::reacts_to<link_down>,
  // Learns whom to close in the end.
  caf::reacts_to<links_spawned>,
  // Ends in order.
  caf::reacts_to<drain_request>,
  // Sends reports and credits.
  caf::reacts_to<dispatcher_flush>,
  // Sends how far handlers are, not too often.
  caf::reacts_to<attempt_news>,
  // Sends beats, ends keyed handlers that have nothing to do, goes on with the drain.
  caf::reacts_to<wake_dispatcher>,
  // Works on other queues, with other slots, from here on.
  caf::reacts_to<reconfigure_worker>>;

} // namespace codeq::actors

namespace caf {

template <class S>
struct allowed_unsafe_message_type<codeq::actors::from_link<S>> : std::true_type {};

} // namespace caf

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::actors::connection_lost)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::actors::outgoing_pressure)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::actors::close_connection)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::actors::probe_peer)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::actors::connection_accepted)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::actors::peer_hello)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::actors::link_up)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::actors::link_down)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::actors::close_link)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::actors::links_spawned)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::actors::drain_request)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::actors::batch_attempt)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::actors::batch_outcome)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::actors::dispatcher_flush)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::actors::attempt_news)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::actors::wake_dispatcher)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::actors::reconfigure_worker)
