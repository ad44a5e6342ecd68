// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>

namespace boost::asio {

class io_context;

} // namespace boost::asio

namespace codeq::http {

/// The event loop of a server. Made before the server, so that what the server calls can run on its
/// thread, too.
class server_loop {
public:
  server_loop();
  ~server_loop();
  server_loop(const server_loop&) = delete;
  server_loop& operator=(const server_loop&) = delete;

  /// Runs an action on the server's thread, behind those that wait already. On that thread the call
  /// wakes nobody. Thread-safe.
  void post(std::function<void()> action);

  /// Runs the actions that are left, on this thread. @pre the server has stopped
  void run_rest();

  [[nodiscard]] boost::asio::io_context& io() noexcept { return *io_; }

private:
  std::unique_ptr<boost::asio::io_context> io_;
};

} // namespace codeq::http
