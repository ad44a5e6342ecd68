// SPDX-License-Identifier: Apache-2.0
#include "dashboard/open_dashboards.hpp"

#include "http/request_loop.hpp"

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace codeq::bench {

namespace {

using steady = std::chrono::steady_clock;

constexpr auto history_period = std::chrono::seconds(10);
constexpr int look_ms = 100;
constexpr std::string_view listen_request =
  "GET /v1/codeq/admin/live?topics=queues,workers HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";

/// Makes one request for the history.
class history_request final : public http_client {
public:
  explicit history_request(std::size_t& bytes) : bytes_(bytes) {}

  std::string next_request() override {
    return "GET /v1/codeq/admin/history?span=hour HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
  }

  result<void> take(const http_response& answer) override {
    is_done_ = true;
    bytes_ += answer.body.size();
    if (answer.status == 200)
      return {};
    return error{errc::unavailable, "status " + std::to_string(answer.status)};
  }

  [[nodiscard]] bool is_done() const override { return is_done_; }

private:
  std::size_t& bytes_;
  bool is_done_ = false;
};

/// A connection on which the request was sent; negative when that failed.
int connect_and_listen(std::uint16_t port) {
  int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  bool is_sent = ::connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof(to)) == 0
                 && ::send(fd, listen_request.data(), listen_request.size(), MSG_NOSIGNAL)
                      == static_cast<ssize_t>(listen_request.size());
  if (is_sent)
    return fd;
  ::close(fd);
  return -1;
}

} // namespace

result<void> open_dashboards::open(std::uint16_t port, std::size_t count) {
  port_ = port;
  for (std::size_t i = 0; i < count; ++i) {
    streams_.push_back(connect_and_listen(port));
    if (streams_.back() < 0)
      return error{errc::unavailable, "a dashboard cannot connect"};
  }
  if (count > 0)
    thread_ = std::thread([this] { run(); });
  return {};
}

open_dashboards::~open_dashboards() {
  static_cast<void>(close());
}

result<std::size_t> open_dashboards::close() {
  ends_ = true;
  if (thread_.joinable())
    thread_.join();
  for (int fd : std::exchange(streams_, {}))
    ::close(fd);
  if (has_failed_)
    return error{errc::unavailable, "a dashboard lost its stream, or a request failed"};
  return bytes_;
}

void open_dashboards::run() {
  auto due = steady::now();
  while (!ends_) {
    if (!read_events()) {
      has_failed_ = true;
      return;
    }
    if (steady::now() < due)
      continue;
    // All ask within the period, one after the other.
    due += history_period / streams_.size();
    auto asked = run_requests(
      {port_, 1, {}}, [this](std::size_t) { return std::make_unique<history_request>(bytes_); });
    has_failed_ = has_failed_ || !asked;
  }
}

bool open_dashboards::read_events() {
  std::vector<pollfd> polled;
  for (int fd : streams_)
    polled.push_back({fd, POLLIN, 0});
  ::poll(polled.data(), polled.size(), look_ms);
  std::array<char, 65536> part;
  for (const auto& one : polled) {
    if (one.revents == 0)
      continue;
    auto count = ::recv(one.fd, part.data(), part.size(), 0);
    if (count <= 0)
      return false;
    bytes_ += static_cast<std::size_t>(count);
  }
  return true;
}

} // namespace codeq::bench
