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

TEST(LinePace, CountsByTheIntervalThatItIsGiven) {
  line_pace pace{1, 1min};
  line_pace::time_point now{1h};
  EXPECT_EQ(pace.take("mallory", now), 0u);
  for (auto after = 250ms; after < 1min; after += 250ms)
    EXPECT_EQ(pace.take("mallory", now + after), std::nullopt);

  EXPECT_EQ(pace.take("mallory", now + 1min), 239u);
}

TEST(LinePace, OwnersBeyondItsMemoryShareTheLinesOfOne) {
  line_pace pace{1};
  line_pace::time_point now{1h};
  for (int owner = 0; owner < 1024; ++owner)
    EXPECT_EQ(pace.take(std::to_string(owner), now), 0u);

  int lines = 0;
  for (int owner = 1024; owner < 10'000; ++owner)
    lines += pace.take(std::to_string(owner), now) ? 1 : 0;
  EXPECT_EQ(lines, 1);
  EXPECT_EQ(pace.take("0", now), std::nullopt) << "the first ones are still known";

  EXPECT_EQ(pace.take("one more", now + 1s), 0u) << "there is room again";
  EXPECT_EQ(pace.take("another one", now + 1s), 0u);
}

} // namespace
} // namespace codeq::observe
