// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <utility>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <openssl/types.h>

/// Only files that read and write sockets with Boost.Beast include this header.
namespace codeq::security {

/// A socket with or without TLS, which Boost.Beast reads and writes. Its time-outs are those of the
/// socket.
class socket_stream {
public:
  using executor_type = boost::beast::tcp_stream::executor_type;

  /// Takes ownership of an `SSL`; null is without TLS.
  socket_stream(boost::asio::ip::tcp::socket socket, ssl_st* native) : socket_(std::move(socket)) {
    if (native)
      secured_ = std::make_unique<secured_stream>(socket_, native);
  }

  socket_stream(const socket_stream&) = delete;
  socket_stream& operator=(const socket_stream&) = delete;

  [[nodiscard]] executor_type get_executor() noexcept { return socket_.get_executor(); }

  /// The stream below TLS.
  [[nodiscard]] boost::beast::tcp_stream& lowest() noexcept { return socket_; }

  [[nodiscard]] bool is_secured() const noexcept { return secured_ != nullptr; }

  // The handshakes of the server and the client. @pre is_secured()

  template <class Handler>
  void async_accept(Handler&& done) {
    secured_->async_handshake(boost::asio::ssl::stream_base::server, std::forward<Handler>(done));
  }

  template <class Handler>
  void async_connect(Handler&& done) {
    secured_->async_handshake(boost::asio::ssl::stream_base::client, std::forward<Handler>(done));
  }

  /// Sends TLS's close_notify: nothing more is written. @pre is_secured()
  template <class Handler>
  void async_end(Handler&& done) {
    secured_->async_shutdown(std::forward<Handler>(done));
  }

  /// Goes on without TLS, for a peer whose first bytes are none of TLS. Nothing else is under way.
  void leave_tls() noexcept { secured_.reset(); }

  template <class Buffers, class Handler>
  void async_read_some(const Buffers& buffers, Handler&& done) {
    if (secured_)
      secured_->async_read_some(buffers, std::forward<Handler>(done));
    else
      socket_.async_read_some(buffers, std::forward<Handler>(done));
  }

  template <class Buffers, class Handler>
  void async_write_some(const Buffers& buffers, Handler&& done) {
    if (secured_)
      secured_->async_write_some(buffers, std::forward<Handler>(done));
    else
      socket_.async_write_some(buffers, std::forward<Handler>(done));
  }

private:
  using secured_stream = boost::asio::ssl::stream<boost::beast::tcp_stream&>;

  boost::beast::tcp_stream socket_;
  std::unique_ptr<secured_stream> secured_;
};

} // namespace codeq::security
