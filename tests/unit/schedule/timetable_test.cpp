// SPDX-License-Identifier: Apache-2.0
#include "unit/schedule/schedule_fixture.hpp"
#include "unit/schedule/zone_bytes.hpp"

#include "schedule/zone_file.hpp"

#include <gtest/gtest.h>

namespace codeq::schedule {
namespace {

using namespace std::chrono_literals;

std::string refusal(const std::string& line) {
  auto parsed = parse_rule(line).value();
  auto made = timetable::make(parsed, zone_of(parsed.zone), "test/nightly");
  return made ? "" : to_string(made.error());
}

std::string next(const timetable& times, const std::string& now) {
  auto found = times.next_after(times.mark_at(at(now)));
  return found ? times.zone()->text_of(found->due) : "none";
}

/// A zone with one offset until an instant, and another one from then on.
zone_ptr turning(std::int32_t before, const std::string& when, std::int32_t after) {
  zone_bytes file;
  file.offsets = {before, after};
  file.turns = {{at(when).time_since_epoch() / 1s, 1}};
  return std::make_shared<const time_zone>(decode_zone_file("Test/Zone", file.text()).value());
}

timetable in_zone(const std::string& line, zone_ptr zone) {
  auto parsed = parse_rule(line + "; zone=Test/Zone").value();
  return timetable::make(parsed, std::move(zone), "test/nightly").value();
}

TEST(Timetable, OccurrenceAtTheMomentOfTheMarkDoesNotFire) {
  auto times = times_of("*/10 * * * *");

  EXPECT_EQ(next(times, "2026-01-01T00:09:59.999Z"), "2026-01-01T00:10:00+00:00");
  EXPECT_EQ(next(times, "2026-01-01T00:10:00Z"), "2026-01-01T00:20:00+00:00");
}

TEST(Timetable, PeriodIsCountedFromItsAnchorInBothDirections) {
  auto times = times_of("every 90s; anchor=2026-01-01T00:00:10Z");

  EXPECT_EQ(next(times, "2026-01-01T00:00:10Z"), "2026-01-01T00:01:40+00:00");
  EXPECT_EQ(next(times, "2026-01-01T00:00:09Z"), "2026-01-01T00:00:10+00:00");
  EXPECT_EQ(next(times, "2025-12-31T23:58:00Z"), "2025-12-31T23:58:40+00:00");
}

TEST(Timetable, StartAndEndBoundTheOccurrences) {
  auto times = times_of(
    "0 * * * *; start=2026-01-01T10:00:00Z; end=2026-01-01T12:00:00Z");

  EXPECT_EQ(next(times, "2020-01-01T00:00:00Z"), "2026-01-01T10:00:00+00:00");
  EXPECT_EQ(next(times, "2026-01-01T10:00:00Z"), "2026-01-01T11:00:00+00:00");
  EXPECT_EQ(next(times, "2026-01-01T11:00:00Z"), "none");
  EXPECT_EQ(times.count(at("2020-01-01T00:00:00Z"), at("2030-01-01T00:00:00Z")), 2u);
  EXPECT_EQ(times.count(at("2020-01-01T00:00:00Z"), at("2026-01-01T10:00:00Z")), 0u);
  EXPECT_EQ(times.count(at("2026-01-01T12:00:00Z"), at("2030-01-01T00:00:00Z")), 0u);
}

TEST(Timetable, RuleThatNeverFiresIsRefused) {
  EXPECT_EQ(
    refusal("0 12 * * *; start=2026-01-01T12:00:01Z; end=2026-01-02T12:00:00Z"),
    "invalid_argument: rule: `0 12 * * *; start=2026-01-01T12:00:01.000Z; "
    "end=2026-01-02T12:00:00.000Z` never fires: no time matches from 2026-01-01T12:00:01Z to "
    "2026-01-02T12:00:00Z");
  EXPECT_EQ(
    refusal("30 2 29 3 *; zone=Europe/Berlin; gap=skip; start=2026-01-01T00:00:00Z; "
            "end=2027-01-01T00:00:00Z")
      .substr(0, 22),
    "invalid_argument: rule");
  EXPECT_EQ(refusal("0 0 29 2 */5"), "");
}

TEST(Timetable, NothingFiresAfterTheHorizon) {
  auto times = times_of("@yearly");

  EXPECT_EQ(next(times, "2198-06-01T00:00:00Z"), "2199-01-01T00:00:00+00:00");
  EXPECT_EQ(next(times, "2199-06-01T00:00:00Z"), "none");
}

TEST(Timetable, AnyStoredMarkIsSafe) {
  auto cron = times_of("30 2 * * *; zone=Europe/Berlin; fold=both");
  auto fixed = times_of("every 1h");

  for (auto order : {local_seconds::min(), local_seconds::max(), local_seconds{1'793'000'000s}})
    for (auto local : {local_seconds::min(), local_seconds::max(), local_seconds{1'793'000'000s}}) {
      static_cast<void>(cron.next_after({order, local}));
      static_cast<void>(fixed.next_after({order, local}));
    }
  EXPECT_TRUE(cron.next_after({local_seconds::min(), local_seconds::min()}));
  EXPECT_FALSE(cron.next_after({local_seconds::max(), local_seconds::max()}));
}

TEST(Timetable, LastOccurrencesOfALongTimeAreFoundAtOnce) {
  auto times = times_of("* * * * * *; zone=Europe/Berlin");
  auto from = at("1980-01-01T00:00:00Z");
  auto until = at("2026-01-01T00:00:00Z");

  auto last = times.last_of(from, until, 3);

  ASSERT_EQ(last.size(), 3u);
  EXPECT_EQ(last.front().due, until - 3s);
  EXPECT_EQ(last.back().due, until - 1s);
  // Each fold shows its hour again, which does not fire; each gap is as long, and fires once.
  auto seconds = static_cast<std::uint64_t>((until - from) / 1s);
  EXPECT_EQ(times.count(from, until), seconds - 46 * 3600);
  EXPECT_EQ(times.last_of(from, from + 2s, 5).size(), 2u);
  EXPECT_TRUE(times.last_of(from, from, 5).empty());
}

TEST(Jitter, DependsOnScheduleAndNominalTimeAlone) {
  auto times = times_of("0 * * * *; jitter=10m");
  auto same = times_of("0 * * * *; jitter=10m");
  auto other = times_of("0 * * * *; jitter=10m", "test/other");
  auto all = times.preview(at("2026-01-01T00:00:00Z"), 100);

  EXPECT_EQ(all, same.preview(at("2026-01-01T00:00:00Z"), 100));
  EXPECT_NE(all, other.preview(at("2026-01-01T00:00:00Z"), 100));
  EXPECT_NE(all[1].due - all[0].due, all[2].due - all[1].due);
}

TEST(Jitter, StaysBelowItsBoundAndBeforeTheNextOccurrence) {
  auto wide = times_of("*/5 * * * *; jitter=24h");
  auto narrow = times_of("*/5 * * * *; jitter=1s");
  duration largest{0};
  for (const auto& each : narrow.preview(at("2026-01-01T00:00:00Z"), 1000)) {
    auto late = each.due.time_since_epoch() % 5min;
    EXPECT_LT(late, 1s);
    largest = std::max(largest, late);
  }
  EXPECT_GT(largest, 900ms);

  auto all = wide.preview(at("2026-01-01T00:00:00Z"), 1000);
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_LT(all[i].due, at("2026-01-01T00:05:00Z") + i * 5min);
    EXPECT_GE(all[i].due, at("2026-01-01T00:00:00Z") + i * 5min);
  }
}

TEST(Jitter, OccurrencesAreFoundByTheTimeWhenTheyAreDue) {
  auto times = times_of("*/5 * * * *; jitter=5m");
  auto all = times.preview(at("2026-01-01T00:00:00Z"), 300);

  for (std::size_t i = 1; i + 1 < all.size(); ++i) {
    EXPECT_EQ(times.last_of(all[i].due, all[i + 1].due, 2), std::vector{all[i]});
    EXPECT_EQ(times.last_of(all[i].due + 1ms, all[i + 1].due + 1ms, 2), std::vector{all[i + 1]});
    EXPECT_EQ(times.last_of(all[0].due, all[i].due, 1), std::vector{all[i - 1]});
    EXPECT_EQ(times.count(all[0].due, all[i].due), i);
    EXPECT_EQ(times.next_after(all[i].nominal), all[i + 1]);
  }
}

TEST(Jitter, OccurrenceThatIsNotDueYetComesAfterTheMark) {
  for (const auto* rule : {"*/5 * * * *; jitter=5m", "every 5m; jitter=5m"}) {
    auto times = times_of(rule);
    for (const auto& each : times.preview(at("2026-01-01T00:00:00Z"), 300)) {
      auto before = times.next_after(times.mark_at(each.due - 1ms));
      auto after = times.next_after(times.mark_at(each.due));

      EXPECT_EQ(before, each);
      EXPECT_GT(after->due, each.due);
    }
  }
}

TEST(Jitter, ThatIsAddedFiresNothingAgain) {
  auto before = times_of("*/5 * * * *");
  auto after = times_of("*/5 * * * *; jitter=5m");
  auto fired = before.next_after(before.mark_at(at("2026-01-01T00:00:00Z")));

  auto mark = mark_after_change(before, fired->nominal, after, fired->due + 1ms);

  EXPECT_GT(after.next_after(mark)->nominal, fired->nominal);
}

TEST(ZoneChange, WhatFiredAtALocalTimeDoesNotFireThereAgain) {
  auto before = in_zone("0 10 * * *", turning(3600, "2100-01-01T00:00:00Z", 3600));
  auto fired = before.next_after(before.mark_at(at("2026-05-01T08:00:00Z")));
  ASSERT_EQ(fired->due, at("2026-05-01T09:00:00Z"));

  // The zone turned its clocks back the day before, which is learned only now.
  auto after = in_zone("0 10 * * *", turning(3600, "2026-04-30T12:00:00Z", -3600));

  EXPECT_EQ(after.next_after(fired->nominal)->due, at("2026-05-02T11:00:00Z"));
}

TEST(ZoneChange, WhatIsAheadFiresByTheNewRules) {
  auto before = in_zone("0 10 * * *", turning(3600, "2100-01-01T00:00:00Z", 3600));
  auto mark = before.mark_at(at("2026-05-01T08:30:00Z"));

  auto after = in_zone("0 10 * * *", turning(3600, "2026-04-30T12:00:00Z", 7200));

  // 10:00 has passed by the new rules and has not fired.
  EXPECT_EQ(after.next_after(mark)->due, at("2026-05-01T08:00:00Z"));
}

TEST(ZoneChange, GapThatMovesFiresOnce) {
  auto rule = "30 2 * * *";
  auto before = in_zone(rule, turning(3600, "2026-03-29T01:00:00Z", 7200));
  auto fired = before.next_after(before.mark_at(at("2026-03-28T12:00:00Z")));
  ASSERT_EQ(fired->due, at("2026-03-29T01:00:00Z"));
  ASSERT_EQ(to_string(fired->nominal), "2026-03-29T02:30:00");

  for (const auto& zone :
       {turning(3600, "2026-03-29T01:00:00Z", 7200), turning(3600, "2026-03-29T01:10:00Z", 7200),
        turning(3600, "2026-03-29T05:00:00Z", 7200), turning(3600, "2100-01-01T00:00:00Z", 7200)})
    EXPECT_EQ(
      to_string(in_zone(rule, zone).next_after(fired->nominal)->nominal), "2026-03-30T02:30:00");
}

TEST(RuleChange, EqualRuleKeepsItsMark) {
  auto times = times_of("0 * * * *");
  auto mark = times.mark_at(at("2026-01-01T00:00:00Z"));

  EXPECT_EQ(mark_after_change(times, mark, times, at("2026-01-01T05:00:00Z")), mark);
}

TEST(RuleChange, NothingBeforeTheChangeFires) {
  auto before = times_of("0 * * * *");
  auto after = times_of("*/10 * * * *");
  auto now = at("2026-01-01T05:00:00Z");

  auto mark = mark_after_change(before, before.mark_at(at("2026-01-01T00:00:00Z")), after, now);

  EXPECT_EQ(after.next_after(mark)->due, at("2026-01-01T05:10:00Z"));
}

TEST(RuleChange, WhatHasFiredOnOneClockDoesNotFireAgain) {
  auto before = times_of("0 10 * * *; zone=Europe/Berlin");
  auto after = times_of("0 9-11 * * *; zone=Europe/Berlin");
  auto fired = before.next_after(before.mark_at(at("2026-01-01T00:00:00Z")));

  // The clock was set back after 10:00 fired.
  auto mark = mark_after_change(before, fired->nominal, after, at("2026-01-01T07:30:00Z"));

  EXPECT_EQ(to_string(after.next_after(mark)->nominal), "2026-01-01T11:00:00");
}

TEST(RuleChange, TimesOfOtherClocksDoNotCount) {
  auto before = times_of("*/5 * * * *; zone=Asia/Tokyo");
  auto now = at("2026-01-01T07:31:00Z");
  auto mark = before.mark_at(now);

  for (const auto* line : {"*/5 * * * *; zone=America/New_York", "every 5m"}) {
    auto after = times_of(line);
    EXPECT_EQ(
      after.next_after(mark_after_change(before, mark, after, now))->due,
      at("2026-01-01T07:35:00Z"));
  }
}

} // namespace
} // namespace codeq::schedule
