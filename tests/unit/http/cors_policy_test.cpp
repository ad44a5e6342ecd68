// SPDX-License-Identifier: Apache-2.0
#include "http/server/cors_policy.hpp"

#include <gtest/gtest.h>

#include <string>

namespace codeq::http {
namespace {

std::string fields_for(const cors_policy& policy, std::string_view origin) {
  response answer;
  policy.admit(origin, answer);
  std::string text;
  for (const auto& [name, value] : answer.fields)
    text += name + ": " + value + "\n";
  return text;
}

TEST(CorsPolicy, NobodyIsAllowedByDefault) {
  EXPECT_FALSE(cors_policy().allows("https://app.example"));
  EXPECT_EQ("", fields_for(cors_policy(), "https://app.example"));
}

TEST(CorsPolicy, ANamedOriginIsAllowedInAnyCase) {
  cors_policy policy({"https://App.example", "http://localhost:3000"});

  EXPECT_TRUE(policy.allows("https://app.example"));
  EXPECT_TRUE(policy.allows("http://localhost:3000"));
  EXPECT_FALSE(policy.allows("https://app.example:8443"));
  EXPECT_FALSE(policy.allows("https://app.example.evil.example"));
  EXPECT_FALSE(policy.allows("null"));
  EXPECT_FALSE(policy.allows("*"));
  EXPECT_FALSE(policy.allows(""));
  EXPECT_EQ(
    "Vary: Origin\nAccess-Control-Allow-Origin: https://app.example\n"
    "Access-Control-Expose-Headers: X-Request-Id, Retry-After, Allow\n",
    fields_for(policy, "https://app.example"));
  EXPECT_EQ("Vary: Origin\n", fields_for(policy, "https://evil.example"));
}

TEST(CorsPolicy, TheStarAllowsAllAndNamesNone) {
  cors_policy policy({"*"});

  EXPECT_TRUE(policy.allows("https://app.example"));
  EXPECT_FALSE(policy.names("https://app.example"));
  EXPECT_FALSE(policy.names("*"));
  EXPECT_EQ(
    "Access-Control-Allow-Origin: *\n"
    "Access-Control-Expose-Headers: X-Request-Id, Retry-After, Allow\n",
    fields_for(policy, "https://app.example"));
}

TEST(CorsPolicy, APreflightNamesTheMethodsOfThePath) {
  auto answer = cors_policy::preflight("GET, HEAD");

  EXPECT_EQ(204u, answer.status);
  EXPECT_EQ("Access-Control-Allow-Methods", answer.fields.front().first);
  EXPECT_EQ("GET, HEAD", answer.fields.front().second);
}

} // namespace
} // namespace codeq::http
