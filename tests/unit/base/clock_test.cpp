// SPDX-License-Identifier: Apache-2.0
#include "base/clock.hpp"

#include <gtest/gtest.h>

#include <random>

namespace codeq::base {
namespace {

using namespace std::chrono_literals;

constexpr monotonic_time steady_zero{duration{0}};
constexpr timestamp wall_zero{duration{1'700'000'000'000}};

TEST(WallTime, BecomesATimestampAndComesBack) {
  std::chrono::system_clock::time_point when{1'700'000'000'123ms};

  EXPECT_EQ(to_timestamp(when), wall_zero + 123ms);
  EXPECT_EQ(to_timestamp(when + 999us), wall_zero + 123ms);
  EXPECT_EQ(to_timestamp(std::chrono::system_clock::time_point{-1us}), timestamp{-1ms});
  EXPECT_EQ(to_wall_time(wall_zero + 123ms), when);
}

TEST(ShardTime, StartsAtTheLaterOfPersistedAndWallClock) {
  EXPECT_EQ(
    shard_time(wall_zero + 5s, steady_zero, wall_zero).at(steady_zero, wall_zero), wall_zero + 5s);
  EXPECT_EQ(
    shard_time(wall_zero - 5s, steady_zero, wall_zero).at(steady_zero, wall_zero), wall_zero);
}

TEST(ShardTime, FollowsAWallClockThatAgrees) {
  shard_time time(wall_zero, steady_zero, wall_zero);

  EXPECT_EQ(time.at(steady_zero + 1h, wall_zero + 1h), wall_zero + 1h);
}

TEST(ShardTime, BackwardStepOfTheWallClockNeverTurnsItBack) {
  shard_time time(wall_zero, steady_zero, wall_zero);
  auto last = time.at(steady_zero, wall_zero);
  for (int ms = 1; ms < 5000; ++ms) {
    auto now = time.at(steady_zero + duration{ms}, wall_zero - 1h);
    EXPECT_GE(now, last);
    last = now;
  }
  EXPECT_GE(last, wall_zero + 4700ms) << "it slows down by no more than 5 %";
}

TEST(ShardTime, ForwardStepOfTheWallClockFiresNothingEarly) {
  shard_time time(wall_zero, steady_zero, wall_zero);
  // A long time in agreement must not be saved up for a jump.
  for (int s = 1; s <= 60; ++s)
    (void)time.at(steady_zero + s * 1s, wall_zero + s * 1s);

  auto due = wall_zero + 60s + 1000ms;
  EXPECT_LT(time.at(steady_zero + 60s + 900ms, wall_zero + 2h), due);
  EXPECT_GE(time.at(steady_zero + 62s, wall_zero + 2h), due);
}

TEST(ShardTime, StepIsFollowedAtFivePercent) {
  shard_time time(wall_zero, steady_zero, wall_zero);
  timestamp now;
  for (int ms = 1; ms <= 100'000; ++ms)
    now = time.at(steady_zero + duration{ms}, wall_zero + duration{ms} + 1h);

  EXPECT_LE(now, wall_zero + 105s);
  EXPECT_GE(now, wall_zero + 104s);
}

TEST(ShardTime, ReachesTheWallClockAndStaysWithIt) {
  shard_time time(wall_zero, steady_zero, wall_zero);
  for (int s = 1; s <= 30; ++s)
    (void)time.at(steady_zero + s * 1s, wall_zero + s * 1s + 500ms);

  EXPECT_EQ(time.at(steady_zero + 31s, wall_zero + 31s + 500ms), wall_zero + 31s + 500ms);
}

TEST(ShardTime, KeepsItsBoundsUnderAWallClockThatJumps) {
  std::mt19937_64 random(7);
  shard_time time(wall_zero, steady_zero, wall_zero);
  auto steady = steady_zero;
  auto last = wall_zero;
  for (int i = 0; i < 10'000; ++i) {
    duration passed{static_cast<duration::rep>(random() % 200)};
    steady += passed;
    duration offset{static_cast<duration::rep>(random() % 7'200'000) - 3'600'000};
    auto now = time.at(steady, wall_zero + offset);
    // Allows for one millisecond of rounding.
    EXPECT_GE((now - last) * 20, passed * 19 - 20ms);
    EXPECT_LE((now - last) * 20, passed * 21 + 20ms);
    EXPECT_GE(now, last);
    last = now;
  }
}

TEST(ShardTime, SteadyClockThatStandsStillHoldsIt) {
  shard_time time(wall_zero, steady_zero, wall_zero);

  EXPECT_EQ(time.at(steady_zero, wall_zero + 1h), wall_zero);
  EXPECT_EQ(time.at(steady_zero, wall_zero + 2h), wall_zero);
}

} // namespace
} // namespace codeq::base
