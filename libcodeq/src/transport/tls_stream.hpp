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

/// One side of a TLS connection without a socket: bytes of the network go in and come out, and so
/// do bytes of the frames. Used from one thread. Holds at most what was put in and not read yet,
/// and one record.
class tls_stream {
public:
  /// The side that was dialled.
  [[nodiscard]] static std::unique_ptr<tls_stream> accept(const security::tls_context& context);

  /// The side that dialled `host`, a name or an address, which the peer's certificate has to name.
  /// Null when there is no memory for it or `host` cannot be a name.
  [[nodiscard]] static std::unique_ptr<tls_stream>
  connect(const security::tls_context& context, const std::string& host);

  ~tls_stream();
  tls_stream(const tls_stream&) = delete;
  tls_stream& operator=(const tls_stream&) = delete;

  /// Takes bytes that the peer sent.
  void put_received(std::string_view received);

  /// Goes on with the handshake; true when it is done. What there is to send, also after an error,
  /// is for `take_to_send`. Errors: `unauthorized` for a certificate that does not do, else
  /// `protocol_error`.
  [[nodiscard]] result<bool> shake_hands();

  [[nodiscard]] bool is_established() const noexcept { return established_; }

  /// Reads up to `size` bytes of frames; 0 when more has to be received first. Errors:
  /// `disconnected` when the peer ended its side, `protocol_error`. @pre is_established()
  [[nodiscard]] result<std::size_t> read(char* to, std::size_t size);

  /// Appends `frame` to `out` as the network is to get it; before the handshake is done it waits
  /// for that. Errors: `protocol_error`.
  [[nodiscard]] result<void> write(std::string_view frame, std::vector<char>& out);

  /// Says that nothing more will be written.
  void end_writing();

  /// Appends what the network is to get to `out`.
  void take_to_send(std::vector<char>& out);

private:
  explicit tls_stream(ssl_st* native);

  [[nodiscard]] error fault(const char* what);

  ssl_st* native_;
  bool established_ = false;
  /// What was written before the handshake was done.
  std::string waiting_;
};

} // namespace codeq::transport
