// SPDX-License-Identifier: Apache-2.0
#include "coordinator/shard/settings_carrier.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace codeq::coordinator {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

class SettingsCarrier : public testing::Test {
protected:
  SettingsCarrier() { carrier_.changed(1); }

  /// The shards that are sent the settings now.
  std::vector<unsigned> sent() {
    std::vector<unsigned> all;
    while (auto next = carrier_.next(now_))
      all.push_back(value(*next));
    return all;
  }

  void confirm(std::uint16_t by, std::uint64_t version) {
    carrier_.confirmed(shard_id{by}, version);
  }

  void pass(duration by) { now_ += by; }

  monotonic_time now_{1h};
  settings_carrier carrier_{3};
};

TEST_F(SettingsCarrier, BeginsWithAllOtherShards) {
  EXPECT_THAT(sent(), ElementsAre(1, 2));
  EXPECT_EQ(carrier_.missing(), 2u);

  confirm(1, 1);
  confirm(2, 1);

  EXPECT_THAT(sent(), IsEmpty());
  EXPECT_EQ(carrier_.missing(), 0u);
  EXPECT_FALSE(carrier_.next_look());
}

TEST_F(SettingsCarrier, WhatIsNotConfirmedIsSentAgain) {
  sent();
  confirm(1, 1);
  EXPECT_EQ(carrier_.next_look(), now_ + settings_carrier::retry);
  pass(settings_carrier::retry - 1ms);
  EXPECT_THAT(sent(), IsEmpty());
  pass(1ms);

  EXPECT_THAT(sent(), ElementsAre(2));
}

TEST_F(SettingsCarrier, ShardThatDoesNotConfirmIsSentThemLessAndLessOften) {
  sent();
  confirm(1, 1);
  for (auto wait = settings_carrier::retry; wait < settings_carrier::retry_max; wait *= 2) {
    EXPECT_EQ(carrier_.next_look(), now_ + wait);
    pass(wait);
    EXPECT_THAT(sent(), ElementsAre(2));
  }
  pass(settings_carrier::retry_max);
  EXPECT_THAT(sent(), ElementsAre(2));
  EXPECT_EQ(carrier_.next_look(), now_ + settings_carrier::retry_max);

  carrier_.changed(2);

  EXPECT_THAT(sent(), ElementsAre(1, 2));
  EXPECT_EQ(carrier_.next_look(), now_ + settings_carrier::retry);
}

TEST_F(SettingsCarrier, ChangeIsSentAtOnce) {
  sent();
  confirm(1, 1);

  carrier_.changed(2);

  EXPECT_THAT(sent(), ElementsAre(1, 2));
  confirm(1, 1);
  EXPECT_EQ(carrier_.missing(), 2u);
  confirm(1, 2);
  EXPECT_EQ(carrier_.missing(), 1u);
}

TEST_F(SettingsCarrier, ShardThatIsServedAnewIsSentThemAgain) {
  sent();
  confirm(1, 1);
  confirm(2, 1);
  sent();

  carrier_.moved(shard_id{2});

  EXPECT_THAT(sent(), ElementsAre(2));
  EXPECT_EQ(carrier_.missing(), 1u);
}

TEST_F(SettingsCarrier, ShardThatTookALateChangeIsSentThemAgain) {
  sent();
  confirm(1, 1);
  confirm(2, 1);
  EXPECT_THAT(sent(), IsEmpty());
  pass(settings_carrier::retry);

  confirm(2, 0);

  EXPECT_EQ(carrier_.missing(), 1u);
  EXPECT_TRUE(carrier_.next_look());
  EXPECT_THAT(sent(), ElementsAre(2));
  confirm(2, 1);
  EXPECT_THAT(sent(), IsEmpty());
  EXPECT_FALSE(carrier_.next_look());
}

TEST_F(SettingsCarrier, ShardThatTakesThemOverAfterALateChangeIsNotSentThemTwice) {
  sent();
  confirm(1, 1);

  confirm(2, 0);
  EXPECT_THAT(sent(), IsEmpty());
  confirm(2, 1);

  EXPECT_EQ(carrier_.missing(), 0u);
  pass(settings_carrier::retry);
  EXPECT_THAT(sent(), IsEmpty());
}

TEST_F(SettingsCarrier, WordsOfAShardBeforeItMovedAreVoid) {
  sent();
  carrier_.moved(shard_id{2});

  confirm(2, 1);

  EXPECT_THAT(sent(), ElementsAre(2));
}

} // namespace
} // namespace codeq::coordinator
