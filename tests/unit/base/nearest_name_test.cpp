// SPDX-License-Identifier: Apache-2.0
#include "base/nearest_name.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>

namespace codeq::base {
namespace {

constexpr auto known = std::to_array<std::string_view>(
  {"command",
   "priority",
   "maxAttempts",
   "idempotencyKey",
   "delaySeconds",
   "delayMs",
   "key",
   "runTimeoutMs"});

std::string nearest(std::string_view unknown) {
  return std::string(nearest_name(unknown, known).value_or("none"));
}

TEST(NearestName, MistypedNamesAreRecognized) {
  EXPECT_EQ("command", nearest("comand"));
  EXPECT_EQ("priority", nearest("proirity"));
  EXPECT_EQ("maxAttempts", nearest("maxAtempts"));
  EXPECT_EQ("key", nearest("kye"));
}

TEST(NearestName, OtherSpellingsOfANameAreTheSame) {
  EXPECT_EQ("maxAttempts", nearest("max_attempts"));
  EXPECT_EQ("idempotencyKey", nearest("Idempotency-Key"));
  EXPECT_EQ("priority", nearest("PRIORITY"));
}

TEST(NearestName, ABeginningOrAPartIsNearAndTheFirstOfEqualsCounts) {
  EXPECT_EQ("delaySeconds", nearest("delay"));
  EXPECT_EQ("command", nearest("commands"));
  EXPECT_EQ("runTimeoutMs", nearest("timeout"));
}

TEST(NearestName, WhatIsNotNearIsNotGuessed) {
  for (const char* name : {"", "x", "colour", "callback", "tags", "a very long name of nothing"})
    EXPECT_EQ("none", nearest(name)) << name;
  EXPECT_EQ("none", nearest(std::string(100'000, 'p')));
}

TEST(NearestName, HyphensStandForUnderscores) {
  EXPECT_TRUE(is_same_name("queue-one", "queue_one"));
  EXPECT_TRUE(is_same_name("queue_one", "queue-one"));
  EXPECT_FALSE(is_same_name("queueone", "queue_one"));
  EXPECT_FALSE(is_same_name("queue-one-", "queue_one"));
}

} // namespace
} // namespace codeq::base
