// SPDX-License-Identifier: Apache-2.0
#include "transport/socket.hpp"

#include <gtest/gtest.h>

namespace codeq::transport {

namespace {

bool never() {
  return false;
}

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

TEST(Socket, AnAddressThatIsNotOursIsUnavailable) {
  EXPECT_EQ(listen_on("192.0.2.1", 0).error().code, errc::unavailable);
  EXPECT_EQ(listen_on("", 0).error().code, errc::unavailable);
}

} // namespace

} // namespace codeq::transport
