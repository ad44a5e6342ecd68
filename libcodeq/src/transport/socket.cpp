// SPDX-License-Identifier: Apache-2.0
#include "transport/socket.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace codeq::transport {

namespace {

using std::chrono::steady_clock;

/// Interval at which a dial checks whether it was cancelled.
constexpr duration cancel_poll{50};

struct address_list_deleter {
  void operator()(addrinfo* list) const noexcept { ::freeaddrinfo(list); }
};

using address_list = std::unique_ptr<addrinfo, address_list_deleter>;

std::string describe(const std::string& host, std::uint16_t port) {
  return "address=" + host + " port=" + std::to_string(port);
}

std::string system_message(int code) {
  return std::generic_category().message(code);
}

result<address_list> resolve(const std::string& host, std::uint16_t port, int flags) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | flags;
  addrinfo* found = nullptr;
  int status = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (status != 0)
    return error{
      errc::disconnected, "cannot resolve " + describe(host, port) + ": " + ::gai_strerror(status)};
  return address_list(found);
}

/// A look-up of a name, shared by its thread and the one that waits for it.
struct name_lookup {
  std::mutex mutex;
  std::condition_variable ended;
  std::optional<result<address_list>> found;
};

/// As `resolve`, but returns early once `cancelled` returns true. A look-up blocks while no name
/// server answers and cannot be interrupted, so it has a thread of its own, which then goes on.
result<address_list> look_up(const endpoint& peer, const std::function<bool()>& cancelled) {
  if (auto numeric = resolve(peer.host, peer.port, AI_NUMERICHOST))
    return numeric;
  auto lookup = std::make_shared<name_lookup>();
  try {
    std::thread([lookup, peer] {
      auto found = resolve(peer.host, peer.port, 0);
      std::lock_guard guard(lookup->mutex);
      lookup->found.emplace(std::move(found));
      lookup->ended.notify_one();
    }).detach();
  } catch (const std::system_error& broken) {
    return error{
      errc::disconnected,
      "cannot resolve " + describe(peer.host, peer.port) + ": " + broken.what()};
  }
  std::unique_lock guard(lookup->mutex);
  while (!lookup->ended.wait_for(guard, cancel_poll, [&] { return lookup->found.has_value(); })) {
    if (cancelled())
      return error{
        errc::disconnected,
        "cannot resolve " + describe(peer.host, peer.port) + ": " + system_message(ECANCELED)};
  }
  return std::move(*lookup->found);
}

std::int64_t address_count(const addrinfo* first) {
  std::int64_t addresses = 0;
  for (; first != nullptr; first = first->ai_next)
    ++addresses;
  return addresses;
}

socket_owner open_socket(const addrinfo& address) {
  return socket_owner(::socket(
    address.ai_family, address.ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, address.ai_protocol));
}

result<std::uint16_t> bound_port(int fd) {
  sockaddr_storage bound{};
  socklen_t length = sizeof(bound);
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&bound), &length) != 0)
    return error{errc::unavailable, system_message(errno)};
  char port[NI_MAXSERV];
  auto* name = reinterpret_cast<sockaddr*>(&bound);
  if (::getnameinfo(name, length, nullptr, 0, port, sizeof(port), NI_NUMERICSERV) != 0)
    return error{errc::unavailable, "the bound port has no number"};
  return static_cast<std::uint16_t>(std::stoul(port));
}

/// Connects the socket to the address; returns the result as an errno.
int connect_by(
  int fd,
  const addrinfo& address,
  steady_clock::time_point deadline,
  const std::function<bool()>& cancelled) {
  if (::connect(fd, address.ai_addr, address.ai_addrlen) == 0)
    return 0;
  if (errno != EINPROGRESS)
    return errno;
  for (;;) {
    auto left = std::chrono::duration_cast<duration>(deadline - steady_clock::now());
    if (left <= duration::zero())
      return ETIMEDOUT;
    if (cancelled())
      return ECANCELED;
    pollfd waiting{fd, POLLOUT, 0};
    int ready = ::poll(&waiting, 1, static_cast<int>(std::min(left, cancel_poll).count()));
    if (ready < 0 && errno != EINTR)
      return errno;
    if (ready > 0)
      break;
  }
  int status = 0;
  socklen_t length = sizeof(status);
  if (::getsockopt(fd, SOL_SOCKET, SO_ERROR, &status, &length) != 0)
    return errno;
  return status;
}

} // namespace

