// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/actor_handler.hpp"
#include "codeq/result.hpp"

#include "actors/frame_message.hpp"
#include "base/tuning.hpp"
#include "protocol/messages.hpp"

#include <caf/typed_actor.hpp>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

/// The interfaces of codeq's transport and worker actors, with one sentence per message. A handle
/// converts to any narrower interface, so that its holder can send only the messages of that
/// interface.
namespace codeq::actors {

// Messages of the transport.

/// Receives a connection's incoming frames: decodes one frame and sends it, typed, to the session
/// or link that owns the connection. Called on the middleman's thread. Errors: `protocol_error` for
/// a frame that the owner does not accept; the connection is then closed.
using frame_sink = std::function<result<void>(const protocol::wire_frame&)>;

/// Notifies the owner that its connection has ended; the last message from it.
struct connection_lost {
  error reason;
};

/// Notifies the owner that the connection's outgoing bytes have risen above the high mark, or
/// fallen below the low mark again (`tuning::outgoing_bytes_high`, `_low`).
struct outgoing_pressure {
  bool high = false;
};

/// Asks a connection to write its buffered frames and to close.
struct close_connection {
  error reason;
  /// Closes without waiting until the peer has read them.
  bool at_once = false;
  /// The sender has logged the reason, so that the connection need not.
  bool is_logged = false;
};

/// Asks a connection whether its peer still answers a ping within `tuning::name_probe_timeout`.
struct probe_peer {};

/// The side of a connection that its owner writes to by plain calls instead of messages. Used on
/// the thread of the sockets only.
class frame_outlet {
public:
  virtual ~frame_outlet() = default;

  /// Adds a frame behind those written before.
  virtual void write(const protocol::wire_frame& frame) = 0;

