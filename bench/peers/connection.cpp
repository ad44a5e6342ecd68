// SPDX-License-Identifier: Apache-2.0
#include "peers/connection.hpp"

#include <cerrno>
#include <cstring>
#include <stdexcept>

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <unistd.h>

namespace codeq::bench {

namespace {

constexpr std::size_t receive_bytes = 64u << 10;
constexpr std::string_view line_end = "\r\n";

[[noreturn]] void fail(const std::string& what) {
  throw std::runtime_error(what + ": " + std::strerror(errno));
}

} // namespace

connection::connection(std::uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    fail("connect");
  int on = 1;
  ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

connection::~connection() {
  ::close(socket_);
}

void connection::write(std::string_view text) {
  while (!text.empty()) {
    auto written = ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL);
    if (written < 0)
      fail("send");
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

void connection::receive() {
  if (begin_ > receive_bytes) {
    buffer_.erase(0, begin_);
    begin_ = 0;
  }
  auto filled = buffer_.size();
  buffer_.resize(filled + receive_bytes);
  auto received = ::recv(socket_, buffer_.data() + filled, receive_bytes, 0);
  buffer_.resize(filled + static_cast<std::size_t>(received > 0 ? received : 0));
  if (received < 0)
    fail("recv");
  if (received == 0)
    throw std::runtime_error("the server closed the connection");
}

std::string_view connection::read_line() {
  auto end = buffer_.find(line_end, begin_);
  while (end == std::string::npos) {
    receive();
    end = buffer_.find(line_end, begin_);
  }
  auto line = std::string_view(buffer_).substr(begin_, end - begin_);
  begin_ = end + line_end.size();
  return line;
}

std::string_view connection::read(std::size_t count) {
  while (buffer_.size() - begin_ < count)
    receive();
  auto bytes = std::string_view(buffer_).substr(begin_, count);
  begin_ += count;
  return bytes;
}

} // namespace codeq::bench
