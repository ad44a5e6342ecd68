// SPDX-License-Identifier: Apache-2.0
#include "codeq/schedule.hpp"

#include <gtest/gtest.h>

namespace codeq {
namespace {

using namespace std::chrono_literals;

constexpr timestamp now{1'000'000s};

schedule_info firing_in(duration wait) {
  schedule_info info;
  info.next.push_back({"", now + wait});
  return info;
}

TEST(ScheduleText, SaysWhenItFiresNextInTwoUnits) {
  EXPECT_EQ(
    explain(firing_in(3h + 20min + 5s), now), "next fire in 3 h 20 min; it has not fired yet");
  EXPECT_EQ(explain(firing_in(250ms), now), "next fire in 250 ms; it has not fired yet");
  EXPECT_EQ(explain(firing_in(-5ms), now), "next fire in 0 ms; it has not fired yet");
}

TEST(ScheduleText, SaysWhyTheLatestWasSkipped) {
  auto info = firing_in(2h);
  info.latest.emplace();
  info.latest->when.nominal = "2026-01-31T12:00:00";
  info.latest->state = occurrence_state::skipped_overlap;

  EXPECT_EQ(
    explain(info, now),
    "next fire in 2 h; the latest, of 2026-01-31T12:00:00, was skipped because its predecessor had "
    "not ended");
}

TEST(ScheduleText, SaysWhyItDoesNotFire) {
  schedule_info info;
  info.spec.rule = "* * * * *; zone=Europe/Berlin; end=2026-01-01T00:00:00Z";
  EXPECT_EQ(explain(info, now), "does not fire any more; it has not fired yet");
  info.spec.rule = "* * * * *; zone=Europe/Berlin";
  EXPECT_EQ(
    explain(info, now),
    "cannot fire, because the coordinator does not know its time zone; it has not fired yet");
  info.paused = true;
  EXPECT_EQ(explain(info, now), "paused, so it does not fire; it has not fired yet");
}

} // namespace
} // namespace codeq
