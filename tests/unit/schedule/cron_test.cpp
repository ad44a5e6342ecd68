// SPDX-License-Identifier: Apache-2.0
#include "schedule/cron.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace codeq::schedule {
namespace {

using std::chrono::local_days;
using namespace std::chrono_literals;

constexpr local_seconds at(
  std::chrono::year_month_day day, std::chrono::seconds time = 0s) {
  return local_days{day} + time;
}

constexpr local_seconds far = at(2200y / 1 / 1);

cron_expression of(const std::string& text) {
  auto parsed = cron_expression::parse(text);
  return parsed ? *parsed : throw std::runtime_error(parsed.error().context);
}

/// The first `count` matches from the beginning of 2026 on.
std::string matches(const std::string& text, int count) {
  auto cron = of(text);
  std::string all;
  auto next = cron.next(at(2026y / 1 / 1), far);
  for (int i = 0; i < count && next; ++i) {
    all += (i == 0 ? "" : " ") + to_text(*next);
    next = cron.next(*next + 1s, far);
  }
  return all;
}

std::string canonical(const std::string& text) {
  auto parsed = cron_expression::parse(text);
  return parsed ? parsed->text() : parsed.error().context;
}

TEST(CronText, IsReadWithNamesListsRangesAndSteps) {
  const std::pair<const char*, const char*> cases[] = {
    {"* * * * *", "* * * * *"},
    {"0 0 * * * *", "0 * * * *"},
    {"30 0 0 * * *", "30 0 0 * * *"},
    {" 5 \t 4 * * * ", "5 4 * * *"},
    {"05 04 * * *", "5 4 * * *"},
    {"1,2,5-7 * * * *", "1,2,5-7 * * * *"},
    {"*/15 8-18/2 * * *", "*/15 8-18/2 * * *"},
    {"5/10 * * * *", "5-59/10 * * * *"},
    {"*/1 1-5/1 * * *", "* 1-5 * * *"},
    {"0 0 1 JAN,jun-Aug *", "0 0 1 1,6-8 *"},
    {"0 0 * * mon-FRI", "0 0 * * 1-5"},
    {"0 0 * * fri-sun", "0 0 * * 5-7"},
    {"0 0 * * 7", "0 0 * * 7"},
    {"@yearly", "0 0 1 1 *"},
    {"@annually", "0 0 1 1 *"},
    {"@monthly", "0 0 1 * *"},
    {"@weekly", "0 0 * * 0"},
    {"@daily", "0 0 * * *"},
    {"@midnight", "0 0 * * *"},
    {"@hourly", "0 * * * *"},
  };
  for (const auto& [text, expected] : cases) {
    EXPECT_EQ(canonical(text), expected) << text;
    EXPECT_EQ(canonical(canonical(text)), expected) << text;
    EXPECT_EQ(of(text), of(expected)) << text;
  }
}

TEST(CronText, RefusalsNameFieldValueAndLimit) {
  const std::pair<const char*, const char*> cases[] = {
    {"0 25 * * *", "cron field 2 (hours): 25 is not within 0..23"},
    {"60 * * * *", "cron field 1 (minutes): 60 is not within 0..59"},
    {"60 * * * * *", "cron field 1 (seconds): 60 is not within 0..59"},
    {"0 0 25 * * *", "cron field 3 (hours): 25 is not within 0..23"},
    {"0 0 0 * *", "cron field 3 (days of month): 0 is not within 1..31"},
    {"0 0 * 13 *", "cron field 4 (months): 13 is not within 1..12"},
    {"0 0 * * 8", "cron field 5 (days of week): 8 is not within 0..7"},
    {"0 0 * * 99999999999999999999",
     "cron field 5 (days of week): 99999999999999999999 is not within 0..7"},
    {"x * * * *", "cron field 1 (minutes): `x` is not a number within 0..59"},
    {"-1 * * * *", "cron field 1 (minutes): `` is not a number within 0..59"},
    {"+1 * * * *", "cron field 1 (minutes): `+1` is not a number within 0..59"},
    {"1, * * * *", "cron field 1 (minutes): `` is not a number within 0..59"},
    {"0 0 * foo *",
     "cron field 4 (months): `foo` is not a number within 1..12 or a name from jan to dec"},
    {"0 0 L * *", "cron field 3 (days of month): `L` is not a number within 1..31; the signs L, W, "
                  "# and ? are not supported"},
    {"0 0 ? * 5#2", "cron field 3 (days of month): `?` is not a number within 1..31; the signs L, "
                    "W, # and ? are not supported"},
    {"*/0 * * * *", "cron field 1 (minutes): step 0 is not within 1..59"},
    {"*/60 * * * *", "cron field 1 (minutes): step 60 is not within 1..59"},
    {"*/ * * * *", "cron field 1 (minutes): step `` is not within 1..59"},
    {"1-5/2/3 * * * *", "cron field 1 (minutes): step `2/3` is not within 1..59"},
    {"30-10 * * * *", "cron field 1 (minutes): range `30-10` runs backwards"},
    {"0 0 * * fri-mon", "cron field 5 (days of week): range `fri-mon` runs backwards"},
    {"* * * *", "cron has 4 fields; it must have 5, or 6 with seconds before the others"},
    {"", "cron has 0 fields; it must have 5, or 6 with seconds before the others"},
    {"* * * * * * *", "cron has 7 fields; it must have 5, or 6 with seconds before the others"},
    {"@reboot", "cron `@reboot` is not @yearly, @annually, @monthly, @weekly, @daily, @midnight or "
                "@hourly"},
    {"0 0 30 2 *", "cron never fires: no month of `2` has a day of `30`"},
    {"0 0 31 4,6,9-11/2 *", "cron never fires: no month of `4,6,9-11/2` has a day of `31`"},
  };
  for (const auto& [text, expected] : cases) {
    auto parsed = cron_expression::parse(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().code, errc::invalid_argument) << text;
    EXPECT_EQ(parsed.error().context, expected) << text;
  }
}

TEST(CronText, LongOneIsRefused) {
  std::string text = "0 0 * * " + std::string(cron_bytes_max - 8, '1');

  EXPECT_EQ(cron_expression::parse(text).error().code, errc::invalid_argument);
  EXPECT_EQ(
    cron_expression::parse(text + "1").error(),
    (error{errc::too_large, "cron has 257 bytes, at most 256 are allowed"}));
}

TEST(CronNext, FindsTheMatchesInOrder) {
  EXPECT_EQ(matches("30 2 * * *", 2), "2026-01-01T02:30:00 2026-01-02T02:30:00");
  EXPECT_EQ(
    matches("15,45 22-23 * * *", 4),
    "2026-01-01T22:15:00 2026-01-01T22:45:00 2026-01-01T23:15:00 2026-01-01T23:45:00");
  EXPECT_EQ(matches("59 59 23 31 12 *", 2), "2026-12-31T23:59:59 2027-12-31T23:59:59");
  EXPECT_EQ(
    matches("*/40 * * * * *", 3),
    "2026-01-01T00:00:00 2026-01-01T00:00:40 2026-01-01T00:01:00");
  EXPECT_EQ(
    matches("0 0 31 * *", 3),
    "2026-01-31T00:00:00 2026-03-31T00:00:00 2026-05-31T00:00:00");
  EXPECT_EQ(matches("0 0 * * sun", 2), "2026-01-04T00:00:00 2026-01-11T00:00:00");
  EXPECT_EQ(matches("0 0 * * 7", 2), "2026-01-04T00:00:00 2026-01-11T00:00:00");
  EXPECT_EQ(
    matches("0 0 * 2 sat-sun", 3),
    "2026-02-01T00:00:00 2026-02-07T00:00:00 2026-02-08T00:00:00");
}

TEST(CronNext, FindsLeapDays) {
  EXPECT_EQ(matches("0 0 29 2 *", 2), "2028-02-29T00:00:00 2032-02-29T00:00:00");
  // Leap days that are a Sunday or a Friday.
  EXPECT_EQ(matches("0 0 29 2 */5", 2), "2032-02-29T00:00:00 2036-02-29T00:00:00");
}

TEST(CronNext, RestrictedDaysOfMonthAndWeekMatchAlone) {
  EXPECT_EQ(
    matches("0 0 13 * fri", 4),
    "2026-01-02T00:00:00 2026-01-09T00:00:00 2026-01-13T00:00:00 2026-01-16T00:00:00");
  EXPECT_EQ(
    matches("0 0 1-31/2 * fri", 4),
    "2026-01-01T00:00:00 2026-01-02T00:00:00 2026-01-03T00:00:00 2026-01-05T00:00:00");
}

TEST(CronNext, FieldOfDaysThatBeginsWithAStarDoesNotMatchAlone) {
  EXPECT_EQ(
    matches("0 0 */2 * fri", 3),
    "2026-01-09T00:00:00 2026-01-23T00:00:00 2026-02-13T00:00:00");
  EXPECT_EQ(
    matches("0 0 13 * */5", 3),
    "2026-02-13T00:00:00 2026-03-13T00:00:00 2026-09-13T00:00:00");
}

TEST(CronNext, EndsBeforeTheGivenTime) {
  auto cron = of("30 2 * * *");

  EXPECT_EQ(cron.next(at(2026y / 1 / 1), at(2026y / 1 / 1, 2h + 30min)), std::nullopt);
  EXPECT_EQ(
    cron.next(at(2026y / 1 / 1), at(2026y / 1 / 1, 2h + 30min + 1s)),
    at(2026y / 1 / 1, 2h + 30min));
  EXPECT_EQ(cron.next(at(2026y / 1 / 2), at(2026y / 1 / 1)), std::nullopt);
}

TEST(CronCount, EqualsTheNumberOfMatches) {
  const char* texts[] = {
    "* * * * * *",  "*/7 * * * *",              "30 2 * * *",
    "0 0 13 * fri", "15-20 3,4 8,22 1-10 * 1", "0 12 31 * *"};
  for (const auto* text : texts) {
    auto cron = of(text);
    for (int i = 0; i < 60; ++i) {
      auto from = at(2026y / 1 / 1) + i * 7777s;
      auto until = from + i * i * 37s;

      std::uint64_t found = 0;
      for (auto each = cron.next(from, until); each; each = cron.next(*each + 1s, until)) {
        ++found;
        ASSERT_TRUE(cron.matches(*each));
      }
      ASSERT_EQ(cron.count(from, until), found) << text << " " << to_text(from);
    }
  }
  EXPECT_EQ(of("* * * * * *").count(at(2026y / 1 / 1), at(2027y / 1 / 1)), 31'536'000u);
  EXPECT_EQ(of("* * * * *").count(at(2026y / 1 / 2), at(2026y / 1 / 1)), 0u);
}

} // namespace
} // namespace codeq::schedule
