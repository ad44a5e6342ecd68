// SPDX-License-Identifier: Apache-2.0
#include "worker/node/claim_loop.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

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

  claims.received(0, 0, 3, false);
  EXPECT_EQ(claims.held(), 3u);
  EXPECT_EQ(claims.take(0), 0u);
  claims.released(0);

  EXPECT_EQ(claims.take(0), 1u);
}

TEST(ClaimLoop, FewCreditsWaitWhileTheCoordinatorHasEnough) {
  claim_loop claims(16, 1);
  claims.open(0);
  EXPECT_EQ(claims.take(0), 16u);
  claims.received(0, 0, 5, false);

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
  claims.received(0, 0, 16, false);
  claims.released(0);

  EXPECT_EQ(claims.take(0), 1u);
}

TEST(ClaimLoop, RedeliveredTasksUseNoCredits) {
  claim_loop claims(4, 1);
  claims.open(0);
  claims.received(0, 0, 2, true);

  EXPECT_EQ(claims.take(0), 2u);
  EXPECT_EQ(claims.held(), 2u);
}

TEST(ClaimLoop, ReconnectStartsFromZeroCreditsAndCountsWhatIsHeld) {
  claim_loop claims(8, 1);
  claims.open(0);
  EXPECT_EQ(claims.take(0), 8u);
  claims.received(0, 0, 3, false);

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
  claims.received(1, 1, 1, false);

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

/// Three coordinators of a cluster, all connected.
class SharedCredits : public testing::Test {
protected:
  explicit SharedCredits(std::size_t capacity = 9) : claims(capacity, 3) {
    for (std::size_t link = 0; link < 3; ++link)
      claims.open(link, true);
  }

  /// The credits that each link gets now.
  std::vector<std::size_t> take_all() {
    std::vector<std::size_t> taken;
    for (std::size_t link = 0; link < 3; ++link)
      taken.push_back(claims.take(link));
    return taken;
  }

  using counts = std::vector<std::size_t>;

  static constexpr std::size_t store = 0;
  claim_loop claims;
};

class OneSharedCredit : public SharedCredits {
protected:
  OneSharedCredit() : SharedCredits(1) {}
};

TEST_F(SharedCredits, AreSpreadEvenlyWhileNoTaskWaits) {
  EXPECT_EQ(take_all(), (counts{3, 3, 3}));
  EXPECT_EQ(take_all(), (counts{0, 0, 0}));
}

TEST_F(SharedCredits, AreTakenBackForACoordinatorWhereTasksWait) {
  take_all();
  claims.received(1, store, 3, false);
  claims.told(1, 0, true);

  EXPECT_EQ(take_all(), (counts{0, 0, 0}));
  EXPECT_EQ(claims.take_back(0), 3u);
  EXPECT_EQ(claims.take_back(1), 0u);
  EXPECT_EQ(claims.take_back(2), 3u);
  EXPECT_EQ(claims.take_back(0), 0u);

  claims.told(0, 3, false);
  EXPECT_EQ(take_all(), (counts{0, 3, 0}));
  claims.told(2, 2, false);
  EXPECT_EQ(take_all(), (counts{0, 2, 0}));
}

TEST_F(SharedCredits, StayWhereTheyAreWhileASlotIsFree) {
  take_all();
  claims.received(1, store, 3, false);
  claims.released(store);
  claims.told(1, 0, true);

  EXPECT_EQ(claims.take_back(0), 0u);
  EXPECT_EQ(take_all(), (counts{0, 1, 0}));
}

TEST_F(SharedCredits, OfCoordinatorsWithTasksAreEqual) {
  take_all();
  for (std::size_t link : {0u, 1u}) {
    claims.received(link, store, 3, false);
    claims.told(link, 0, true);
  }
  for (int i = 0; i < 4; ++i)
    claims.released(store);

  EXPECT_EQ(take_all(), (counts{2, 2, 0}));
}

TEST_F(OneSharedCredit, GoesRoundWhenTasksWaitEverywhere) {
  for (std::size_t link = 0; link < 3; ++link)
    claims.told(link, 0, true);
  std::vector<std::size_t> served(3);
  for (int i = 0; i < 30; ++i) {
    auto taken = take_all();
    auto to = static_cast<std::size_t>(std::find(taken.begin(), taken.end(), 1u) - taken.begin());
    ASSERT_LT(to, 3u);
    EXPECT_EQ(take_all(), (counts{0, 0, 0}));
    claims.received(to, store, 1, false);
    claims.released(store);
    ++served[to];
  }
  EXPECT_EQ(served, (counts{10, 10, 10}));
}

TEST_F(OneSharedCredit, IsNeverAtTwoCoordinators) {
  EXPECT_EQ(take_all(), (counts{1, 0, 0}));
  claims.told(2, 0, true);
  EXPECT_EQ(take_all(), (counts{0, 0, 0}));
  EXPECT_EQ(claims.take_back(0), 1u);
  EXPECT_EQ(take_all(), (counts{0, 0, 0}));
  claims.told(0, 1, false);
  EXPECT_EQ(take_all(), (counts{0, 0, 1}));
}

TEST_F(SharedCredits, AnswerWithoutCreditsMayBeAskedAgain) {
  take_all();
  claims.received(1, store, 3, false);
  claims.told(1, 0, true);
  EXPECT_EQ(claims.take_back(0), 3u);

  claims.told(0, 0, false);
  claims.ask_again();

  EXPECT_EQ(claims.take_back(0), 3u);
}

TEST_F(SharedCredits, OfALostConnectionGoToTheOthers) {
  take_all();
  claims.close(2);
  EXPECT_EQ(take_all(), (counts{2, 1, 0}));
}

TEST(ClaimLoop, CoordinatorThatLeadsNoShardsKeepsNoCredits) {
  claim_loop loop(1, 2);
  loop.open(0, true);
  loop.open(1, true);
  loop.told(1, 0, true);
  EXPECT_EQ(loop.take(0), 0u);
  EXPECT_EQ(loop.take(1), 1u);

  EXPECT_EQ(loop.set_leading(1, false), 1u);
  loop.told(1, 0, true);
  EXPECT_EQ(loop.take(1), 0u);
  EXPECT_EQ(loop.take(0), 1u) << "whatever the other one has told late";

  EXPECT_EQ(loop.set_leading(1, false), 0u) << "the same place, told by another one";
  EXPECT_EQ(loop.set_leading(1, true), 0u);
  loop.told(0, 1, false);
  EXPECT_EQ(loop.take(0), 0u);
  EXPECT_EQ(loop.take(1), 1u) << "it leads shards again, and has told that it wants some";
}

TEST(ClaimLoop, WhoKeepsItsCreditsIsAskedAgainOnlyLater) {
  claim_loop loop(1, 2);
  loop.open(0, true);
  loop.open(1, true);
  EXPECT_EQ(loop.take(0), 1u);
  EXPECT_TRUE(loop.told(1, 0, true));
  EXPECT_EQ(loop.take_back(0), 1u);

  EXPECT_FALSE(loop.told(0, 0, false));
  EXPECT_EQ(loop.take_back(0), 0u);
  loop.ask_again();
  EXPECT_EQ(loop.take_back(0), 1u);
  EXPECT_TRUE(loop.told(0, 1, false));
}

TEST(ClaimLoop, WhoLeadsNothingIsAskedOnceAndGetsNoneBeforeItAnswers) {
  claim_loop loop(2, 2);
  loop.open(0, true);
  loop.open(1, true);
  EXPECT_EQ(loop.take(0), 1u);
  EXPECT_EQ(loop.take(1), 1u);

  EXPECT_EQ(loop.set_leading(1, false), 1u);
  EXPECT_EQ(loop.set_leading(1, false), 0u);
  EXPECT_EQ(loop.set_leading(1, true), 0u);
  EXPECT_EQ(loop.take(1), 0u) << "the answer would count them as returned";
  loop.told(1, 1, false);
  EXPECT_EQ(loop.take(1), 1u);
}

} // namespace
} // namespace codeq::worker
