// SPDX-License-Identifier: Apache-2.0
#include "security/key_source.hpp"

#include "test_issuer.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace codeq::security {

namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

const monotonic_time start{hours(100)};

jwk_set some_keys(const char* id) {
  return parse_jwk_set(set_of({test_key::ec(id).jwk()})).value();
}

} // namespace

TEST(RefreshSchedule, GoodKeysAreReadAgainAfterTheInterval) {
  refresh_schedule schedule(minutes(10));
  schedule.done(true, start);

  EXPECT_EQ(schedule.next(), start + minutes(10));
}

TEST(RefreshSchedule, UnknownKeysCauseOneRefreshPerPause) {
  refresh_schedule schedule(minutes(10));
  schedule.done(true, start);
  for (int i = 0; i < 1000; ++i)
    schedule.hurry();

  EXPECT_EQ(schedule.next(), start + seconds(30));
  schedule.done(true, start + seconds(30));
  EXPECT_EQ(schedule.next(), start + seconds(30) + minutes(10));
}

TEST(RefreshSchedule, FailedRefreshIsTriedAgainAfterThePause) {
  refresh_schedule schedule(minutes(10));
  schedule.done(false, start);

  EXPECT_EQ(schedule.next(), start + seconds(30));
}

TEST(RefreshSchedule, PauseIsNeverLongerThanTheInterval) {
  refresh_schedule schedule(seconds(2));
  schedule.done(false, start);

  EXPECT_EQ(schedule.next(), start + seconds(2));
}

TEST(KeySource, LastKeysStayInUseUntilTheyAreStale) {
  key_source source(hours(1), [] {});
  timestamp now{hours(1000)};
  EXPECT_EQ(source.current(now), nullptr);

  EXPECT_TRUE(source.replace(some_keys("a"), now));

  auto keys = source.current(now + minutes(59));
  ASSERT_NE(keys, nullptr);
  EXPECT_NE(keys->find("a"), nullptr);
  EXPECT_EQ(source.current(now + hours(1)), nullptr);
  EXPECT_FALSE(source.replace(*keys, now + hours(2))) << "the same keys";
  EXPECT_EQ(source.current(now + hours(2)), keys);
  EXPECT_TRUE(source.replace(some_keys("b"), now + hours(2)));
}

} // namespace codeq::security
