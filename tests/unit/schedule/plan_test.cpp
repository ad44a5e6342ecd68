// SPDX-License-Identifier: Apache-2.0
#include "schedule/plan.hpp"

#include "unit/schedule/schedule_fixture.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace codeq::schedule {
namespace {

using namespace std::chrono_literals;

const auto midnight = at("2026-01-01T00:00:00Z");

/// The due times of occurrences as minutes after midnight.
std::string minutes(const std::vector<occurrence>& all) {
  std::string text;
  for (const auto& each : all)
    text += (text.empty() ? "" : " ") + std::to_string((each.due - midnight) / 1min);
  return text;
}

std::string shown(const planned& done) {
  return "fire " + minutes(done.to_fire) + "; skip " + std::to_string(done.skipped) + ": "
         + minutes(done.newest_skipped) + "; next "
         + (done.next ? minutes({*done.next}) : std::string("none"));
}

/// Plans for a schedule that fired at midnight and was not served from then to `since`.
std::string after_outage(misfire_policy policy, duration window, duration since) {
  auto times = times_of("*/10 * * * *");
  auto now = midnight + since;
  return shown(plan(times, times.mark_at(midnight), {window, policy}, {now, now}));
}

TEST(Plan, NothingIsDueBeforeItsTime) {
  auto times = times_of("*/10 * * * *");
  auto mark = times.mark_at(midnight);

  auto done = plan(times, mark, {}, {midnight, midnight + 10min - 1ms});

  EXPECT_EQ(shown(done), "fire ; skip 0: ; next 10");
  EXPECT_EQ(done.mark, mark);
}

TEST(Plan, FiresAtItsTime) {
  auto times = times_of("*/10 * * * *");

  auto done = plan(times, times.mark_at(midnight), {}, {midnight, midnight + 10min});

  EXPECT_EQ(shown(done), "fire 10; skip 0: ; next 20");
  EXPECT_EQ(done.mark, done.to_fire.back().nominal);
}

TEST(Plan, WhatWasDueWhileServedFiresHoweverLate) {
  auto times = times_of("*/10 * * * *");

  auto done = plan(
    times, times.mark_at(midnight), {0s, misfire_policy::skip}, {midnight, midnight + 35min});

  EXPECT_EQ(shown(done), "fire 10 20 30; skip 0: ; next 40");
}

TEST(Plan, WhatIsDueAtTheBeginningOfServiceIsNotMissed) {
  EXPECT_EQ(after_outage(misfire_policy::skip, 1h, 10min), "fire 10; skip 0: ; next 20");
}

TEST(Misfire, LatestFiresOnlyTheNewest) {
  EXPECT_EQ(after_outage(misfire_policy::latest, 1h, 35min), "fire 30; skip 2: 10 20; next 40");
}

TEST(Misfire, AllFiresEachInOrder) {
  EXPECT_EQ(after_outage(misfire_policy::all, 1h, 35min), "fire 10 20 30; skip 0: ; next 40");
}

TEST(Misfire, SkipFiresNone) {
  EXPECT_EQ(after_outage(misfire_policy::skip, 1h, 35min), "fire ; skip 3: 10 20 30; next 40");
}

TEST(Misfire, WhatIsOlderThanTheWindowIsSkipped) {
  EXPECT_EQ(after_outage(misfire_policy::all, 15min, 35min), "fire 20 30; skip 1: 10; next 40");
  EXPECT_EQ(after_outage(misfire_policy::all, 5min, 35min), "fire 30; skip 2: 10 20; next 40");
  EXPECT_EQ(after_outage(misfire_policy::all, 4min, 35min), "fire ; skip 3: 10 20 30; next 40");
  EXPECT_EQ(after_outage(misfire_policy::latest, 0min, 35min), "fire ; skip 3: 10 20 30; next 40");
}

TEST(Misfire, WindowIsLimited) {
  EXPECT_EQ(
    after_outage(misfire_policy::all, duration::max(), 35min), "fire 10 20 30; skip 0: ; next 40");
}

TEST(Misfire, MissedAndServedAreDecidedTogether) {
  auto times = times_of("*/10 * * * *");

  auto done = plan(
    times, times.mark_at(midnight), {1h, misfire_policy::latest},
    {midnight + 35min, midnight + 55min});

  EXPECT_EQ(shown(done), "fire 30 40 50; skip 2: 10 20; next 60");
}

TEST(Misfire, AllCatchesUpTheNewestThousand) {
  auto times = times_of("* * * * * *");
  auto now = midnight + 2h;

  auto done = plan(times, times.mark_at(midnight), {24h, misfire_policy::all}, {now, now});

  ASSERT_EQ(done.to_fire.size(), 1000u);
  EXPECT_EQ(done.to_fire.front().due, now - 1000s);
  EXPECT_EQ(done.skipped, 7200u - 1 - 1000);
  EXPECT_EQ(done.newest_skipped.size(), skipped_named_max);
  EXPECT_EQ(done.newest_skipped.back().due, now - 1001s);
  EXPECT_EQ(done.next->due, now);
  EXPECT_EQ(plan(times, done.mark, {24h, misfire_policy::all}, {now, now}).to_fire.size(), 1u);
}

TEST(Plan, IsTheSameHoweverItsCallsAreSplit) {
  auto times = times_of("*/7 * * * * *");
  for (auto policy : {misfire_policy::latest, misfire_policy::all, misfire_policy::skip}) {
    catch_up how{30min, policy};
    auto since = midnight + 2h;
    auto end = since + 1h;
    auto whole = plan(times, times.mark_at(midnight), how, {since, end});

    std::vector<occurrence> fired;
    std::uint64_t skipped = 0;
    auto mark = times.mark_at(midnight);
    for (auto now = since; now < end + 1s; now += 997ms) {
      auto done = plan(times, mark, how, {since, std::min(now, end)});
      fired.insert(fired.end(), done.to_fire.begin(), done.to_fire.end());
      skipped += done.skipped;
      mark = done.mark;
    }
    EXPECT_EQ(fired, whole.to_fire);
    EXPECT_EQ(skipped, whole.skipped);
    EXPECT_EQ(mark, whole.mark);
  }
}

TEST(Plan, ClockThatGoesBackFiresNothingAgain) {
  auto times = times_of("*/10 * * * *");
  auto done = plan(times, times.mark_at(midnight), {}, {midnight, midnight + 30min});

  auto back = plan(times, done.mark, {}, {midnight, midnight + 5min});
  auto restarted = plan(times, done.mark, {}, {midnight + 5min, midnight + 5min});
  auto again = plan(times, done.mark, {}, {midnight, midnight + 40min});

  EXPECT_EQ(shown(back), "fire ; skip 0: ; next 40");
  EXPECT_EQ(shown(restarted), "fire ; skip 0: ; next 40");
  EXPECT_EQ(shown(again), "fire 40; skip 0: ; next 50");
}

TEST(Plan, TakesBoundedWorkAfterAYear) {
  auto times = times_of("* * * * * *; zone=Europe/Berlin; jitter=500ms");
  auto now = midnight + 24h * 365;
  auto begin = std::chrono::steady_clock::now();

  auto done = plan(times, times.mark_at(midnight), {24h * 365, misfire_policy::all}, {now, now});

  EXPECT_EQ(done.to_fire.size(), 1000u);
  EXPECT_GT(done.skipped, 31'000'000u);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 1s);
}

TEST(Plan, RuleThatHasEndedHasNoNext) {
  auto times = times_of("*/10 * * * *; end=2026-01-01T00:20:00Z");

  auto done = plan(times, times.mark_at(midnight), {}, {midnight, midnight + 1h});

  EXPECT_EQ(shown(done), "fire 10; skip 0: ; next none");
}

TEST(Misfire, PoliciesAreReadByName) {
  for (auto policy : {misfire_policy::latest, misfire_policy::all, misfire_policy::skip})
    EXPECT_EQ(*parse_misfire_policy(to_string(policy)), policy);
  EXPECT_EQ(
    parse_misfire_policy("none").error().context, "misfire: `none` is not latest, all or skip");
}

} // namespace
} // namespace codeq::schedule
