// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/limits.hpp"
#include "codeq/result.hpp"

#include "http/server/answer_shares.hpp"
#include "http/server/cors_policy.hpp"
#include "http/server/message.hpp"
#include "http/server/server_loop.hpp"
#include "observe/limit_meter.hpp"
#include "security/tls_context.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace codeq::http {

/// The server's counters; read on any thread.
struct server_meter {
  std::atomic<std::int64_t> connections{0};
  std::atomic<std::uint64_t> refused_connections{0};
  /// Responses by the first digit of their status, from 1 on.
  std::atomic<std::uint64_t> answers[6]{};
};

struct server_options {
  /// The address to listen on; port 0 lets the system choose.
  std::string address = "127.0.0.1";
  std::uint16_t port = 0;
  /// Takes a request on the server's thread; its exchange may be answered on any thread. Must not
  /// block.
  std::function<void(exchange_ptr)> serve;
  /// Called when the client of an unanswered request went away; the exchange must still be
  /// answered.
  std::function<void(exchange_ptr)> gone;
  /// Returns the caller of a bearer token, or null when the token is not valid. Empty: no token is
  /// valid.
  std::function<std::shared_ptr<const caller>(std::string_view bearer)> identify{};
  /// Pages that may read the answers.
  cors_policy cors{};
  /// Remote addresses share them fairly, and so do tenants.
  std::size_t connections_max = limits::http_connections_max;
  std::shared_ptr<server_meter> meter = std::make_shared<server_meter>();
  std::shared_ptr<observe::limit_meter> limit_meter = std::make_shared<observe::limit_meter>();
  /// Bounds the bodies of responses.
  std::shared_ptr<answer_shares> answers = std::make_shared<answer_shares>();
  /// The server's thread runs this loop, and nothing else does.
  std::shared_ptr<server_loop> loop = std::make_shared<server_loop>();
  /// The TLS certificates for new connections; null: without TLS.
  std::shared_ptr<security::tls_source> tls{};
};

/// An HTTP/1.1 server on a listening socket, with TLS 1.3 or without. It reads requests within the
/// limits of `codeq/limits.hpp`, one at a time per connection, and writes their responses. One
/// thread serves all connections; a request that waits for its response uses none.
class server {
public:
  /// Listens and starts the thread. Errors: `unavailable`.
  [[nodiscard]] static result<std::unique_ptr<server>> start(server_options options);

  /// Calls `stop`.
  ~server();
  server(const server&) = delete;
  server& operator=(const server&) = delete;

  [[nodiscard]] std::uint16_t port() const noexcept;

  /// Accepts no more connections, and closes each connection as soon as no request is open on it.
  void stop_accepting();

  /// Ends the thread, after `tuning::http_shutdown_max` at the latest, and closes the remaining
  /// connections.
  void stop();

private:
  struct impl;
  explicit server(std::unique_ptr<impl> state);
  std::unique_ptr<impl> impl_;
};

} // namespace codeq::http
