// SPDX-License-Identifier: Apache-2.0
#include "coordinator/shared/shared_hold.hpp"

#include <gtest/gtest.h>

namespace codeq::coordinator {
namespace {

using namespace std::chrono_literals;

constexpr monotonic_time start{1h};

TEST(SharedHold, LastsUntilItsEnd) {
  shared_hold hold(5);
  EXPECT_FALSE(hold.lasts(start));

  hold.extend(start + 10s, start);

  EXPECT_TRUE(hold.lasts(start + 9s));
  EXPECT_FALSE(hold.lasts(start + 10s));
}

TEST(SharedHold, KeepsItsNumberWhileItIsExtendedInTime) {
  shared_hold hold(5);
  const auto number = hold.extend(start + 10s, start);

  EXPECT_EQ(hold.extend(start + 19s, start + 9s), number);
  EXPECT_NE(hold.extend(start + 30s, start + 19s), number);
}

TEST(SharedHold, IsAnotherOneAfterItWasEnded) {
  shared_hold hold(5);
  const auto number = hold.extend(start + 10s, start);

  hold.end();

  EXPECT_FALSE(hold.lasts(start));
  EXPECT_NE(hold.extend(start + 10s, start + 1s), number);
}

} // namespace
} // namespace codeq::coordinator
