// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <mutex>
#include <thread>

namespace codeq::test {

/// A port on loopback that leads to another one, and a link that can be cut, or lose answers.
class tcp_proxy {
public:
  explicit tcp_proxy(std::uint16_t target);
  ~tcp_proxy();
  tcp_proxy(const tcp_proxy&) = delete;
  tcp_proxy& operator=(const tcp_proxy&) = delete;

  [[nodiscard]] std::uint16_t port() const { return port_; }

  /// From now on requests arrive, but what the target answers is lost.
  void lose_answers(bool is_losing) { is_losing_ = is_losing; }

  /// Closes all connections.
  void cut();

  /// Closes all connections, and new ones at once while it is closed.
  void close(bool is_closed) {
    is_closed_ = is_closed;
    cut();
  }

private:
  struct link {
    int client;
    int server;
    std::thread thread;
  };

  void accept_all();
  void carry(int client, int server);

  std::uint16_t target_;
  std::uint16_t port_ = 0;
  int listener_;
  std::atomic<bool> is_losing_{false};
  std::atomic<bool> is_closed_{false};
  std::mutex mutex_;
  std::list<link> links_;
  std::thread acceptor_;
};

} // namespace codeq::test
