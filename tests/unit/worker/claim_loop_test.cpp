// SPDX-License-Identifier: Apache-2.0
#include "worker/node/claim_loop.hpp"

#include <gtest/gtest.h>

namespace codeq::worker {
namespace {

TEST(ClaimLoop, NothingIsClaimedBeforeALinkIsOpen) {
  claim_loop claims(8, 1);

  EXPECT_EQ(claims.take(0), 0u);
}

TEST(ClaimLoop, OpenLinkGetsTheWholeCapacityOnce) {
  claim_loop claims(8, 1);
  claims.open(0);

  EXPECT_EQ(claims.take(0), 8u);
  EXPECT_EQ(claims.take(0), 0u);
}

TEST(ClaimLoop, EachTaskUsesACreditAndFreesItWhenItEnds) {
  claim_loop claims(4, 1);
  claims.open(0);
  EXPECT_EQ(claims.take(0), 4u);

  claims.received(0, 3, false);
  EXPECT_EQ(claims.held(), 3u);
  EXPECT_EQ(claims.take(0), 0u);
  claims.released(0);

  EXPECT_EQ(claims.take(0), 1u);
}

TEST(ClaimLoop, FewCreditsWaitWhileTheCoordinatorHasEnough) {
  claim_loop claims(16, 1);
  claims.open(0);
  EXPECT_EQ(claims.take(0), 16u);
  claims.received(0, 5, false);

  for (int i = 0; i < 3; ++i)
    claims.released(0);
  EXPECT_EQ(claims.take(0), 0u);
  claims.released(0);

  EXPECT_EQ(claims.take(0), 4u);
}

TEST(ClaimLoop, FewCreditsLeaveWhenTheCoordinatorHasNone) {
  claim_loop claims(16, 1);
  claims.open(0);
  EXPECT_EQ(claims.take(0), 16u);
  claims.received(0, 16, false);
  claims.released(0);

  EXPECT_EQ(claims.take(0), 1u);
}

TEST(ClaimLoop, RedeliveredTasksUseNoCredits) {
  claim_loop claims(4, 1);
  claims.open(0);
  claims.received(0, 2, true);

  EXPECT_EQ(claims.take(0), 2u);
  EXPECT_EQ(claims.held(), 2u);
}

TEST(ClaimLoop, ReconnectStartsFromZeroCreditsAndCountsWhatIsHeld) {
  claim_loop claims(8, 1);
  claims.open(0);
  EXPECT_EQ(claims.take(0), 8u);
  claims.received(0, 3, false);

  claims.close(0);
  EXPECT_EQ(claims.take(0), 0u);
  claims.open(0);

  EXPECT_EQ(claims.take(0), 5u);
}

TEST(ClaimLoop, CapacityIsDividedOverOpenLinks) {
  claim_loop claims(9, 3);
  claims.open(0);
  claims.open(2);

  EXPECT_EQ(claims.take(0), 5u);
  EXPECT_EQ(claims.take(1), 0u);
  EXPECT_EQ(claims.take(2), 4u);
}

TEST(ClaimLoop, LostLinkLeavesItsShareToTheOthers) {
  claim_loop claims(8, 2);
  claims.open(0);
  claims.open(1);
  EXPECT_EQ(claims.take(0), 4u);
  EXPECT_EQ(claims.take(1), 4u);
  claims.received(1, 1, false);

  claims.close(1);

  EXPECT_EQ(claims.take(0), 3u);
}

TEST(ClaimLoop, EveryCoordinatorMayOfferATaskToOneSlot) {
  claim_loop claims(1, 2);
  claims.open(0);
  claims.open(1);

  EXPECT_EQ(claims.take(0), 1u);
  EXPECT_EQ(claims.take(1), 1u);
}

TEST(ClaimLoop, StoppedLoopClaimsNothing) {
  claim_loop claims(8, 1);
  claims.open(0);

  claims.stop();

  EXPECT_EQ(claims.take(0), 0u);
}

} // namespace
} // namespace codeq::worker
