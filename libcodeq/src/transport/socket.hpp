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

  /// Passes ownership of the socket to the caller.
  [[nodiscard]] int release() noexcept { return std::exchange(fd_, -1); }

private:
  int fd_;
};

struct endpoint {
  /// A name or an address; an IPv6 address without its brackets.
  std::string host;
  std::uint16_t port = 0;
};

/// Parses `host:port` or `[ipv6]:port`. Errors: `invalid_argument`.
[[nodiscard]] result<endpoint> parse_endpoint(std::string_view text);

/// As `parse_endpoint`; port 0 lets the system choose. Errors: `invalid_argument`.
[[nodiscard]] result<endpoint> parse_listen_address(std::string_view text);

struct listening_socket {
  socket_owner socket;
  std::uint16_t port = 0;
};

/// Listens on exactly that address; with port 0 the system chooses one. Errors:
/// `invalid_argument` without the right to that port; `unavailable`.
[[nodiscard]] result<listening_socket> listen_on(const std::string& address, std::uint16_t port);

/// Connects; tries every address of a name, each for an equal share of the time that is left.
/// Blocks for at most `timeout`, plus the time of the name look-up. Returns early once `cancelled`
/// returns true; that is checked every 50 ms, also during the look-up. The socket is non-blocking.
/// Errors: `disconnected`, `timeout`.
[[nodiscard]] result<socket_owner>
dial(const endpoint& peer, duration timeout, const std::function<bool()>& cancelled);

} // namespace codeq::transport
