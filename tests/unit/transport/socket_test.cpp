// SPDX-License-Identifier: Apache-2.0
#include "transport/socket.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <semaphore>
#include <string>
#include <string_view>
#include <system_error>

#include <dlfcn.h>
#include <netdb.h>
#include <sys/socket.h>

/// Ends the look-ups of `slow.test`.
static std::binary_semaphore slow_lookup_ends{0};

/// The system's, but `two.test` has the addresses 127.0.0.1 and 127.0.0.2, in that order, and the
/// look-up of `slow.test` takes until it is ended, or 10 s.
extern "C" int
getaddrinfo(const char* node, const char* service, const addrinfo* hints, addrinfo** found) {
  using function = int (*)(const char*, const char*, const addrinfo*, addrinfo**);
  static auto real = reinterpret_cast<function>(::dlsym(RTLD_NEXT, "getaddrinfo"));
  const std::string_view name = node ? node : "";
  const bool is_numeric = hints && (hints->ai_flags & AI_NUMERICHOST) != 0;
  if (!is_numeric && name == "slow.test") {
    static_cast<void>(slow_lookup_ends.try_acquire_for(std::chrono::seconds(10)));
    return EAI_NONAME;
  }
  if (is_numeric || name != "two.test")
    return real(node, service, hints, found);
  const int status = real("127.0.0.1", service, hints, found);
  return status == 0 ? real("127.0.0.2", service, hints, &(*found)->ai_next) : status;
}

namespace codeq::transport {

namespace {

bool never() {
  return false;
}

/// A port where the system drops the packets of new connections, since no more may wait.
class silent_port {
public:
  explicit silent_port(const std::string& address, std::uint16_t port = 0)
    : listening_(listen_on(address, port)) {
    EXPECT_TRUE(listening_);
    EXPECT_EQ(::listen(listening_->socket.get(), 0), 0);
    EXPECT_TRUE(dial({address, number()}, duration(5000), never)) << "it is the one that may wait";
  }

  [[nodiscard]] std::uint16_t number() const { return listening_->port; }

private:
  result<listening_socket> listening_;
};

TEST(Endpoint, NamesAddressesAndBracketsAreRead) {
  auto name = parse_endpoint("node-1.example:7400");
  auto address = parse_endpoint("127.0.0.1:1");
  auto six = parse_endpoint("[::1]:65535");

  EXPECT_EQ(name->host, "node-1.example");
  EXPECT_EQ(name->port, 7400);
  EXPECT_EQ(address->host, "127.0.0.1");
  EXPECT_EQ(six->host, "::1");
  EXPECT_EQ(six->port, 65535);
}

TEST(Endpoint, AnythingElseIsRefused) {
  for (auto text :
       {"",
        ":",
        "host",
        "host:",
        ":7400",
        "host:0",
        "host:65536",
        "host:7x",
        "::1:7400",
        "[::1]",
        "[]:1",
        "host:-1"})
    EXPECT_EQ(parse_endpoint(text).error().code, errc::invalid_argument) << text;
}

TEST(Socket, ADialReachesAListener) {
  for (std::string address : {"127.0.0.1", "localhost"}) {
    auto listening = listen_on(address, 0);
    ASSERT_TRUE(listening) << to_string(listening.error());

    EXPECT_TRUE(dial({address, listening->port}, duration(5000), never));
  }
}

TEST(Socket, ADialToAClosedPortNamesAddressAndPort) {
  std::uint16_t port = listen_on("127.0.0.1", 0)->port;

  auto dialled = dial({"127.0.0.1", port}, duration(5000), never);

  ASSERT_FALSE(dialled);
  EXPECT_EQ(dialled.error().code, errc::disconnected);
  EXPECT_NE(dialled.error().context.find(std::to_string(port)), std::string::npos);
}

TEST(Socket, ADialReachesTheSecondAddressWhenTheFirstOneIsSilent) {
  const silent_port silent("127.0.0.1");
  auto hearing = listen_on("127.0.0.2", silent.number());
  ASSERT_TRUE(hearing) << to_string(hearing.error());

  EXPECT_TRUE(dial({"two.test", silent.number()}, duration(1000), never));
}

TEST(Socket, ADialToSilentAddressesTimesOut) {
  const silent_port first("127.0.0.1");
  const silent_port second("127.0.0.2", first.number());

  auto dialled = dial({"two.test", first.number()}, duration(200), never);

  ASSERT_FALSE(dialled);
  EXPECT_EQ(dialled.error().code, errc::timeout);
}

TEST(Socket, ADialIsCancelledWhileItsNameIsLookedUp) {
  auto dialled = dial({"slow.test", 1}, duration(5000), [] { return true; });
  slow_lookup_ends.release();

  ASSERT_FALSE(dialled);
  EXPECT_EQ(
    dialled.error().context,
    "cannot resolve address=slow.test port=1: " + std::generic_category().message(ECANCELED));
}

TEST(Socket, AnAddressThatIsNotOursIsUnavailable) {
  EXPECT_EQ(listen_on("192.0.2.1", 0).error().code, errc::unavailable);
  EXPECT_EQ(listen_on("", 0).error().code, errc::unavailable);
}

} // namespace

} // namespace codeq::transport
