// SPDX-License-Identifier: Apache-2.0
#include "http/claims/claim_ways.hpp"

#include <gtest/gtest.h>

namespace codeq::http {
namespace {

using way = claim_ways::way;
using change = claim_ways::change;

constexpr shard_id first{0};
constexpr shard_id second{1};

constexpr change came{.has_left = false, .has_come = true, .attachment = 0};
constexpr change left{.has_left = true, .has_come = false, .attachment = 0};

TEST(ClaimWays, ReachesNoShardAtFirst) {
  claim_ways ways(2);

  EXPECT_EQ(ways.to(first), way::none);
  EXPECT_EQ(ways.to(second), way::none);
}

TEST(ClaimWays, PrefersTheShardThatIsHere) {
  claim_ways ways(2);

  EXPECT_EQ(ways.set_far(first, true), came);
  EXPECT_EQ(ways.to(first), way::far);
  EXPECT_EQ(ways.find_here(first, true), (change{true, true, 0}));
  EXPECT_EQ(ways.to(first), way::here);
  EXPECT_EQ(ways.set_far(first, false), change{});
  EXPECT_EQ(ways.find_here(first, false), left);
}

TEST(ClaimWays, AttachesOnceOnEachWay) {
  claim_ways ways(2);
  static_cast<void>(ways.set_far(first, true));

  EXPECT_EQ(ways.attach(first), way::far);
  EXPECT_EQ(ways.attach(first), std::nullopt);
  EXPECT_EQ(ways.find_here(first, true).attachment, 1u);
  EXPECT_EQ(ways.attachment(first), 0u);
  EXPECT_EQ(ways.attach(first), way::here);
  EXPECT_EQ(ways.attach(first), std::nullopt);
}

TEST(ClaimWays, NewConnectionIsAnotherAttachment) {
  claim_ways ways(2);
  static_cast<void>(ways.set_far(first, true));
  static_cast<void>(ways.attach(first));

  EXPECT_EQ(ways.set_far(first, true), (change{true, true, 1}));
  EXPECT_EQ(ways.attach(first), way::far);
  EXPECT_EQ(ways.attachment(first), 2u);
}

TEST(ClaimWays, LostConnectionEndsTheAttachment) {
  claim_ways ways(2);
  static_cast<void>(ways.set_far(first, true));
  static_cast<void>(ways.attach(first));

  EXPECT_EQ(ways.set_far(first, false), (change{true, false, 1}));
  EXPECT_EQ(ways.set_far(first, false), change{});
  EXPECT_EQ(ways.to(first), way::none);
}

TEST(ClaimWays, AttachesHereToHearOfAShardThatIsNowhere) {
  claim_ways ways(2);

  EXPECT_EQ(ways.attach(second), way::here);
  EXPECT_TRUE(ways.is_attached_here(second));
  EXPECT_EQ(ways.to(second), way::none);
  EXPECT_EQ(ways.set_here(second, true), came);
  EXPECT_EQ(ways.attach(second), std::nullopt);
}

TEST(ClaimWays, BelievesTheShardAndNotTheGatewayOnceItIsAttached) {
  claim_ways ways(2);
  static_cast<void>(ways.find_here(first, true));
  static_cast<void>(ways.attach(first));

  EXPECT_EQ(ways.find_here(first, false), change{});
  EXPECT_EQ(ways.to(first), way::here);
  EXPECT_EQ(ways.set_here(first, false), left);
}

} // namespace
} // namespace codeq::http
