// SPDX-License-Identifier: Apache-2.0
#include "base/turn_queue.hpp"

#include <gtest/gtest.h>

#include <string>

namespace codeq::base {
namespace {

TEST(TurnQueue, OwnersTakeTurnsAndKeepTheirOrder) {
  turn_queue<std::string> queue;
  for (const auto* thing : {"m1", "m2", "m3"})
    queue.add("mallory", thing);
  queue.add("acme", "a1");

  std::string taken;
  while (auto next = queue.take())
    taken += *next + " ";

  EXPECT_EQ("m1 a1 m2 m3 ", taken);
  EXPECT_TRUE(queue.empty());
}

TEST(TurnQueue, AnOwnerThatComesBackWaitsForTheOthers) {
  turn_queue<int> queue;
  queue.add("mallory", 1);
  EXPECT_EQ(1, queue.take());
  queue.add("acme", 2);
  queue.add("mallory", 3);

  EXPECT_EQ(2, queue.take());
  EXPECT_EQ(3, queue.take());
  EXPECT_EQ(std::nullopt, queue.take());
}

} // namespace
} // namespace codeq::base
