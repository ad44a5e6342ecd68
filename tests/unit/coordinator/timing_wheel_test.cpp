// SPDX-License-Identifier: Apache-2.0
#include "coordinator/shard/timing_wheel.hpp"
#include "support/seed.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>

namespace codeq::coordinator {
namespace {

using namespace std::chrono_literals;

constexpr monotonic_time start{duration{1'000'003}};

fencing_token token(std::uint64_t n) {
  return static_cast<fencing_token>(n);
}

TEST(TimingWheel, FiresAtTheDeadlineAndNotBefore) {
  timing_wheel wheel(start);
  wheel.add(token(1), start + 2000ms);

  EXPECT_TRUE(wheel.take_due(start + 1999ms).empty());
  EXPECT_EQ(wheel.take_due(start + 2010ms), std::vector{token(1)});
  EXPECT_EQ(wheel.size(), 0u);
}

TEST(TimingWheel, HasNothingToLookForWhenEmpty) {
  timing_wheel wheel(start);

  EXPECT_FALSE(wheel.next_look());
}

TEST(TimingWheel, FiresAPastDeadlineAtTheNextStep) {
  timing_wheel wheel(start);
  wheel.add(token(1), start - 5000ms);

  EXPECT_EQ(wheel.take_due(start + 20ms), std::vector{token(1)});
}

TEST(TimingWheel, ReachesBeyondItsLastLevel) {
  timing_wheel wheel(start);
  auto deadline = start + 24h * 40;
  wheel.add(token(1), deadline);

  EXPECT_TRUE(wheel.take_due(deadline - 10ms).empty());
  EXPECT_EQ(wheel.take_due(deadline + 10ms), std::vector{token(1)});
}

TEST(TimingWheel, DroppedTimerDoesNotFire) {
  timing_wheel wheel(start);
  wheel.add(token(1), start + 100ms);
  wheel.add(token(2), start + 100ms);

  wheel.drop(token(1));

  EXPECT_EQ(wheel.take_due(start + 110ms), std::vector{token(2)});
}

TEST(TimingWheel, HoldsAtMostTwiceTheTimersThatWait) {
  timing_wheel wheel(start);
  for (std::uint64_t n = 1; n <= 100'000; ++n) {
    wheel.add(token(n), start + 12h);
    if (n > 2000)
      wheel.drop(token(n - 2000));
  }

  EXPECT_LE(wheel.size(), 4000u);
}

/// Advances from wake-up to wake-up, as the shard does, over random deadlines of all sizes.
TEST(TimingWheel, FiresEveryTimerWithinOneStepWhenLookedAtAsItAsks) {
  std::mt19937_64 random(test::choose_seed());
  timing_wheel wheel(start);
  std::map<fencing_token, monotonic_time> deadlines;
  for (std::uint64_t i = 1; i <= 3000; ++i) {
    auto digits = std::uniform_int_distribution<int>(0, 6)(random);
    auto most = static_cast<int>(std::pow(10, digits));
    auto deadline = start + duration{std::uniform_int_distribution<int>(0, most)(random)};
    deadlines.emplace(token(i), deadline);
    wheel.add(token(i), deadline);
  }

  while (auto look = wheel.next_look()) {
    for (auto fired : wheel.take_due(*look)) {
      EXPECT_LE(deadlines.at(fired), *look);
      EXPECT_GE(deadlines.at(fired) + 20ms, *look);
      deadlines.erase(fired);
    }
  }

  EXPECT_TRUE(deadlines.empty());
}

} // namespace
} // namespace codeq::coordinator
