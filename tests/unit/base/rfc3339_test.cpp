// SPDX-License-Identifier: Apache-2.0
#include "base/rfc3339.hpp"

#include <gtest/gtest.h>

namespace codeq::base {
namespace {

TEST(Rfc3339, IsReadAsItIsWritten) {
  for (const char* text :
       {"0001-01-01T00:00:00.000Z",
        "0999-12-31T23:59:59.999Z",
        "1969-12-31T23:59:59.999Z",
        "1970-01-01T00:00:00.001Z",
        "2024-02-29T23:59:59.999Z",
        "2026-05-20T10:00:00.120Z",
        "9999-12-31T23:59:59.999Z"}) {
    auto when = parse_rfc3339(text);
    ASSERT_TRUE(when) << text;
    EXPECT_EQ(text, to_rfc3339(*when));
  }
}

TEST(Rfc3339, AYearOfFiveDigitsIsWrittenAsItIs) {
  auto last = parse_rfc3339("9999-12-31T23:59:59.999Z").value();

  EXPECT_EQ("10000-01-01T00:00:00.000Z", to_rfc3339(last + duration{1}));
}

TEST(Rfc3339, ZonesAndFractionsAreUnderstood) {
  auto utc = [](const char* text) { return to_rfc3339(parse_rfc3339(text).value()); };

  EXPECT_EQ("2026-05-20T10:00:00.000Z", utc("2026-05-20T10:00:00Z"));
  EXPECT_EQ("2026-05-20T08:30:00.000Z", utc("2026-05-20T10:00:00+01:30"));
  EXPECT_EQ("2026-05-21T00:00:00.000Z", utc("2026-05-20T20:00:00-04:00"));
  EXPECT_EQ("2026-05-20T10:00:00.123Z", utc("2026-05-20T10:00:00.123456789Z"));
  EXPECT_EQ("2026-05-20T10:00:00.500Z", utc("2026-05-20t10:00:00.5z"));
}

TEST(Rfc3339, AnythingElseIsRefused) {
  for (const char* text :
       {"",
        "2026-05-20",
        "2026-05-20T10:00:00",
        "2026-05-20T10:00Z",
        "2026-13-01T00:00:00Z",
        "2026-02-30T00:00:00Z",
        "2026-05-20T24:00:00Z",
        "2026-05-20T10:00:00.Z",
        "2026-05-20T10:00:00+0100",
        "2026-05-20T10:00:00Zx",
        "+026-05-20T10:00:00Z"})
    EXPECT_FALSE(parse_rfc3339(text)) << text;
}

} // namespace
} // namespace codeq::base
