// SPDX-License-Identifier: Apache-2.0
#include "client/room.hpp"

#include <gtest/gtest.h>

#include <future>

namespace codeq::client {

namespace {

const auto at_once = std::chrono::steady_clock::time_point::min();
constexpr shard_id s0{0};
constexpr shard_id s1{1};

} // namespace

TEST(Room, RequestsAreBounded) {
  room places(2);
  EXPECT_TRUE(places.take(1, at_once));
  EXPECT_TRUE(places.take(1, at_once));

  EXPECT_FALSE(places.take(1, at_once));
  places.give_back(1);
  EXPECT_TRUE(places.take(1, at_once));
}

TEST(Room, BytesAreBoundedButOneRequestAlwaysFits) {
  room places(10);
  EXPECT_TRUE(places.take(limits::producer_inflight_bytes_max + 1, at_once));

  EXPECT_FALSE(places.take(1, at_once));
  places.give_back(limits::producer_inflight_bytes_max + 1);
  EXPECT_TRUE(places.take(1, at_once));
}

TEST(Room, ShardThatDoesNotAnswerLeavesPlacesForOthers) {
  room places(8);
  for (int i = 0; i < 4; ++i)
    EXPECT_TRUE(places.take(1, at_once, s0));
  EXPECT_FALSE(places.take(1, at_once, s0));
  places.give_back(1, s0);
  EXPECT_TRUE(places.take(1, at_once, s0));

  EXPECT_TRUE(places.take(1, at_once, s1));
  EXPECT_TRUE(places.take(1, at_once, s1));
  EXPECT_TRUE(places.take(1, at_once));
  EXPECT_TRUE(places.take(1, at_once));
  EXPECT_FALSE(places.take(1, at_once));
}

TEST(Room, ShardThatDoesNotAnswerLeavesBytesForOthers) {
  constexpr auto half = limits::producer_inflight_bytes_max / 2;
  room places(8);
  EXPECT_TRUE(places.take(half, at_once, s0));

  EXPECT_FALSE(places.take(1, at_once, s0));
  EXPECT_TRUE(places.take(half, at_once, s1));
}

TEST(Room, EveryShardHasOnePlaceInAnyCase) {
  room places(2);
  EXPECT_TRUE(places.take(1, at_once, s0));
  EXPECT_FALSE(places.take(1, at_once, s0));
  EXPECT_TRUE(places.take(1, at_once, s1));

  EXPECT_TRUE(places.take(1, at_once, shard_id{2}));
  EXPECT_TRUE(places.take(1, at_once));
  EXPECT_FALSE(places.take(1, at_once));
}

TEST(Room, AWaiterGetsWhatIsGivenBack) {
  room places(1);
  ASSERT_TRUE(places.take(1, at_once));
  auto waiter = std::async(std::launch::async, [&] { return places.take(1, std::nullopt); });

  places.give_back(1);

  EXPECT_TRUE(waiter.get());
}

TEST(Room, TakingOverNeverWaits) {
  room places(1);
  ASSERT_TRUE(places.take(1, at_once));

  places.take_over(1);
  places.give_back(1);

  EXPECT_FALSE(places.take(1, at_once));
}

TEST(Room, AnEndLetsEverybodyIn) {
  room places(1);
  ASSERT_TRUE(places.take(1, at_once));

  places.open_for_ever();

  EXPECT_TRUE(places.take(1, at_once));
}

} // namespace codeq::client
