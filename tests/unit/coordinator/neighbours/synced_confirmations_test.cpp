// SPDX-License-Identifier: Apache-2.0
#include "coordinator/shard/synced_confirmations.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace codeq::coordinator {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

class SyncedConfirmations : public testing::Test {
protected:
  /// The turn with that number has follow-ups; returns whether it is synced.
  bool take_up(std::uint64_t number) {
    confirmations_.note_taken();
    return confirmations_.submit(number, now_);
  }

  void add(std::uint64_t number, std::uint64_t committed) {
    confirmations_.add({shard_id{1}, number, {}}, committed);
  }

  std::vector<std::uint64_t> told(std::uint64_t committed) {
    std::vector<std::uint64_t> numbers;
    for (const auto& taken : confirmations_.take(committed))
      numbers.push_back(taken.number);
    return numbers;
  }

  monotonic_time now_{1h};
  synced_confirmations confirmations_{250ms};
};

TEST_F(SyncedConfirmations, FirstTurnWithFollowUpsIsSynced) {
  EXPECT_TRUE(take_up(1));
  add(7, 1);

  EXPECT_THAT(told(1), ElementsAre(7u));
  EXPECT_EQ(confirmations_.next_look(), std::nullopt);
}

TEST_F(SyncedConfirmations, TurnsWithoutFollowUpsAreNotSynced) {
  EXPECT_FALSE(confirmations_.submit(1, now_));
}

TEST_F(SyncedConfirmations, WaitForTheCommitOfTheSync) {
  EXPECT_TRUE(take_up(2));
  add(7, 1);

  EXPECT_THAT(told(1), IsEmpty());
  EXPECT_THAT(told(2), ElementsAre(7u));
}

TEST_F(SyncedConfirmations, NextSyncIsThatOfALaterTurn) {
  EXPECT_TRUE(take_up(1));
  EXPECT_FALSE(take_up(2));
  add(7, 2);
  EXPECT_THAT(told(2), IsEmpty());
  EXPECT_EQ(confirmations_.next_look(), now_ + 250ms);

  now_ += 250ms;
  EXPECT_TRUE(confirmations_.submit(3, now_));

  EXPECT_THAT(told(2), IsEmpty());
  EXPECT_EQ(confirmations_.next_look(), std::nullopt);
  EXPECT_THAT(told(3), ElementsAre(7u));
}

TEST_F(SyncedConfirmations, RepeatIsToldAfterAnotherSync) {
  take_up(1);
  add(7, 1);
  told(1);

  add(7, 4);

  EXPECT_THAT(told(4), IsEmpty());
  EXPECT_EQ(confirmations_.next_look(), now_ + 250ms);
}

TEST_F(SyncedConfirmations, OfAStoreThatSyncsEachTurnAreToldAtOnce) {
  confirmations_ = synced_confirmations(0ms);
  EXPECT_FALSE(take_up(1));
  add(7, 1);

  EXPECT_EQ(confirmations_.next_look(), std::nullopt);
  EXPECT_THAT(told(1), ElementsAre(7u));
}

} // namespace
} // namespace codeq::coordinator
