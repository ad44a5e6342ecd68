// SPDX-License-Identifier: Apache-2.0
#include "codeq/limits.hpp"

#include "http/server/target.hpp"

#include <gtest/gtest.h>

namespace codeq::http {
namespace {

using path = std::vector<std::string>;

TEST(Target, IsSplitAndDecoded) {
  request to;

  ASSERT_TRUE(read_target("/v1/a%2Fb/+?x=2&y=a+b%26&z", to));

  EXPECT_EQ((path{"v1", "a/b", "+"}), to.path);
  EXPECT_EQ("2", to.query["x"]);
  EXPECT_EQ("a b&", to.query["y"]);
  EXPECT_EQ("", to.query["z"]);
  EXPECT_EQ("", to.repeated_parameter);
}

TEST(Target, AParameterThatIsGivenTwiceIsNamed) {
  request to;

  ASSERT_TRUE(read_target("/?x=1&y=1&%78=1", to));

  EXPECT_EQ("x", to.repeated_parameter);
}

TEST(Target, TheRootHasNoSegments) {
  request to;

  ASSERT_TRUE(read_target("/", to));

  EXPECT_TRUE(to.path.empty());
}

TEST(Target, MalformedOnesAreRefused) {
  for (const char* target : {"", "x", "*", "/%", "/%2", "/%zz", "/%00", "/?a=%1"}) {
    request to;
    EXPECT_FALSE(read_target(target, to)) << target;
  }
}

TEST(Target, SaysHowLargeABodyMayBe) {
  EXPECT_EQ(limits::http_batch_body_bytes_max, body_bytes_max("/v1/codeq/tasks/batch"));
  EXPECT_EQ(limits::http_batch_body_bytes_max, body_bytes_max("/v1/codeq/tasks/batch/results?a=1"));
  EXPECT_EQ(limits::http_body_bytes_max, body_bytes_max("/v1/codeq/tasks"));
  EXPECT_EQ(limits::http_body_bytes_max, body_bytes_max("/v1/codeq/tasks?/tasks/batch"));
}

TEST(Authorization, OnlyBearerTokensCount) {
  EXPECT_EQ("abc", bearer_of("Bearer abc"));
  EXPECT_EQ("abc", bearer_of("bearer  abc"));
  EXPECT_EQ("", bearer_of("Basic abc"));
  EXPECT_EQ("", bearer_of("Bearer"));
  EXPECT_EQ("", bearer_of(""));
}

TEST(Hosts, OfThisMachineAreKnown) {
  for (const char* host : {"localhost", "localhost:80", "127.0.0.1", "127.9.9.9:1", "[::1]:80"})
    EXPECT_TRUE(is_loopback_host(host)) << host;
  for (const char* host : {"", "127.evil.test", "localhost.test", "10.0.0.1", "[::2]", "128.0.0.1"})
    EXPECT_FALSE(is_loopback_host(host)) << host;
  EXPECT_TRUE(is_loopback_origin("http://localhost:3000"));
  for (const char* origin : {"null", "http://evil.test", "localhost", ""})
    EXPECT_FALSE(is_loopback_origin(origin)) << origin;
}

TEST(RequestIds, AreEchoedWhenTheyAreHarmless) {
  EXPECT_EQ("abc-1", usable_request_id("abc-1"));
  for (const std::string& id :
       {std::string(),
        std::string("a b"),
        std::string("a\nb"),
        std::string(limits::http_request_id_bytes_max + 1, 'x')})
    EXPECT_FALSE(usable_request_id(id)) << id;
}

} // namespace
} // namespace codeq::http
