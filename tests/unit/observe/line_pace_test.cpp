// SPDX-License-Identifier: Apache-2.0
#include "observe/line_pace.hpp"

#include <gtest/gtest.h>

#include <string>

namespace codeq::observe {
namespace {

using namespace std::chrono_literals;

TEST(LinePace, LeavesOutAndCountsWhatIsBeyondItForASecond) {
  line_pace pace{2};
  line_pace::time_point now{1h};
  EXPECT_EQ(pace.take("mallory", now), 0u);
  EXPECT_EQ(pace.take("mallory", now), 0u);
  for (int line = 0; line < 3; ++line)
    EXPECT_EQ(pace.take("mallory", now + 999ms), std::nullopt);

  EXPECT_EQ(pace.take("acme", now), 0u) << "another owner's lines are its own";
  EXPECT_EQ(pace.take("mallory", now + 1s), 3u);
  EXPECT_EQ(pace.take("mallory", now + 1s), 0u);
}

TEST(LinePace, ForgetsOwnersBeyondItsMemory) {
  line_pace pace{1};
  line_pace::time_point now{1h};
  for (int owner = 0; owner < 1024; ++owner)
    EXPECT_EQ(pace.take(std::to_string(owner), now), 0u);
  EXPECT_EQ(pace.take("0", now), std::nullopt);

  EXPECT_EQ(pace.take("one more", now), 0u);
  EXPECT_EQ(pace.take("0", now), 0u);
}

} // namespace
} // namespace codeq::observe