  /// Sends the frames that were written, as far as the socket takes them; the rest leaves later.
  virtual void flush() = 0;
};

/// Progress of a connection owner's frames. Written by the connection, read on any thread.
struct outgoing_progress {
  /// Bytes that the socket has accepted, frame headers included.
  std::atomic<std::uint64_t> written{0};
  /// Not null while the owner may write by plain calls: from the acceptance of the connection until
  /// it closes, without TLS. Used on the thread of the sockets only.
  frame_outlet* outlet = nullptr;
};

/// Lets an accepted connection read beyond the hello: `owner` is notified of its end, `sink` gets
/// its frames, and `progress` counts the frames sent through it from now on.
struct connection_accepted {
  frame_sink sink;
  caf::strong_actor_ptr owner;
  std::shared_ptr<outgoing_progress> progress;
  /// Called after the sink has got all frames of a read; may be empty.
  std::function<void()> read_done{};
  /// The maximum size of a frame that the peer sends, in bytes.
  std::size_t frame_bytes_max = tuning::frame_bytes_max;
};

/// The CONNECTION actor interface: a broker of the middleman, one per peer.
using connection_actor = caf::typed_actor<
  // Writes one frame; frames leave in the order sent.
  caf::reacts_to<protocol::wire_frame>,
  // Hands an authenticated connection to its session.
  caf::reacts_to<connection_accepted>,
  // Replies whether the peer is alive.
  caf::replies_to<probe_peer>::with<bool>,
  // Closes the connection after the frames sent before.
  caf::reacts_to<close_connection>>;

/// The hello of a new connection; nothing else was read from it.
struct peer_hello {
  protocol::hello hello;
  connection_actor connection;
  /// Address and port, for logs.
  std::string remote;
};

/// The REGISTRAR actor interface: decides which peers may connect.
using registrar_actor = caf::typed_actor<
  // Replies to the connection with `connection_accepted`, or with a `Refused` frame and
  // `close_connection`.
  caf::reacts_to<peer_hello>>;

/// A link's connection was accepted; frames may be sent to `connection`.
struct link_up {
  /// Index of the link, as given when it was spawned.
  std::size_t link = 0;
  connection_actor connection;
  protocol::hello_ack ack;
};

/// A link lost its connection or could not connect; it dials again by itself, see `spawn_link`.
struct link_down {
  std::size_t link = 0;
  error reason;
  /// The coordinator refuses this node (unauthorized, superseded, ...), or its own address is
  /// malformed: waiting does not help. False for a name in use, which may become free.
  bool is_refused = false;
};

/// Ends a link: sends `goodbye` when connected, closes, and does not dial again.
struct close_link {
  error reason;
  /// `Goodbye.finished`; zero: none.
  producer_id finished{};
};

/// The LINK actor interface: keeps one connection to one coordinator; detached.
using link_actor = caf::typed_actor<
  // Sends `goodbye`, unless the reason is `disconnected`, and ends.
  caf::reacts_to<close_link>>;

// Messages of the worker.

/// A frame received over one of the dispatcher's links.
template <class S>
struct from_link {
  std::size_t link = 0;
  protocol::frame<S> message;
};

/// Passes the links to the dispatcher, in the order of their indexes.
struct links_spawned {
  std::vector<link_actor> links;
};

/// Asks the dispatcher to drain: to claim nothing more and to let handlers run for at most `limit`.
/// A second request ends the wait.
struct drain_request {
  duration limit{0};
};

/// Tasks that a batch function handles together, and their outcomes in the same order.
struct batch_attempt {
  std::vector<task> tasks;
};

struct batch_outcome {
  std::vector<outcome> answers;
};

/// Sent by the dispatcher to itself: send the messages gathered in this turn.
struct dispatcher_flush {};

/// Handlers have reported progress.
struct attempt_news {};

/// The wake-up that the dispatcher requested under that number is due.
struct wake_dispatcher {
  std::uint64_t number = 0;
};

/// Changes the dispatcher's queues and slots while it runs.
struct reconfigure_worker {
  std::vector<handler_registry::entry> handlers;
  std::size_t slots = 0;
  std::size_t prefetch = 0;
};

/// The state of a worker, for those who monitor it.
struct worker_health {
  /// Prometheus' text.
  std::string metrics;
  std::size_t links = 0;
  std::size_t links_up = 0;
  bool is_draining = false;
};

/// Asks the dispatcher for the worker's state; `answer` is called on its thread.
struct ask_health {
  std::function<void(const worker_health&)> answer;
};

/// The DISPATCHER actor interface: owns a worker's slots, leases and reports. It runs on the thread
/// of the sockets, so that no handler can delay it.
using dispatcher_actor = caf::typed_actor<
  // Starts or queues the tasks of a batch.
  caf::reacts_to<from_link<schema::TaskBatch>>,
  // Accepts the outcome of the sending handler's attempt.
  caf::reacts_to<outcome>,
  // The same for all attempts of a batch.
  caf::reacts_to<batch_outcome>,
  // Drops the reports that were answered.
  caf::reacts_to<from_link<schema::ResultReply>>,
  // Cancels the handlers of lost leases; their outcomes are not reported.
  caf::reacts_to<from_link<schema::LeasesLost>>,
  // Cancels the handler of a cancelled task.
  caf::reacts_to<from_link<schema::CancelNotice>>,
  // Claims again once every shard of the link has replied.
  caf::reacts_to<from_link<schema::ResumeReply>>,
  // Notifies handlers that their checkpoints are durable.
  caf::reacts_to<from_link<schema::CheckpointsSaved>>,
  // Follows the places of a cluster's shards.
  caf::reacts_to<from_link<schema::ClusterMap>>,
  // Moves credits to where tasks wait.
  caf::reacts_to<from_link<schema::CreditNews>>,
  // Counts leases from their heartbeats that are answered.
  caf::reacts_to<from_link<schema::HeartbeatReply>>,
  // Resends reports and sends the held leases to every shard.
  caf::reacts_to<link_up>,
  // Handlers go on running; their leases stay valid until they expire.
  caf::reacts_to<link_down>,
  // Stores the links, which it closes at its end.
  caf::reacts_to<links_spawned>,
  // Drains and ends.
  caf::reacts_to<drain_request>,
  // Sends reports and credits.
  caf::reacts_to<dispatcher_flush>,
  // Sends progress reports, at a limited rate.
  caf::reacts_to<attempt_news>,
  // Sends heartbeats, ends idle keyed handlers, continues a drain.
  caf::reacts_to<wake_dispatcher>,
  // Serves other queues, with other slots, from now on.
  caf::reacts_to<reconfigure_worker>,
  // Tells the worker's state.
  caf::reacts_to<ask_health>>;

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
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::actors::ask_health)
