// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"
#include "codeq/time.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace codeq::transport {

/// Owns a socket; closes it unless released.
class socket_owner {
public:
  explicit socket_owner(int fd) noexcept : fd_(fd) {}

  socket_owner(socket_owner&& other) noexcept : fd_(other.release()) {}

  socket_owner& operator=(socket_owner&& other) noexcept;
  ~socket_owner();

  [[nodiscard]] int get() const noexcept { return fd_; }

  /// Hands the socket to the caller.
  [[nodiscard]] int release() noexcept { return std::exchange(fd_, -1); }

private:
  int fd_;
};

struct endpoint {
  /// A name or an address, an IPv6 address without its brackets.
  std::string host;
  std::uint16_t port = 0;
};

/// Reads `host:port` or `[ipv6]:port`. Errors: `invalid_argument`.
[[nodiscard]] result<endpoint> parse_endpoint(std::string_view text);

/// As `parse_endpoint`; port 0 lets the system choose. Errors: `invalid_argument`.
[[nodiscard]] result<endpoint> parse_listen_address(std::string_view text);

struct listening_socket {
  socket_owner socket;
  std::uint16_t port = 0;
};

/// Listens on exactly that address; port 0 lets the system choose. Errors: `unavailable`.
[[nodiscard]] result<listening_socket> listen_on(const std::string& address, std::uint16_t port);

/// Connects; tries every address of a name. Blocks for at most `timeout` (looking the name up comes
/// on top) and gives up early once `cancelled` says so; that is asked every 50 ms. The socket does
/// not block. Errors: `disconnected`, `timeout`.
[[nodiscard]] result<socket_owner>
dial(const endpoint& peer, duration timeout, const std::function<bool()>& cancelled);

} // namespace codeq::transport
