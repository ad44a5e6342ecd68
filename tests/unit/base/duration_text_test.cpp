// SPDX-License-Identifier: Apache-2.0
#include "base/duration_text.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace codeq::base {

using namespace std::chrono_literals;

TEST(DurationText, ReadsWholeNumbersWithTheirUnit) {
  const std::pair<const char*, duration> cases[] = {
    {"500ms", 500ms},
    {"2s", 2s},
    {"5m", 5min},
    {"1h", 1h},
    {"7d", 7 * 24h},
    {"0", 0ms},
    {"0s", 0ms}};

  for (const auto& [text, expected] : cases) {
    auto parsed = parse_duration(text);

    ASSERT_TRUE(parsed) << text;
    EXPECT_EQ(*parsed, expected) << text;
  }
}

TEST(DurationText, RefusesWhatHasNoUnitOrIsNoNumber) {
  for (const char* text : {"", "5", "s", "-1s", "1.5s", "5 s", "5sec", "1h30m", "0x5s"})
    EXPECT_FALSE(parse_duration(text)) << text;
}

TEST(DurationText, RefusalSaysWhatToWrite) {
  EXPECT_EQ(
    parse_duration("30").error().context,
    "`30` is not a duration; write a whole number and ms, s, m, h or d, for example 500ms or 30s");
}

TEST(DurationText, RefusesMoreThanAHundredYearsWithoutOverflow) {
  EXPECT_TRUE(parse_duration("36525d"));
  EXPECT_FALSE(parse_duration("36526d"));
  EXPECT_FALSE(parse_duration("9223372036854775807h"));
  EXPECT_FALSE(parse_duration("99999999999999999999ms"));
}

TEST(DurationText, WritesTheLargestUnitThatLosesNothing) {
  EXPECT_EQ(format_duration(0ms), "0s");
  EXPECT_EQ(format_duration(1500ms), "1500ms");
  EXPECT_EQ(format_duration(90s), "90s");
  EXPECT_EQ(format_duration(15min), "15m");
  EXPECT_EQ(format_duration(24h), "1d");
}

} // namespace codeq::base
