// SPDX-License-Identifier: Apache-2.0
#include "support/tcp_proxy.hpp"

#include <array>
#include <stdexcept>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace codeq::test {

namespace {

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  return address;
}

bool write_all(int to, const char* bytes, std::size_t size) {
  while (size > 0) {
    const auto written = ::send(to, bytes, size, MSG_NOSIGNAL);
    if (written <= 0)
      return false;
    bytes += written;
    size -= static_cast<std::size_t>(written);
  }
  return true;
}

} // namespace

tcp_proxy::tcp_proxy(std::uint16_t target)
  : target_(target), listener_(::socket(AF_INET, SOCK_STREAM, 0)) {
  auto address = loopback(0);
  socklen_t size = sizeof address;
  auto* plain = reinterpret_cast<sockaddr*>(&address);
  if (::bind(listener_, plain, size) != 0 || ::listen(listener_, 64) != 0
      || ::getsockname(listener_, plain, &size) != 0)
    throw std::runtime_error("the proxy cannot listen");
  port_ = ntohs(address.sin_port);
  acceptor_ = std::thread([this] { accept_all(); });
}

tcp_proxy::~tcp_proxy() {
  ::shutdown(listener_, SHUT_RDWR);
  acceptor_.join();
  cut();
  for (auto& one : links_) {
    one.thread.join();
    ::close(one.client);
    ::close(one.server);
  }
  ::close(listener_);
}

void tcp_proxy::accept_all() {
  while (true) {
    const int client = ::accept(listener_, nullptr, nullptr);
    if (client < 0)
      return;
    const int server = ::socket(AF_INET, SOCK_STREAM, 0);
    auto address = loopback(target_);
    auto* plain = reinterpret_cast<sockaddr*>(&address);
    if (is_closed_ || ::connect(server, plain, sizeof address) != 0) {
      ::close(client);
      ::close(server);
      continue;
    }
    std::lock_guard guard(mutex_);
    links_.push_back({client, server, {}});
    links_.back().thread = std::thread([this, client, server] { carry(client, server); });
  }
}

void tcp_proxy::carry(int client, int server) {
  std::array<pollfd, 2> ends{{{client, POLLIN, 0}, {server, POLLIN, 0}}};
  std::array<char, 4096> bytes{};
  bool is_good = true;
  while (is_good && ::poll(ends.data(), ends.size(), -1) > 0)
    for (auto& from : ends) {
      if (from.revents == 0)
        continue;
      const auto is_answer = from.fd == server;
      const auto size = ::recv(from.fd, bytes.data(), bytes.size(), 0);
      is_good = is_good && size > 0;
      const auto is_lost = is_answer && is_losing_;
      if (size > 0 && !is_lost)
        is_good = write_all(is_answer ? client : server, bytes.data(), static_cast<size_t>(size));
    }
  ::shutdown(client, SHUT_RDWR);
  ::shutdown(server, SHUT_RDWR);
}

void tcp_proxy::cut() {
  std::lock_guard guard(mutex_);
  for (auto& one : links_) {
    ::shutdown(one.client, SHUT_RDWR);
    ::shutdown(one.server, SHUT_RDWR);
  }
}

} // namespace codeq::test
