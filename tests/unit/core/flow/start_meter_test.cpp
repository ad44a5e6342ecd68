// SPDX-License-Identifier: Apache-2.0
#include "core/flow/start_meter.hpp"

#include <gtest/gtest.h>

namespace codeq::test {
namespace {

using namespace std::chrono_literals;

constexpr monotonic_time begin{5h};

TEST(StartMeter, CountsNothingBeforeTheFirstStart) {
  EXPECT_EQ(core::start_meter{}.per_minute(begin), 0u);
}

TEST(StartMeter, FirstStartsAreSpreadOverTheTimeSinceThen) {
  core::start_meter meter;
  meter.add(10, begin);

  EXPECT_EQ(meter.per_minute(begin), 60u) << "over 10 seconds at least";
  EXPECT_EQ(meter.per_minute(begin + 10s), 60u);
  EXPECT_EQ(meter.per_minute(begin + 20s), 30u);
}

TEST(StartMeter, SteadyStartsGiveTheirRate) {
  core::start_meter meter;
  for (int i = 0; i < 200; ++i)
    meter.add(1, begin + i * 1s);

  EXPECT_NEAR(static_cast<double>(meter.per_minute(begin + 200s)), 60.0, 3.0);
}

TEST(StartMeter, StartsOfLongAgoAreForgotten) {
  core::start_meter meter;
  meter.add(100, begin);

  EXPECT_EQ(meter.per_minute(begin + 40s), 150u);
  EXPECT_EQ(meter.per_minute(begin + 60s), 0u);
  meter.add(1, begin + 100s);
  EXPECT_EQ(meter.per_minute(begin + 110s), 6u);
}

} // namespace
} // namespace codeq::test
