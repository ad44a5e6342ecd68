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
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace codeq::transport {

/// A timer of a connection has fired.
struct connection_deadline {
  enum class what { handshake, liveness, probe, linger };
  what kind = what::liveness;
  /// Number of the probe.
  std::uint64_t number = 0;
};

/// Notifies a link that the connection it dialled has ended.
struct dialled_lost {
  /// Number of the link's attempt.
  std::uint64_t attempt = 0;
  error reason;
  /// True when `link_up` had been sent.
  bool was_up = false;
  /// True when the coordinator refused the connection, by a `Refused` frame or for lack of a common
  /// protocol version.
  bool refused = false;
};

/// Parameters of a dialled connection.
struct dialled_options {
  connection_settings settings;
  protocol::hello hello;
  std::size_t index = 0;
  std::uint64_t attempt = 0;
  actors::frame_sink sink;
  /// Null: without TLS.
  std::shared_ptr<const security::tls_context> tls;
  /// Host that the peer's certificate must name.
  std::string host;
  /// Receives `link_up`.
  caf::strong_actor_ptr owner;
  /// Receives `dialled_lost`. A weak reference, so that a handle to a connection that ended long
  /// ago cannot hold the link and its thread.
  caf::actor_addr link;
};

/// The messages of a connection inside the transport.
using connection_broker = actors::connection_actor::extend<
  // Received bytes: a header or a body.
  caf::reacts_to<caf::io::new_data_msg>,
  // Bytes were sent.
  caf::reacts_to<caf::io::data_transferred_msg>,
  // The peer closed the connection, or the socket failed.
  caf::reacts_to<caf::io::connection_closed_msg>,
  // A timer has fired.
  caf::reacts_to<connection_deadline>>;

class connection_state;
using connection_self = connection_broker::stateful_broker_pointer<connection_state>;

/// The state of one connection's broker; runs on the middleman's thread. Owns the socket through
/// the broker, and holds its owner's sink until it closes. Until the peer is accepted, it reads a
/// header of 8 bytes and then exactly the announced body. After that it reads several small frames
/// at once and splits them; a large body is read into a buffer of its own. It allocates nothing for
/// a length that was not checked.
class connection_state : public actors::frame_outlet {
public:
  static constexpr const char* name = "connection";

  ~connection_state() override { close_outlet(); }

  /// Starts with a connection that a peer dialled and waits for its hello. `tls` null: without TLS.
  void start_accepted(
    connection_self self,
    caf::io::connection_handle handle,
    const connection_settings& settings,
    const std::shared_ptr<const security::tls_context>& tls);

  /// Sets the registrar, which decides on the hello, and the place that the connection holds until
  /// it ends. Closes the connection when the acceptor has ended meanwhile.
  void await_hello(actors::registrar_actor registrar, std::shared_ptr<admission_ticket> ticket);

  /// Starts with a connection that a link dialled and sends the hello.
  void start_dialled(
    connection_self self, caf::io::connection_handle handle, const dialled_options& options);

  void receive(caf::io::new_data_msg& data);
  void sent(const caf::io::data_transferred_msg& progress);
  void peer_closed();

  /// Writes and sends a frame of the owner.
  void write_for_owner(const protocol::wire_frame& frame) {
    write(frame);
    flush();
  }

  // For the owner, which may call them while another actor runs. So they do not end the connection,
  // but have a message do so.

  void write(const protocol::wire_frame& frame) override;
  void flush() override;

  void accept(const actors::connection_accepted& accepted);
  caf::result<bool> probe();
  void fire(const connection_deadline& deadline);

  /// Closes the connection after its buffered bytes were sent, or after the linger time.
  void close(error reason);

  /// Closes the connection at once.
  void abandon(error reason);

  /// Closes the connection in the way that was asked for.
  void close_as_asked(const actors::close_connection& request);

private:
  static constexpr std::size_t read_bytes_min = 1u << 10;

  /// Transitions: awaiting_hello -> awaiting_registrar -> open, or awaiting_answer -> open; each
  /// phase can change to closing.
  enum class phase { awaiting_hello, awaiting_registrar, awaiting_answer, open, closing };

  struct open_probe {
    std::uint64_t number;
    caf::typed_response_promise<bool> promise;
  };

  /// Writes and sends a frame of the connection itself.
  void write_own(const protocol::wire_frame& frame);

  /// The owner may not write by plain calls any more.
  void close_outlet();

  /// Number of bytes that the socket has not accepted.
  [[nodiscard]] std::size_t unsent() const { return out_.size() + buffered_; }

  void note_progress();
  void start(
    connection_self self, caf::io::connection_handle handle, const connection_settings& settings);
  [[nodiscard]] std::size_t body_bytes_max() const;
  /// Size of the next read.
  [[nodiscard]] caf::io::receive_policy::config next_read() const;
  /// The sink has got all frames of a read.
  void end_read() const;
  /// Adapts the size of reads to the number of bytes that one returned.
  void adapt_reads(std::size_t count);
  /// Splits received bytes into headers and bodies and handles those that are complete. A large
  /// body takes the buffer over; otherwise it is kept for the next read.
  void take_received(std::vector<char>& received);
  void take_header(std::string_view header);
  /// Handles a header or a body, whichever is due.
  void take_part(std::vector<char> part);
  void take(const protocol::wire_frame& frame);
  /// Sets the deadline of an accepted connection that is not authenticated. False when the acceptor
  /// has ended: then the connection is closed.
  [[nodiscard]] bool await_progress();
  void take_hello(const protocol::wire_frame& frame);
  void take_answer(const protocol::wire_frame& frame);
  void take_open(const protocol::wire_frame& frame);
  void take_refused(const protocol::wire_frame& frame);
  void answer_ping(const protocol::wire_frame& frame);
  void open();
  void check_liveness();
  void check_outgoing();
  /// Sends the peer the reason, then closes.
  void refuse(error reason);
  void enter_closing(error reason);
  void log_closing(const error& reason) const;
  void finish_sending();
  void tell_owner();
  void answer_probes(bool alive);

  // With TLS.
  void start_secured(std::unique_ptr<tls_stream> stream);
  void receive_secured(std::string_view received);
  /// Continues the handshake; true when it is done.
  [[nodiscard]] bool shake_hands();
  /// Handles decrypted bytes, as far as they may be read now.
  void take_secured();
  /// Writes the stream's pending output to the socket.
  void flush_secured();
  void write_secured(const protocol::wire_frame& frame);
  void encrypt(std::string_view text);

  void arm(connection_deadline deadline, duration after);
  void send_ping();
  [[nodiscard]] int fd() const;

  connection_self self_ = nullptr;
  caf::io::connection_handle handle_;
  connection_settings settings_;
  std::size_t frame_bytes_max_ = tuning::frame_bytes_max;
  std::string remote_;
  phase phase_ = phase::awaiting_hello;

  // Used by accepted connections.
  actors::registrar_actor registrar_;
  std::shared_ptr<admission_ticket> ticket_;
  caf::strong_actor_ptr owner_;

  // Used by dialled connections.
  std::optional<dialled_options> dialled_;
  bool was_up_ = false;
  bool refused_ = false;

  // Incoming.
  actors::frame_sink sink_;
  std::function<void()> read_done_;
  /// Size of reads while frames are small.
  std::size_t read_bytes_ = read_bytes_min;
  std::optional<frame_header> header_;
  /// Size of the header or body that is due.
  std::size_t part_bytes_ = protocol::frame_header_bytes;
  std::chrono::steady_clock::time_point last_received_;
  std::vector<open_probe> probes_;
  std::uint64_t last_number_ = 0;

  // Outgoing.
  /// Null until an accepted connection has an owner.
  std::shared_ptr<actors::outgoing_progress> progress_;
  /// Bytes of the owner's frames.
  std::uint64_t taken_ = 0;
  /// Frames that were written since the last `flush`.
  std::vector<char> out_;
  /// Bytes that the middleman sends when the socket accepts more.
  std::size_t buffered_ = 0;
  bool pressure_ = false;
  /// The peer reads too slowly, and the connection is about to be closed for it.
  bool is_overfull_ = false;

  /// The received beginning of the header or body that is due. With TLS the vector has its full
  /// size, of which `part_filled_` bytes are decrypted.
  std::vector<char> part_;
  std::size_t part_filled_ = 0;

  // Null without TLS.
  std::unique_ptr<tls_stream> tls_;
  /// Bytes received before the peer was accepted.
  std::size_t stranger_bytes_ = 0;

  // Closing.
  error reason_;
  /// Another actor has logged the reason.
  bool is_reason_logged_ = false;
  bool sending_finished_ = false;
};

} // namespace codeq::transport

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::transport::connection_deadline)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::transport::dialled_lost)
