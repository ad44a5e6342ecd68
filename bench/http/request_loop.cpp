// SPDX-License-Identifier: Apache-2.0
#include "http/request_loop.hpp"

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace codeq::bench {

namespace {

using steady = std::chrono::steady_clock;

/// How long a response may take.
constexpr int silence_max_ms = 30'000;

error failed(const std::string& what) {
  return {errc::unavailable, what + ": " + std::strerror(errno)};
}

/// The end of the first response in `text`; empty while it is not complete. Fills in `answer`.
std::optional<std::size_t> parse_response(std::string_view text, http_response& answer) {
  constexpr std::string_view length_field = "Content-Length: ";
  constexpr std::size_t status_at = 9;
  auto head_end = text.find("\r\n\r\n");
  if (head_end == std::string_view::npos)
    return std::nullopt;
  auto head = text.substr(0, head_end);
  std::from_chars(head.data() + status_at, head.data() + head.size(), answer.status);
  std::size_t length = 0;
  if (auto at = head.find(length_field); at != std::string_view::npos)
    std::from_chars(head.data() + at + length_field.size(), head.data() + head.size(), length);
  auto begin = head_end + 4;
  if (text.size() < begin + length)
    return std::nullopt;
  answer.body = text.substr(begin, length);
  return begin + length;
}

/// A keep-alive connection to the server.
class client_socket {
public:
  client_socket() = default;
  client_socket(client_socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  client_socket& operator=(client_socket&&) = delete;

  ~client_socket() {
    if (fd_ >= 0)
      ::close(fd_);
  }

  [[nodiscard]] result<void> connect(std::uint16_t port) {
    fd_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(fd_, reinterpret_cast<const sockaddr*>(&to), sizeof(to)) != 0)
      return failed("cannot connect");
    int yes = 1;
    ::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
    return {};
  }

  /// The socket's buffer takes a request at once, since the last one was answered.
  [[nodiscard]] result<void> send(std::string_view text) {
    while (!text.empty()) {
      auto sent = ::send(fd_, text.data(), text.size(), MSG_NOSIGNAL);
      if (sent < 0)
        return failed("cannot send");
      text.remove_prefix(static_cast<std::size_t>(sent));
    }
    return {};
  }

  /// Reads what has arrived. True when a response is complete.
  [[nodiscard]] result<bool> receive(http_response& answer) {
    std::array<char, 16384> part;
    auto count = ::recv(fd_, part.data(), part.size(), 0);
    if (count <= 0)
      return failed("the server closed a connection");
    received_.append(part.data(), static_cast<std::size_t>(count));
    return parse_response(received_, answer).has_value();
  }

  /// The response was taken. @pre it was complete
  void forget_response() { received_.clear(); }

  [[nodiscard]] int fd() const noexcept { return fd_; }

private:
  int fd_ = -1;
  std::string received_;
};

struct open_connection {
  client_socket socket;
  std::unique_ptr<http_client> client;
  bool waits = false;
};

class request_loop {
public:
  [[nodiscard]] result<void> open(
    const request_loop_options& options,
    const std::function<std::unique_ptr<http_client>(std::size_t)>& make_client) {
    for (std::size_t i = 0; i < options.connections; ++i) {
      auto& added = connections_.emplace_back();
      added.client = make_client(i);
      if (auto ok = added.socket.connect(options.port); !ok)
        return ok;
      polled_.push_back({added.socket.fd(), POLLIN, 0});
    }
    return {};
  }

  [[nodiscard]] result<request_loop_figures> run(std::chrono::nanoseconds length) {
    auto begin = steady::now();
    end_ = begin + length;
    for (auto& each : connections_)
      if (auto ok = send_next(each); !ok)
        return ok.error();
    while (waiting_ > 0)
      if (auto ok = wait_and_answer(); !ok)
        return ok.error();
    auto took = std::chrono::duration<double>(steady::now() - begin).count();
    return request_loop_figures{requests_, took};
  }

private:
  [[nodiscard]] result<void> send_next(open_connection& on) {
    on.waits = steady::now() < end_ && !on.client->is_done();
    if (!on.waits)
      return {};
    ++waiting_;
    return on.socket.send(on.client->next_request());
  }

  [[nodiscard]] result<void> wait_and_answer() {
    auto ready = ::poll(polled_.data(), polled_.size(), silence_max_ms);
    if (ready <= 0)
      return error{errc::unavailable, "the server did not answer in time"};
    for (std::size_t i = 0; i < polled_.size(); ++i)
      if (polled_[i].revents != 0)
        if (auto ok = answer(connections_[i]); !ok)
          return ok;
    return {};
  }

  [[nodiscard]] result<void> answer(open_connection& on) {
    http_response got;
    auto complete = on.socket.receive(got);
    if (!complete)
      return complete.error();
    if (!*complete)
      return {};
    --waiting_;
    ++requests_;
    auto taken = on.client->take(got);
    on.socket.forget_response();
    return taken ? send_next(on) : taken;
  }

  std::vector<open_connection> connections_;
  std::vector<pollfd> polled_;
  steady::time_point end_;
  std::size_t waiting_ = 0;
  std::size_t requests_ = 0;
};

} // namespace

result<request_loop_figures> run_requests(
  const request_loop_options& options,
  const std::function<std::unique_ptr<http_client>(std::size_t connection)>& make_client) {
  request_loop loop;
  if (auto ok = loop.open(options, make_client); !ok)
    return ok.error();
  return loop.run(options.length);
}

std::string post_request(std::string_view path, std::string_view body) {
  std::string text = "POST ";
  text += path;
  text += " HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: ";
  text += std::to_string(body.size());
  text += "\r\n\r\n";
  text += body;
  return text;
}

std::string_view string_member(std::string_view json, std::string_view name) {
  auto key = '"' + std::string(name) + "\":\"";
  auto at = json.find(key);
  if (at == std::string_view::npos)
    return {};
  auto begin = at + key.size();
  return json.substr(begin, json.find('"', begin) - begin);
}

} // namespace codeq::bench
