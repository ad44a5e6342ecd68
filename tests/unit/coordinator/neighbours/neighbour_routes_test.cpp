// SPDX-License-Identifier: Apache-2.0
#include "coordinator/hub/neighbour_routes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace codeq::coordinator {
namespace {

using testing::ElementsAre;

constexpr shard_id a{1};
constexpr shard_id b{2};

TEST(NeighbourRoutes, TellWhenAShardIsServedAnew) {
  neighbour_routes routes;

  EXPECT_EQ(routes.node_of(a), "");
  EXPECT_TRUE(routes.set(a, "c1", 3));
  EXPECT_FALSE(routes.set(a, "c1", 3));
  EXPECT_TRUE(routes.set(a, "c1", 4)) << "another epoch of the same primary";
  EXPECT_TRUE(routes.set(a, "c2", 5));
  EXPECT_EQ(routes.node_of(a), "c2");
}

TEST(NeighbourRoutes, KnowTheShardsOfANode) {
  neighbour_routes routes;
  routes.set(b, "c1", 1);
  routes.set(a, "c1", 1);
  routes.set(shard_id{3}, "c2", 1);

  EXPECT_THAT(routes.shards_on("c1"), ElementsAre(a, b));
}

TEST(NeighbourRoutes, WordsOfAnOlderEpochDoNotCount) {
  neighbour_routes routes;
  routes.set(a, "c1", 3);

  EXPECT_TRUE(routes.hear(a, 3));
  EXPECT_FALSE(routes.hear(a, 2));
  EXPECT_TRUE(routes.hear(a, 5)) << "etcd's word may come later";
  EXPECT_FALSE(routes.hear(a, 4));
  EXPECT_TRUE(routes.set(a, "c2", 5));
  EXPECT_TRUE(routes.hear(a, 5));
  EXPECT_TRUE(routes.hear(b, 1));
}

} // namespace
} // namespace codeq::coordinator
