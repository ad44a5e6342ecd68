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
#include <string_view>
#include <utility>
#include <vector>

namespace boost::asio {

class io_context;

} // namespace boost::asio

/// A request to another server. Redirections are not followed.
namespace codeq::http {

struct outgoing_request {
  http_url url;
  std::string method = "GET";
  std::vector<std::pair<std::string, std::string>> fields{};
  std::string body{};
  /// The client's TLS context. A secured URL needs it; the peer's certificate has to name the host.
  std::shared_ptr<const security::tls_context> tls{};
  /// The time limit for the whole request, including the look-up of the host.
  duration timeout{0};
  /// 0: the answer's body is not read.
  std::size_t answer_bytes_max = 0;
  /// Finds the addresses of the host, and calls back on the thread that runs `io`. When it is
  /// empty, the system is asked for one host after the other.
  std::function<void(const std::string& host, host_resolver::done_function)> resolve{};
  /// Connects only to addresses of the internet. The check applies to the address that the socket
  /// connects to, so that no host name can lead elsewhere.
  bool public_only = false;
};

struct outgoing_answer {
  unsigned status = 0;
  std::string body{};
  /// Names and values of the header's fields.
  std::vector<std::pair<std::string, std::string>> fields{};
};

/// How the words of an error begin when no connection came about.
inline constexpr std::string_view cannot_connect = "cannot connect: ";

/// Sends a request and calls `done` once, on the thread that runs `io`. Errors: `timeout`;
/// `disconnected` when there is no host, connection or answer; `unauthorized` for an invalid
/// certificate or an address that `public_only` forbids; `too_large`; `protocol_error`.
void send(
  boost::asio::io_context& io,
  outgoing_request request,
  std::function<void(result<outgoing_answer>)> done);

/// Sends a request and waits for the answer.
[[nodiscard]] result<outgoing_answer> send_and_wait(outgoing_request request);

/// True for an address (as text) that is on the internet: it is not a loopback, private, link-local
/// or multicast address, and not in a block that is reserved or leads to such an address.
[[nodiscard]] bool is_public_address(const std::string& address);

} // namespace codeq::http
