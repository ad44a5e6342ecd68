// SPDX-License-Identifier: Apache-2.0
#include "http/server/host_resolver.hpp"

#include "http/server/flight_queue.hpp"
#include "http/server/gateway_limits.hpp"

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <netdb.h>
#include <sys/socket.h>

namespace codeq::http {

namespace {

using std::chrono::steady_clock;

std::string text_of(const sockaddr& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const void* bytes = nullptr;
  if (address.sa_family == AF_INET)
    bytes = &reinterpret_cast<const sockaddr_in&>(address).sin_addr;
  else if (address.sa_family == AF_INET6)
    bytes = &reinterpret_cast<const sockaddr_in6&>(address).sin6_addr;
  if (!bytes || !::inet_ntop(address.sa_family, bytes, text.data(), text.size()))
    return {};
  return text.data();
}

} // namespace

result<host_addresses> look_up_host(const std::string& host) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (auto failure = ::getaddrinfo(host.c_str(), nullptr, &hints, &found); failure != 0)
    return error{errc::disconnected, ::gai_strerror(failure)};
  host_addresses all;
  for (const auto* one = found; one; one = one->ai_next)
    if (auto text = text_of(*one->ai_addr); !text.empty())
      all.push_back(std::move(text));
  ::freeaddrinfo(found);
  return all;
}

struct host_resolver::impl : std::enable_shared_from_this<impl> {
  /// A look-up that waits or runs.
  struct lookup {
    flight of;
    steady_clock::time_point wanted_until{};
    std::vector<done_function> waiting;
  };

  explicit impl(look_up_function f) : look_up(std::move(f)) {}

  void start_waiting();
  void run(const flight& of);
  [[nodiscard]] std::vector<done_function> end(const flight& of);

  look_up_function look_up;
  std::mutex mutex;
  flight_queue queue{limits::resolver_threads_max, 1};
  std::map<std::uint64_t, lookup> lookups;
  std::map<std::pair<std::string, std::string>, std::uint64_t> by_name;
  std::uint64_t last_number = 0;
};

void host_resolver::impl::start_waiting() {
  std::vector<std::pair<done_function, error>> refused;
  {
    std::lock_guard guard(mutex);
    while (auto next = queue.start_next()) {
      if (lookups.at(next->number).wanted_until < steady_clock::now()) {
        for (auto& done : end(*next))
          refused.emplace_back(
            std::move(done), error{errc::timeout, "too many hosts are looked up at once"});
        continue;
      }
      try {
        std::thread([self = shared_from_this(), of = *next] { self->run(of); }).detach();
      } catch (const std::system_error& broken) {
        for (auto& done : end(*next))
          refused.emplace_back(
            std::move(done),
            error{errc::overloaded, "the host cannot be looked up: " + std::string(broken.what())});
      }
    }
  }
  for (auto& [done, reason] : refused)
    done(reason);
}

void host_resolver::impl::run(const flight& of) {
  auto found = look_up(of.host);
  std::vector<done_function> waiting;
  {
    std::lock_guard guard(mutex);
    waiting = end(of);
  }
  start_waiting();
  for (auto& done : waiting)
    done(found);
}

std::vector<host_resolver::done_function> host_resolver::impl::end(const flight& of) {
  queue.end(of);
  by_name.erase({of.tenant, of.host});
  return std::move(lookups.extract(of.number).mapped().waiting);
}

host_resolver::host_resolver(look_up_function look_up)
  : impl_(std::make_shared<impl>(std::move(look_up))) {
}

host_resolver::~host_resolver() = default;

void host_resolver::resolve(const question& wanted, done_function done) {
  {
    std::lock_guard guard(impl_->mutex);
    auto [at, is_new] =
      impl_->by_name.try_emplace({wanted.tenant, wanted.host}, impl_->last_number + 1);
    auto& lookup = impl_->lookups[at->second];
    if (is_new) {
      lookup.of = {wanted.tenant, wanted.host, ++impl_->last_number};
      impl_->queue.add(lookup.of);
    }
    lookup.wanted_until = steady_clock::now() + wanted.timeout;
    lookup.waiting.push_back(std::move(done));
  }
  impl_->start_waiting();
}

} // namespace codeq::http
