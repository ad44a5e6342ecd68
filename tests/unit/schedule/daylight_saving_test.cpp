// SPDX-License-Identifier: Apache-2.0
#include "unit/schedule/schedule_fixture.hpp"

#include <gtest/gtest.h>

namespace codeq::schedule {
namespace {

/// The occurrences of two local days around a change of the clocks.
struct change_case {
  const char* name;
  const char* rule;
  const char* from;
  const char* until;
  const char* expected;
};

constexpr change_case cases[] = {
  {"BerlinGapIsShiftedToItsEnd", "30 2 * * *; zone=Europe/Berlin", "2026-03-28T12:00:00Z",
   "2026-03-30T12:00:00Z",
   "2026-03-29T02:30:00 at 2026-03-29T03:00:00+02:00\n"
   "2026-03-30T02:30:00 at 2026-03-30T02:30:00+02:00\n"},
  {"BerlinGapIsSkipped", "30 2 * * *; zone=Europe/Berlin; gap=skip", "2026-03-28T12:00:00Z",
   "2026-03-30T12:00:00Z", "2026-03-30T02:30:00 at 2026-03-30T02:30:00+02:00\n"},
  {"TimesOfOneGapAreOneOccurrence", "10,30 2 * * *; zone=Europe/Berlin", "2026-03-28T12:00:00Z",
   "2026-03-29T12:00:00Z", "2026-03-29T02:30:00 at 2026-03-29T03:00:00+02:00\n"},
  {"TimeAtTheEndOfAGapStandsForThoseInIt", "*/30 1-3 * * *; zone=Europe/Berlin",
   "2026-03-28T12:00:00Z", "2026-03-29T12:00:00Z",
   "2026-03-29T01:00:00 at 2026-03-29T01:00:00+01:00\n"
   "2026-03-29T01:30:00 at 2026-03-29T01:30:00+01:00\n"
   "2026-03-29T03:00:00 at 2026-03-29T03:00:00+02:00\n"
   "2026-03-29T03:30:00 at 2026-03-29T03:30:00+02:00\n"},
  {"BerlinFoldFiresFirst", "30 2 * * *; zone=Europe/Berlin", "2026-10-24T12:00:00Z",
   "2026-10-25T12:00:00Z", "2026-10-25T02:30:00 at 2026-10-25T02:30:00+02:00\n"},
  {"BerlinFoldFiresLast", "30 2 * * *; zone=Europe/Berlin; fold=last", "2026-10-24T12:00:00Z",
   "2026-10-25T12:00:00Z", "2026-10-25T02:30:00 second at 2026-10-25T02:30:00+01:00\n"},
  {"BerlinFoldFiresBoth", "0,30 2,3 * * *; zone=Europe/Berlin; fold=both", "2026-10-24T12:00:00Z",
   "2026-10-25T12:00:00Z",
   "2026-10-25T02:00:00 at 2026-10-25T02:00:00+02:00\n"
   "2026-10-25T02:30:00 at 2026-10-25T02:30:00+02:00\n"
   "2026-10-25T02:00:00 second at 2026-10-25T02:00:00+01:00\n"
   "2026-10-25T02:30:00 second at 2026-10-25T02:30:00+01:00\n"
   "2026-10-25T03:00:00 at 2026-10-25T03:00:00+01:00\n"
   "2026-10-25T03:30:00 at 2026-10-25T03:30:00+01:00\n"},
  {"NewYorkGap", "0 2 * * *; zone=America/New_York", "2026-03-07T12:00:00Z",
   "2026-03-09T12:00:00Z",
   "2026-03-08T02:00:00 at 2026-03-08T03:00:00-04:00\n"
   "2026-03-09T02:00:00 at 2026-03-09T02:00:00-04:00\n"},
  {"NewYorkFold", "0 1 * * *; zone=America/New_York; fold=both", "2026-10-31T12:00:00Z",
   "2026-11-01T12:00:00Z",
   "2026-11-01T01:00:00 at 2026-11-01T01:00:00-04:00\n"
   "2026-11-01T01:00:00 second at 2026-11-01T01:00:00-05:00\n"},
  {"LordHoweGapOfHalfAnHour", "15,45 2 * * *; zone=Australia/Lord_Howe", "2026-10-03T03:00:00Z",
   "2026-10-04T03:00:00Z",
   "2026-10-04T02:15:00 at 2026-10-04T02:30:00+11:00\n"
   "2026-10-04T02:45:00 at 2026-10-04T02:45:00+11:00\n"},
  {"LordHoweFoldOfHalfAnHour", "15,45 1 * * *; zone=Australia/Lord_Howe; fold=both",
   "2026-04-04T03:00:00Z", "2026-04-05T03:00:00Z",
   "2026-04-05T01:15:00 at 2026-04-05T01:15:00+11:00\n"
   "2026-04-05T01:45:00 at 2026-04-05T01:45:00+11:00\n"
   "2026-04-05T01:45:00 second at 2026-04-05T01:45:00+10:30\n"},
  {"ApiaSkippedDayIsShiftedToItsEnd", "0 12 * * *; zone=Pacific/Apia", "2011-12-29T12:00:00Z",
   "2012-01-01T12:00:00Z",
   "2011-12-29T12:00:00 at 2011-12-29T12:00:00-10:00\n"
   "2011-12-30T12:00:00 at 2011-12-31T00:00:00+14:00\n"
   "2011-12-31T12:00:00 at 2011-12-31T12:00:00+14:00\n"
   "2012-01-01T12:00:00 at 2012-01-01T12:00:00+14:00\n"},
  {"ApiaSkippedDayIsSkipped", "0 12 * * *; zone=Pacific/Apia; gap=skip", "2011-12-29T12:00:00Z",
   "2011-12-31T12:00:00Z",
   "2011-12-29T12:00:00 at 2011-12-29T12:00:00-10:00\n"
   "2011-12-31T12:00:00 at 2011-12-31T12:00:00+14:00\n"},
  {"SaoPauloMidnightGap", "@daily; zone=America/Sao_Paulo", "2018-11-03T12:00:00Z",
   "2018-11-05T12:00:00Z",
   "2018-11-04T00:00:00 at 2018-11-04T01:00:00-02:00\n"
   "2018-11-05T00:00:00 at 2018-11-05T00:00:00-02:00\n"},
  {"SaoPauloMidnightFoldIsOfTheDayBefore", "30 23 * * *; zone=America/Sao_Paulo; fold=both",
   "2019-02-16T12:00:00Z", "2019-02-17T12:00:00Z",
   "2019-02-16T23:30:00 at 2019-02-16T23:30:00-02:00\n"
   "2019-02-16T23:30:00 second at 2019-02-16T23:30:00-03:00\n"},
  {"CasablancaFoldBeforeRamadan", "30 2 * * *; zone=Africa/Casablanca; fold=both",
   "2024-03-09T12:00:00Z", "2024-03-10T12:00:00Z",
   "2024-03-10T02:30:00 at 2024-03-10T02:30:00+01:00\n"
   "2024-03-10T02:30:00 second at 2024-03-10T02:30:00+00:00\n"},
  {"CasablancaGapAfterRamadan", "30 2 * * *; zone=Africa/Casablanca", "2024-04-13T12:00:00Z",
   "2024-04-14T12:00:00Z", "2024-04-14T02:30:00 at 2024-04-14T03:00:00+01:00\n"},
  {"DublinSummerIsStandardTime", "30 1 * * *; zone=Europe/Dublin", "2026-03-28T12:00:00Z",
   "2026-03-29T12:00:00Z", "2026-03-29T01:30:00 at 2026-03-29T02:00:00+01:00\n"},
  {"PeriodIgnoresTheZone", "every 1h; zone=Europe/Berlin", "2026-03-29T00:00:00Z",
   "2026-03-29T03:00:00Z",
   "2026-03-29T00:00:00 at 2026-03-29T01:00:00+01:00\n"
   "2026-03-29T01:00:00 at 2026-03-29T03:00:00+02:00\n"
   "2026-03-29T02:00:00 at 2026-03-29T04:00:00+02:00\n"},
};

class DaylightSaving : public testing::TestWithParam<change_case> {};

TEST_P(DaylightSaving, OccurrencesAreThoseOfTheTable) {
  const auto& one = GetParam();
  auto times = times_of(one.rule);
  auto from = at(one.from);
  auto until = at(one.until);

  EXPECT_EQ(lines(times, times.preview(from, 100, until)), one.expected);
  EXPECT_EQ(times.count(from, until), times.preview(from, 100, until).size());
}

TEST_P(DaylightSaving, OccurrencesFollowEachOtherOneByOne) {
  const auto& one = GetParam();
  auto times = times_of(one.rule);
  auto from = at(one.from);
  std::vector<occurrence> found;

  auto mark = times.mark_at(from - duration{1});
  for (auto next = times.next_after(mark); next && next->due < at(one.until);
       next = times.next_after(next->nominal))
    found.push_back(*next);

  EXPECT_EQ(lines(times, found), one.expected);
}

TEST_P(DaylightSaving, MarkOfEachSecondIsThatOfTheLastOccurrence) {
  const auto& one = GetParam();
  auto times = times_of(one.rule);
  auto all = times.preview(at(one.from), 100, at(one.until));

  for (const auto& each : all) {
    EXPECT_EQ(times.next_after(times.mark_at(each.due - duration{1})), each);
    EXPECT_GT(times.next_after(times.mark_at(each.due))->due, each.due);
    EXPECT_EQ(times.last_of(at(one.from), each.due + duration{1}, 1), std::vector{each});
  }
}

INSTANTIATE_TEST_SUITE_P(
  Zones, DaylightSaving, testing::ValuesIn(cases),
  [](const auto& info) { return std::string(info.param.name); });

} // namespace
} // namespace codeq::schedule
