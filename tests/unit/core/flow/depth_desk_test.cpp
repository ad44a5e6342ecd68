// SPDX-License-Identifier: Apache-2.0
#include "core/flow/depth_desk.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>

namespace codeq::core {
namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t deep = 7;
constexpr shard_id counting{1};
const queue_address deep_name{"t", "q"};

/// The desk of a shard with one queue of three tasks, whose maximum is 40.
class DepthDesk : public testing::Test {
protected:
  DepthDesk() { desk_.open(deep, {deep_name, counting, 5, 40, 10, 3}); }

  [[nodiscard]] std::uint64_t lacking(std::uint64_t depth, std::uint64_t tasks) const {
    return desk_.lacking({deep, depth, tasks}, now_);
  }

  depth_level said() {
    auto levels = desk_.say(counting, now_);
    EXPECT_EQ(levels.size(), 1u);
    return levels.empty() ? depth_level{} : levels[0];
  }

  /// The owner gives room, so that this is the sum of all.
  bool grant(std::uint64_t sum, std::uint32_t ask) {
    depth_grant given{deep_name, 5, sum};
    given.ask = ask;
    return desk_.hear(deep, given, now_);
  }

  depth_desk desk_;
  monotonic_time now_{1h};
};

TEST_F(DepthDesk, FirstRoomIsAskedFor) {
  EXPECT_EQ(lacking(3, 2), 2u);
  EXPECT_EQ(lacking(3, 0), 0u);

  desk_.want(deep, 2);

  EXPECT_EQ(said(), (depth_level{deep_name, 5, 40, 3, 0, 2, 1, 0}));
}

TEST_F(DepthDesk, GrantCountsOnceHoweverOftenItComes) {
  desk_.want(deep, 2);
  grant(6, 1);
  grant(6, 1);
  grant(4, 1);

  EXPECT_EQ(desk_.quota(deep, now_), 9u);
  EXPECT_FALSE(desk_.is_wanting(deep));
  EXPECT_EQ(lacking(3, 6), 0u);
  EXPECT_EQ(lacking(3, 7), 1u);
}

TEST_F(DepthDesk, GrantOfAnotherLifeIsVoid) {
  EXPECT_FALSE(desk_.hear(deep, {deep_name, 4, 6}, now_));

  EXPECT_EQ(desk_.quota(deep, now_), 0u);
}

TEST_F(DepthDesk, TasksThatWereAddedWithoutAskingGiveNoRoom) {
  desk_.want(deep, 2);
  grant(6, 1);
  desk_.raise(deep, 20);

  EXPECT_EQ(desk_.level(deep), 20u);
  EXPECT_EQ(desk_.quota(deep, now_), 9u);
  EXPECT_EQ(lacking(9, 1), 1u) << "the owner has to say whether there is room";
  desk_.want(deep, 1);
  grant(7, 1);
  EXPECT_EQ(desk_.quota(deep, now_), 10u) << "it did not count with the new level";
  desk_.want(deep, 1);
  auto asked = said();
  EXPECT_EQ(asked.level, 21u);
  grant(8, asked.ask);
  EXPECT_EQ(desk_.quota(deep, now_), 22u);
}

TEST_F(DepthDesk, RefusalWithAnEarlierGrantIsNoRoomForTheLevel) {
  desk_.want(deep, 2);
  desk_.raise(deep, 20);
  desk_.want(deep, 1);
  depth_grant full{deep_name, 5, 2};
  full.answer = depth_answer::full;
  full.ask = said().ask;
  EXPECT_FALSE(desk_.hear(deep, full, now_));

  EXPECT_EQ(desk_.quota(deep, now_), 2u) << "the grant was lost, and comes with the refusal";
  EXPECT_EQ(desk_.level(deep), 22u);
  EXPECT_FALSE(desk_.is_wanting(deep));
}

TEST_F(DepthDesk, RecallIsFollowedOnce) {
  desk_.want(deep, 2);
  grant(6, 1);
  depth_grant recall{deep_name, 0, 0, 9};

  EXPECT_TRUE(desk_.hear(deep, recall, now_));
  EXPECT_FALSE(desk_.hear(deep, recall, now_));
  EXPECT_TRUE(desk_.lower(deep, 4));
  EXPECT_FALSE(desk_.lower(deep, 4)) << "it had no more";

  auto level = said();
  EXPECT_EQ(level.level, 4u);
  EXPECT_EQ(level.recall, 9u);
}

TEST_F(DepthDesk, FullQueueIsNotAskedForAWhile) {
  desk_.want(deep, 5);
  depth_grant full{deep_name, 5, 0, 0, depth_answer::full, 1, 2};
  EXPECT_FALSE(desk_.hear(deep, full, now_));

  EXPECT_FALSE(desk_.is_wanting(deep));
  EXPECT_TRUE(desk_.is_full(deep, 3, now_));
  EXPECT_FALSE(desk_.is_full(deep, 2, now_)) << "there is room for two";
  EXPECT_FALSE(desk_.is_full(deep, 3, now_ + depth_desk::full_for));
}

TEST_F(DepthDesk, RefusalOfMoreIsOneOfLess) {
  desk_.want(deep, 5);
  desk_.want(deep, 3);
  EXPECT_FALSE(desk_.hear(deep, {deep_name, 5, 0, 0, depth_answer::full, 1, 2}, now_));

  EXPECT_FALSE(desk_.is_wanting(deep));
  EXPECT_TRUE(desk_.is_full(deep, 3, now_));
  EXPECT_FALSE(desk_.is_full(deep, 2, now_));
}

TEST_F(DepthDesk, AnswerToAnEarlierQuestionIsNone) {
  desk_.want(deep, 1);
  desk_.want(deep, 5);
  EXPECT_FALSE(desk_.hear(deep, {deep_name, 5, 0, 0, depth_answer::full, 1, 2}, now_));

  EXPECT_TRUE(desk_.is_wanting(deep));
  EXPECT_FALSE(desk_.is_full(deep, 3, now_));
}

TEST_F(DepthDesk, PartCountsForAMomentWhenTheOwnerDoesNotCount) {
  desk_.want(deep, 5);
  desk_.note_uncounted(counting, now_);

  EXPECT_EQ(desk_.quota(deep, now_), 10u);
  EXPECT_EQ(desk_.quota(deep, now_ + depth_desk::full_for), 0u);
}

TEST_F(DepthDesk, LevelsAreSaidUntilTheyAreHeard) {
  EXPECT_EQ(said().level, 3u) << "the owner may have booked less";
  desk_.heard(counting);
  EXPECT_FALSE(desk_.has_news(counting));
  desk_.raise(deep, 5);
  EXPECT_TRUE(desk_.has_news(counting));
  EXPECT_EQ(said().level, 5u);
  EXPECT_FALSE(desk_.has_news(counting));

  EXPECT_EQ(said().level, 5u) << "the message was lost";
  desk_.heard(counting);
  EXPECT_TRUE(desk_.say(counting, now_).empty());
  desk_.moved(counting);
  EXPECT_EQ(said().level, 5u);
}

TEST_F(DepthDesk, WhatIsWantedIsAskedForAgain) {
  desk_.want(deep, 2);
  said();
  desk_.heard(counting);
  EXPECT_TRUE(desk_.owners_to_tell(now_).empty());
  ASSERT_EQ(desk_.next_look(), now_ + depth_desk::ask_again);

  now_ += depth_desk::ask_again;

  EXPECT_EQ(desk_.owners_to_tell(now_).count(counting), 1u);
  EXPECT_EQ(said().wants, 2u);
}

TEST_F(DepthDesk, ClosedQueueIsForgotten) {
  desk_.want(deep, 2);
  desk_.close(deep);
  desk_.close(deep);

  EXPECT_FALSE(desk_.has_quota(deep));
  EXPECT_TRUE(desk_.say(counting, now_).empty());
  EXPECT_EQ(desk_.next_look(), std::nullopt);
}

} // namespace
} // namespace codeq::core
