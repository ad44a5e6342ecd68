// SPDX-License-Identifier: Apache-2.0
#include "codeq/limits.hpp"

#include "core/flow/limit_rule.hpp"
#include "support/seed.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace codeq::core {
namespace {

using namespace std::chrono_literals;

constexpr timestamp t0{duration{1'000'000}};

/// Starts tasks as soon as the meter allows it.
timestamp start_next(rate_meter& meter, const start_rate& rate, timestamp now, std::uint32_t cost) {
  now = std::max(now, meter.next_start(rate, {cost}));
  meter.take(rate, {cost}, now);
  return now;
}

TEST(RateMeter, AllowsTheBurstAtOnceAndThenTheRate) {
  start_rate rate{10, 1s, 3};
  rate_meter meter;
  auto now = t0;
  std::vector<duration> starts;
  for (int i = 0; i < 6; ++i) {
    now = start_next(meter, rate, now, 1);
    starts.push_back(now - t0);
  }

  EXPECT_EQ(starts, (std::vector<duration>{0ms, 0ms, 0ms, 100ms, 200ms, 300ms}));
}

TEST(RateMeter, UnpaidStartsAreTheSameAfterAChangeOfTheRate) {
  const start_rate slow{60, 1h, 10};
  const start_rate fast{10, 1s, 10};
  rate_meter meter;
  meter.take(slow, {10}, t0);

  meter.change_rate(slow, fast, t0);
  EXPECT_EQ(meter.next_start(fast, {1}), t0 + 100ms);
  meter.change_rate(fast, slow, t0 + 500ms);
  EXPECT_EQ(meter.starts_at(slow, t0 + 500ms), 5u);
}

TEST(RateMeter, ChangeOfTheRateIsExact) {
  const start_rate slow{10, 1s, 3};
  const start_rate fast{20, 1s, 3};
  for (int unpaid = 2; unpaid <= 300; unpaid += 2) {
    rate_meter meter;
    meter.take(slow, {3}, t0);

    meter.change_rate(slow, fast, t0 + 300ms - unpaid * 1ms);
    EXPECT_EQ(meter.idle_at(), t0 + 300ms - unpaid * 1ms / 2) << unpaid << " ms were unpaid";
  }
}

TEST(RateMeter, BurstComesBackWhileNothingStarts) {
  start_rate rate{10, 1s, 3};
  rate_meter meter;
  for (int i = 0; i < 3; ++i)
    meter.take(rate, {1}, t0);

  EXPECT_EQ(meter.next_start(rate, {1}), t0 + 100ms);
  EXPECT_EQ(meter.next_start(rate, {3}), t0 + 300ms);
  EXPECT_FALSE(meter.is_idle(t0 + 299ms));
  EXPECT_TRUE(meter.is_idle(t0 + 300ms));
}

TEST(RateMeter, SaysHowManyMayStartAtOnce) {
  start_rate rate{10, 1s, 3};
  rate_meter meter;
  EXPECT_EQ(meter.starts_at(rate, t0), 3u);
  meter.take(rate, {2}, t0);

  EXPECT_EQ(meter.starts_at(rate, t0), 1u);
  EXPECT_EQ(meter.starts_at(rate, t0 + 99ms), 1u);
  EXPECT_EQ(meter.starts_at(rate, t0 + 100ms), 2u);
  meter.take(rate, {7}, t0);
  EXPECT_EQ(meter.starts_at(rate, t0), 0u);
}

TEST(RateMeter, CostCountsAsSoManyStarts) {
  start_rate rate{10, 1s, 5};
  rate_meter meter;
  meter.take(rate, {4}, t0);

  EXPECT_LE(meter.next_start(rate, {1}), t0);
  EXPECT_EQ(meter.next_start(rate, {2}), t0 + 100ms);
}

TEST(RateMeter, CostAboveTheBurstStartsWhenNothingIsUnpaid) {
  start_rate rate{10, 1s, 2};
  rate_meter meter;
  meter.take(rate, {1}, t0);
  EXPECT_EQ(meter.next_start(rate, {50}), t0 + 100ms);

  meter.take(rate, {50}, t0 + 100ms);

  EXPECT_EQ(meter.next_start(rate, {1}), t0 + 100ms + 5s - 100ms);
}

TEST(RateMeter, DebtDelaysTheNextStartsAndSurplusComesBackUpToTheBurst) {
  start_rate rate{10, 1s, 2};
  rate_meter meter;
  meter.take(rate, {2}, t0);

  meter.settle(rate, 10, t0);
  EXPECT_EQ(meter.next_start(rate, {1}), t0 + 1100ms);

  meter.settle(rate, -1000, t0);
  int starts = 0;
  for (; meter.next_start(rate, {1}) <= t0; ++starts)
    meter.take(rate, {1}, t0);
  EXPECT_EQ(starts, 2);
}

TEST(RateMeter, UsedUpBurstCountsAsStarted) {
  start_rate rate{10, 1s, 5};
  rate_meter meter;

  meter.use_up(rate, t0);

  EXPECT_EQ(meter.next_start(rate, {1}), t0 + 100ms);
}

TEST(RateMeter, ChangedRuleHoldsForWhatIsPaid) {
  rate_meter meter;
  meter.take({1, 10s, 1}, {1}, t0);

  EXPECT_EQ(meter.next_start({100, 1s, 1}, {1}), t0 + 10s);
  EXPECT_LE(meter.next_start({100, 1s, 2000}, {1}), t0);
}

TEST(RateMeter, RestoredOneContinues) {
  start_rate rate{3, 1s, 1};
  rate_meter meter;
  meter.take(rate, {1}, t0);

  EXPECT_EQ(rate_meter(meter.paid_at()).next_start(rate, {1}), meter.next_start(rate, {1}));
}

TEST(RateMeter, LargestRulesDoNotOverflow) {
  start_rate rate{1, 24h, 1'000'000};
  rate_meter meter;
  for (int i = 0; i < 1000; ++i)
    meter.take(rate, {1000}, t0);

  EXPECT_GT(meter.idle_at(), t0);
  EXPECT_LE(meter.next_start(rate, {1}), meter.idle_at());
}

TEST(RateMeter, DebtsOfLargestCostsDoNotOverflow) {
  start_rate rate{1, limits::limit_rate_period_max, 1};
  rate_meter meter;
  auto paid_at = meter.paid_at();
  for (int i = 0; i < 20; ++i) {
    meter.settle(rate, limits::limit_cost_settled_max, t0);
    EXPECT_GE(meter.paid_at(), paid_at);
    paid_at = meter.paid_at();
  }

  EXPECT_GT(meter.next_start(rate, {1}), t0 + std::chrono::years(100));
}

TEST(RateMeter, LateStartsHaveTheWholeRateWhateverTheBurst) {
  for (std::uint32_t burst : {1u, 50u, 200u}) {
    const start_rate rate{1000, 1s, burst};
    rate_meter meter;
    auto now = t0;
    for (int i = 0; i < 2000; ++i) {
      now = std::max(now, meter.next_start(rate, {1, 0, 24ms}));
      meter.take(rate, {1, 0, 24ms}, now);
    }
    EXPECT_LE(now - t0, 2000ms) << "burst " << burst;
  }
}

TEST(RateMeter, LateStartsAndOthersKeepTheRateInEveryWindow) {
  std::minstd_rand random(static_cast<std::uint32_t>(test::choose_seed()));
  for (std::uint32_t burst : {1u, 20u, 50u, 80u}) {
    const start_rate rate{1000, 1s, burst};
    rate_meter meter;
    auto now = t0;
    std::vector<timestamp> starts;
    while (starts.size() < 1500) {
      if (random() % 50 == 0)
        now += duration{static_cast<duration::rep>(random() % 100)};
      const bool is_late = random() % 2 == 0;
      const duration late{is_late ? static_cast<duration::rep>(random() % 25) : 0};
      now = std::max(now, meter.next_start(rate, {1, 0, 24ms}));
      meter.take(rate, {1, 0, is_late ? duration{24ms} : duration{0}}, now);
      starts.push_back(now + late);
    }
    std::sort(starts.begin(), starts.end());
    for (std::size_t first = 0; first < starts.size(); first += 7) {
      for (std::size_t last = first; last < starts.size(); ++last) {
        auto window = (starts[last] - starts[first]).count() + 1;
        ASSERT_LE(static_cast<std::int64_t>(last - first + 1), window + std::max(burst, 50u))
          << "burst " << burst;
      }
    }
  }
}

TEST(RateMeter, NoWindowHasMoreStartsThanTheRateAndTheBurst) {
  std::minstd_rand random(static_cast<std::uint32_t>(test::choose_seed()));
  for (int round = 0; round < 100; ++round) {
    start_rate rate{
      1 + static_cast<std::uint32_t>(random() % 2000),
      duration{1 + static_cast<duration::rep>(random() % 5000)},
      1 + static_cast<std::uint32_t>(random() % 50)};
    rate_meter meter;
    auto now = t0;
    std::vector<timestamp> starts;
    while (starts.size() < 300) {
      if (random() % 10 == 0)
        now += duration{static_cast<duration::rep>(random() % 1000)};
      now = start_next(meter, rate, now, 1);
      starts.push_back(now);
    }
    for (std::size_t first = 0; first < starts.size(); first += 7) {
      for (std::size_t last = first; last < starts.size(); ++last) {
        // A millisecond more, since times are whole milliseconds.
        auto window = (starts[last] - starts[first]).count() + 1;
        auto most = window * rate.count / rate.period.count() + rate.burst + 1;
        ASSERT_LE(static_cast<std::int64_t>(last - first + 1), most) << "round " << round;
      }
    }
  }
}

} // namespace
} // namespace codeq::core
