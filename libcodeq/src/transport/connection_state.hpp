// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/actors.hpp"
#include "transport/admission.hpp"
#include "transport/framing.hpp"
#include "transport/settings.hpp"
#include "transport/tls_stream.hpp"

#include <caf/io/typed_broker.hpp>
#include <caf/stateful_actor.hpp>
#include <caf/typed_response_promise.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace codeq::transport {

/// A timer of a connection fired.
struct connection_deadline {
  enum class what { handshake, liveness, probe, linger };
  what kind = what::liveness;
  /// Which probe.
  std::uint64_t number = 0;
};

/// Tells a link that a connection it dialled is gone.
struct dialled_lost {
  /// Which of the link's attempts it was.
  std::uint64_t attempt = 0;
  error reason;
  /// `link_up` had been sent.
  bool was_up = false;
  /// The coordinator said why, in a `Refused` frame, or speaks no version of ours.
  bool refused = false;
};

/// What a dialled connection starts with.
struct dialled_options {
  connection_settings settings;
  protocol::hello hello;
  std::size_t index = 0;
  std::uint64_t attempt = 0;
  actors::frame_sink sink;
  /// Null for a connection without TLS.
  std::shared_ptr<const security::tls_context> tls;
  /// Whom the peer's certificate has to name.
  std::string host;
  /// Gets `link_up`.
  caf::strong_actor_ptr owner;
  /// Gets `dialled_lost`. Not owned, so that a handle of a connection that is long gone cannot hold
  /// the link and its thread.
  caf::actor_addr link;
};

/// What a connection understands inside the transport.
using connection_broker = actors::connection_actor::extend<
  // Bytes came: a header or a body.
  caf::reacts_to<caf::io::new_data_msg>,
  // Bytes left.
  caf::reacts_to<caf::io::data_transferred_msg>,
  // The peer closed, or the socket failed.
  caf::reacts_to<caf::io::connection_closed_msg>,
  // A timer fired.
  caf::reacts_to<connection_deadline>>;

class connection_state;
using connection_self = connection_broker::stateful_broker_pointer<connection_state>;

/// The state of one connection's broker, on the middleman's thread. Owns the socket through the
/// broker; holds its owner's sink until it closes. Until the peer is let in, a header of 8 bytes is
/// read and then exactly the body that it announced. From then on several small frames are read at
/// once and cut apart; a large body is read into a buffer of its own. Nothing is allocated for a
/// length that was not checked.
class connection_state {
public:
  static constexpr const char* name = "connection";

  /// Takes a connection that a peer dialled, and waits for its hello; null `tls` is without TLS.
  void start_accepted(
    connection_self self,
    caf::io::connection_handle handle,
    const connection_settings& settings,
    const std::shared_ptr<const security::tls_context>& tls);

  /// Who decides over the hello, and the place that the connection takes until it is gone.
  void await_hello(actors::registrar_actor registrar, std::shared_ptr<admission_ticket> ticket);

  /// Takes a connection that a link dialled, and says hello.
  void start_dialled(
    connection_self self, caf::io::connection_handle handle, const dialled_options& options);

  void receive(caf::io::new_data_msg& data);
  void sent(const caf::io::data_transferred_msg& progress);
  void peer_closed();
  /// Writes a frame of the owner, and counts it.
  void write_for_owner(const protocol::wire_frame& frame);
  void accept(const actors::connection_accepted& accepted);
  caf::result<bool> probe();
  void fire(const connection_deadline& deadline);

  /// Ends the connection; what was written leaves first, for at most the linger time.
  void close(error reason);

  /// Ends the connection at once.
  void abandon(error reason);

private:
  /// Edges: awaiting_hello -> awaiting_registrar -> open, or awaiting_answer -> open; each can go
  /// to closing.
  enum class phase { awaiting_hello, awaiting_registrar, awaiting_answer, open, closing };

  struct open_probe {
    std::uint64_t number;
    caf::typed_response_promise<bool> promise;
  };

  void write(const protocol::wire_frame& frame);
  void note_progress();
  void start(
    connection_self self, caf::io::connection_handle handle, const connection_settings& settings);
  [[nodiscard]] std::size_t body_bytes_max() const;
  /// How much to read next, at most.
  [[nodiscard]] caf::io::receive_policy::config next_read() const;
  /// Cuts what came into headers and bodies, and takes those that are whole. A large body takes
  /// the buffer, else it is left for the next read.
  void take_received(std::vector<char>& received);
  void take_header(std::string_view header);
  /// Takes a header or a body, whichever was to come.
  void take_part(std::vector<char> part);
  void take(const protocol::wire_frame& frame);
  void take_hello(const protocol::wire_frame& frame);
  void take_answer(const protocol::wire_frame& frame);
  void take_open(const protocol::wire_frame& frame);
  void take_refused(const protocol::wire_frame& frame);
  void answer_ping(const protocol::wire_frame& frame);
  void open();
  void check_liveness();
  void check_outgoing();
  /// Tells the peer why, then closes.
  void refuse(error reason);
  void enter_closing(error reason);
  void finish_sending();
  void tell_owner();
  void answer_probes(bool alive);

  // With TLS.
  void start_secured(std::unique_ptr<tls_stream> stream);
  void receive_secured(std::string_view received);
  /// Goes on with the handshake; true when it is done.
  [[nodiscard]] bool shake_hands();
  /// Takes what was decrypted, as far as it is to be read now.
  void take_secured();
  /// Hands what the stream has for the peer to the socket.
  void flush_secured();
  void write_secured(const protocol::wire_frame& frame);
  void encrypt(std::string_view text);

  void arm(connection_deadline deadline, duration after);
  void send_ping();
  [[nodiscard]] int fd() const;

  connection_self self_ = nullptr;
  caf::io::connection_handle handle_;
  connection_settings settings_;
  std::string remote_;
  phase phase_ = phase::awaiting_hello;

  // Of an accepted connection.
  actors::registrar_actor registrar_;
  std::shared_ptr<admission_ticket> ticket_;
  caf::strong_actor_ptr owner_;

  // Of a dialled connection.
  std::optional<dialled_options> dialled_;
  bool was_up_ = false;
  bool refused_ = false;

  // Incoming.
  actors::frame_sink sink_;
  std::optional<frame_header> header_;
  /// Bytes of the header or body that is to come.
  std::size_t part_bytes_ = protocol::frame_header_bytes;
  std::chrono::steady_clock::time_point last_received_;
  std::vector<open_probe> probes_;
  std::uint64_t last_number_ = 0;

  // Outgoing.
  /// Null until an accepted connection is handed over.
  std::shared_ptr<actors::outgoing_progress> progress_;
  /// Bytes of the owner's frames.
  std::uint64_t taken_ = 0;
  std::size_t buffered_ = 0;
  bool pressure_ = false;

  /// As much as came of the part that is to come; with TLS it has its whole size already, and so
  /// many bytes were decrypted.
  std::vector<char> part_;
  std::size_t part_filled_ = 0;

  // With TLS; null without.
  std::unique_ptr<tls_stream> tls_;
  /// Received before the peer was let in.
  std::size_t stranger_bytes_ = 0;

  // Closing.
  error reason_;
  bool sending_finished_ = false;
};

} // namespace codeq::transport

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::transport::connection_deadline)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::transport::dialled_lost)
