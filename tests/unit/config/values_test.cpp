// SPDX-License-Identifier: Apache-2.0
#include "config/values.hpp"

#include <gtest/gtest.h>

#include <string>

namespace codeq::config {

TEST(Values, CountRefusalNamesValueAndRange) {
  EXPECT_EQ(*parse_count("7", {1, 9}), 7u);
  EXPECT_EQ(parse_count("10", {1, 9}).error().context, "`10` is not a whole number from 1 to 9");
  for (const char* text : {"", "-1", "+1", "1 ", "0x1", "99999999999999999999"})
    EXPECT_FALSE(parse_count(text, {0, 9})) << text;
}

TEST(Values, HostAndPortAreTakenApart) {
  auto named = parse_host_port("localhost:7400", false);
  auto bracketed = parse_host_port("[::1]:0", true);

  ASSERT_TRUE(named && bracketed);
  EXPECT_EQ(named->host, "localhost");
  EXPECT_EQ(named->port, 7400);
  EXPECT_EQ(bracketed->host, "::1");
  EXPECT_EQ(bracketed->port, 0);
}

TEST(Values, WhatIsNoAddressAndPortIsRefused) {
  for (const char* text : {"", "host", ":1", "host:", "host:0", "host:65536", "::1:7", "a b:1"})
    EXPECT_FALSE(parse_host_port(text, false)) << text;
}

TEST(Values, LoopbackIsRecognisedByNumberNotByPrefix) {
  for (const char* host : {"127.0.0.1", "127.255.0.9", "localhost", "::1"})
    EXPECT_TRUE(is_loopback(host)) << host;
  for (const char* host :
       {"0.0.0.0",
        "128.0.0.1",
        "127.evil.example",
        "127.0.0.1.example",
        "127.0.0",
        "::",
        "localhost.example",
        "127.0.0.256"})
    EXPECT_FALSE(is_loopback(host)) << host;
}

TEST(Values, CoordinatorsAreAListWithCommas) {
  auto addresses = parse_coordinators("a:1,b:2");

  ASSERT_TRUE(addresses);
  EXPECT_EQ(*addresses, (std::vector<std::string>{"a:1", "b:2"}));
  for (const char* text : {"", "a:1,", ",a:1", "a:1,,b:2"})
    EXPECT_FALSE(parse_coordinators(text)) << text;
}

TEST(Values, QuoteKeepsAMessageOnOneLine) {
  EXPECT_EQ(quote("a\nb\x1b"), "`a?b?`");
  EXPECT_EQ(quote(std::string(300, 'x')).size(), 205u);
}

} // namespace codeq::config
