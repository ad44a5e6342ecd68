// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"

#include "security/tls_context.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

struct ssl_st;

namespace codeq::transport {

/// One side of a TLS connection without a socket. Network bytes are put in and taken out, and so
/// are the bytes of frames. Used from one thread. Buffers at most the unread input and one record.
class tls_stream {
public:
  /// The side that accepted the connection.
  [[nodiscard]] static std::unique_ptr<tls_stream> accept(const security::tls_context& context);

  /// The side that dialled `host`, a name or an address, which the peer's certificate must name.
  /// Null when out of memory or when `host` cannot be a name.
  [[nodiscard]] static std::unique_ptr<tls_stream>
  connect(const security::tls_context& context, const std::string& host);

  ~tls_stream();
  tls_stream(const tls_stream&) = delete;
  tls_stream& operator=(const tls_stream&) = delete;

  /// Adds bytes received from the peer.
  void put_received(std::string_view received);

  /// Continues the handshake; true when it is done. Afterwards, also after an error, call
  /// `take_to_send`. Errors: `unauthorized` for a certificate that is not accepted, otherwise
  /// `protocol_error`.
  [[nodiscard]] result<bool> shake_hands();

  [[nodiscard]] bool is_established() const noexcept { return established_; }

  /// Reads up to `size` decrypted bytes; 0 when more must be received first. Errors: `disconnected`
  /// when the peer has ended its side, `protocol_error`. @pre is_established()
  [[nodiscard]] result<std::size_t> read(char* to, std::size_t size);

  /// Encrypts `frame` and appends the result to `out`; before the handshake is done, the frame is
  /// kept until then. Errors: `protocol_error`.
  [[nodiscard]] result<void> write(std::string_view frame, std::vector<char>& out);

  /// Declares that nothing more will be written.
  void end_writing();

  /// Appends the bytes to be sent to `out`.
  void take_to_send(std::vector<char>& out);

private:
  explicit tls_stream(ssl_st* native);

  [[nodiscard]] error fault(const char* what);

  ssl_st* native_;
  bool established_ = false;
  /// Frames written before the handshake was done.
  std::string waiting_;
};

} // namespace codeq::transport
