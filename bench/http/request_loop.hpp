// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace codeq::bench {

/// A response as far as the measurement needs it. Its text is valid during the call.
struct http_response {
  unsigned status = 0;
  std::string_view body;
};

/// The client of one connection: makes one request after the other.
class http_client {
public:
  virtual ~http_client() = default;

  /// The next request, complete with its header.
  [[nodiscard]] virtual std::string next_request() = 0;

  /// Takes the response to the latest request. Errors end the measurement.
  [[nodiscard]] virtual result<void> take(const http_response& answer) = 0;

  /// True when the client makes no more requests.
  [[nodiscard]] virtual bool is_done() const { return false; }
};

struct request_loop_options {
  /// The server's port on the loopback address.
  std::uint16_t port = 0;
  std::size_t connections = 1;
  /// How long new requests are made.
  std::chrono::nanoseconds length{0};
};

struct request_loop_figures {
  std::size_t requests = 0;
  /// From the first request to the last response.
  double seconds = 0;
};

/// Runs a client on each of several keep-alive connections, all of them on this thread, so that the
/// load takes little of the processors. Returns when all requests are answered. Errors:
/// `unavailable`.
[[nodiscard]] result<request_loop_figures> run_requests(
  const request_loop_options& options,
  const std::function<std::unique_ptr<http_client>(std::size_t connection)>& make_client);

/// A POST of a JSON body.
[[nodiscard]] std::string post_request(std::string_view path, std::string_view body);

/// The value of a member that is a string without escapes; empty when the text has no such member.
[[nodiscard]] std::string_view string_member(std::string_view json, std::string_view name);

} // namespace codeq::bench
