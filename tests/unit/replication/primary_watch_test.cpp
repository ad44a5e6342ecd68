// SPDX-License-Identifier: Apache-2.0
#include "replication/primary_watch.hpp"

#include <gtest/gtest.h>

namespace codeq::replication {
namespace {

using namespace std::chrono_literals;

TEST(PrimaryWatchTest, ShortSilenceIsNoOutage) {
  const monotonic_time start{1'000'000ms};
  primary_watch watch(start);

  watch.note(start + timing::suspicion - 1ms);

  EXPECT_EQ(watch.lasts(start + 2 * timing::suspicion - 2ms), 0ms);
  EXPECT_EQ(watch.total(start + 2 * timing::suspicion - 2ms), 0ms);
}

TEST(PrimaryWatchTest, OutageCountsFromItsBeginning) {
  const monotonic_time start{1'000'000ms};
  primary_watch watch(start);

  EXPECT_EQ(watch.lasts(start + 3s), 3s);
  EXPECT_EQ(watch.total(start + 3s), 3s);
  watch.note(start + 4s);
  EXPECT_EQ(watch.lasts(start + 4s), 0ms);
  EXPECT_EQ(watch.total(start + 4s), 4s);
  EXPECT_EQ(watch.total(start + 6s), 6s);
}

} // namespace
} // namespace codeq::replication
