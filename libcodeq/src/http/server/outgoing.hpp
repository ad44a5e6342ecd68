// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"
#include "codeq/time.hpp"

#include "http/server/host_resolver.hpp"
#include "http/server/url.hpp"
#include "security/tls_context.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace boost::asio {

class io_context;

} // namespace boost::asio

/// Requests that go out. Redirections are not followed.
namespace codeq::http {

struct outgoing_request {
  http_url url;
  std::string method = "GET";
  std::vector<std::pair<std::string, std::string>> fields{};
  std::string body{};
  /// Of the client's side; needed for a secured URL, whose host the peer's certificate has to name.
  std::shared_ptr<const security::tls_context> tls{};
  /// For all of it, from the look-up of the host on.
  duration timeout{0};
  std::size_t answer_bytes_max = 0;
  /// Finds the addresses of the host and calls back on the thread that runs `io`; empty asks the
  /// system for one host after the other.
  std::function<void(const std::string& host, host_resolver::done_function)> resolve{};
  /// Connects to addresses of the internet only; decided by the address that is connected to, so
  /// that no name can lead elsewhere.
  bool public_only = false;
};

struct outgoing_answer {
  unsigned status = 0;
  std::string body;
};

/// Sends a request and calls `done` once, on the thread that runs `io`. Errors: `timeout`;
/// `disconnected` when there is no host, connection or answer; `unauthorized` for a certificate
/// that does not do, or an address that `public_only` forbids; `too_large`; `protocol_error`.
void send(
  boost::asio::io_context& io,
  outgoing_request request,
  std::function<void(result<outgoing_answer>)> done);

/// The same, and waits for the answer.
[[nodiscard]] result<outgoing_answer> send_and_wait(outgoing_request request);

/// True for an address (as text) that is on the internet: not of this machine, a private network, a
/// link, a group, or a block that is reserved or leads to one of them.
[[nodiscard]] bool is_public_address(const std::string& address);

} // namespace codeq::http