socket_owner& socket_owner::operator=(socket_owner&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

socket_owner::~socket_owner() {
  if (fd_ >= 0)
    ::close(fd_);
}

result<endpoint> parse_endpoint(std::string_view text) {
  auto parsed = parse_listen_address(text);
  if (parsed && parsed->port == 0)
    return error{
      errc::invalid_argument,
      "\"" + std::string(text) + "\" is not host:port with a port from 1 on"};
  return parsed;
}

result<endpoint> parse_listen_address(std::string_view text) {
  auto bad = [&] {
    return error{errc::invalid_argument, "\"" + std::string(text) + "\" is not host:port"};
  };
  auto colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0)
    return bad();
  auto host = text.substr(0, colon);
  if (host.front() == '[' && host.back() == ']' && host.size() > 2)
    host = host.substr(1, host.size() - 2);
  else if (host.find_first_of("[]:") != std::string_view::npos)
    return bad();
  auto digits = text.substr(colon + 1);
  endpoint parsed{std::string(host), 0};
  auto [end, status] = std::from_chars(digits.begin(), digits.end(), parsed.port);
  if (status != std::errc{} || end != digits.end())
    return bad();
  return parsed;
}

result<listening_socket> listen_on(const std::string& address, std::uint16_t port) {
  auto fail = [&](const std::string& why) {
    return error{errc::unavailable, "cannot listen on " + describe(address, port) + ": " + why};
  };
  if (address.empty())
    return fail("the address is empty");
  auto found = resolve(address, port, AI_PASSIVE);
  if (!found)
    return fail(found.error().context);
  const addrinfo& target = **found;
  auto socket = open_socket(target);
  if (socket.get() < 0)
    return fail(system_message(errno));
  // After a restart the port can be used again at once, even while its old connections linger.
  int on = 1;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (::bind(socket.get(), target.ai_addr, target.ai_addrlen) != 0) {
    const auto reason = errno;
    auto refused = fail(system_message(reason));
    // A port below 1024: a later attempt is refused, too.
    if (reason == EACCES)
      refused.code = errc::invalid_argument;
    return refused;
  }
  if (::listen(socket.get(), SOMAXCONN) != 0)
    return fail(system_message(errno));
  auto real_port = bound_port(socket.get());
  if (!real_port)
    return fail(real_port.error().context);
  return listening_socket{std::move(socket), *real_port};
}

result<socket_owner>
dial(const endpoint& peer, duration timeout, const std::function<bool()>& cancelled) {
  auto found = look_up(peer, cancelled);
  if (!found)
    return found.error();
  const auto deadline = steady_clock::now() + timeout;
  auto untried = address_count(found->get());
  // The errno of the first address, which the system prefers.
  int reason = 0;
  for (const addrinfo* target = found->get(); target != nullptr; target = target->ai_next) {
    // An address that drops packets must leave time for the others.
    const auto now = steady_clock::now();
    const auto until = now + (deadline - now) / untried--;
    auto socket = open_socket(*target);
    const int status =
      socket.get() < 0 ? errno : connect_by(socket.get(), *target, until, cancelled);
    if (status == 0)
      return socket;
    if (reason == 0)
      reason = status;
    if (status == ECANCELED)
      break;
  }
  auto code = reason == ETIMEDOUT ? errc::timeout : errc::disconnected;
  auto hint = reason == ECONNREFUSED ? " (is a coordinator running there?)" : "";
  return error{
    code,
    "cannot connect to " + describe(peer.host, peer.port) + ": " + system_message(reason) + hint};
}

} // namespace codeq::transport
