// SPDX-License-Identifier: Apache-2.0
#include "core/commands/routing.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>

namespace codeq::core {

namespace {

TEST(Routing, NamesStayWithTheirShardForEver) {
  queue_address queue{.queue = "mail"};

  // A change of any of these would lose every key and group of every existing store.
  EXPECT_EQ(value(shard_of_name(queue, "a", 1024)), 767);
  EXPECT_EQ(value(shard_of_name(queue, "b", 1024)), 619);
  EXPECT_EQ(value(shard_of_name({"default", "mai"}, "la", 1024)), 797);
}

TEST(Routing, NamesSpreadEvenlyOverShards) {
  std::array<int, 4> shards{};

  for (int i = 0; i < 4000; ++i)
    ++shards[value(shard_of_name({"default", "mail"}, "user-" + std::to_string(i), 4))];

  for (auto count : shards)
    EXPECT_NEAR(count, 1000, 120);
}

} // namespace

} // namespace codeq::core
