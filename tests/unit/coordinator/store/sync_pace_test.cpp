// SPDX-License-Identifier: Apache-2.0

#include "base/tuning.hpp"
#include "coordinator/store/sync_pace.hpp"

#include <gtest/gtest.h>

namespace codeq::coordinator {
namespace {

using namespace std::chrono_literals;

constexpr sync_pace::time_point start{1'000s};

TEST(SyncPace, SyncsAnIntervalAfterTheFirstCommit) {
  sync_pace pace;

  EXPECT_EQ(pace.committed(start), start + tuning::os_sync_interval);
  EXPECT_EQ(pace.committed(start + 1ms), std::nullopt) << "a sync is due already";
}

TEST(SyncPace, HasNothingToSyncBeforeTheFirstCommitAndAfterTheSyncOfTheLast) {
  sync_pace pace;
  EXPECT_FALSE(pace.begin());

  (void)pace.committed(start);
  EXPECT_TRUE(pace.begin());
  EXPECT_FALSE(pace.begin()) << "one at a time";
  EXPECT_EQ(pace.end(), std::nullopt);

  EXPECT_FALSE(pace.begin());
}

TEST(SyncPace, SyncsLaterWhatWasCommittedDuringASync) {
  sync_pace pace;
  (void)pace.committed(start);
  ASSERT_TRUE(pace.begin());

  EXPECT_EQ(pace.committed(start + 600ms), std::nullopt);
  EXPECT_EQ(pace.committed(start + 700ms), std::nullopt);

  EXPECT_EQ(pace.end(), start + 600ms + tuning::os_sync_interval);
}

TEST(SyncPace, IsBehindByTheAgeOfTheFirstCommitThatIsNotSynced) {
  sync_pace pace;
  EXPECT_FALSE(pace.is_behind(start + 1h));

  (void)pace.committed(start);
  EXPECT_FALSE(pace.is_behind(start + tuning::os_unsynced_max - 1ms));
  EXPECT_TRUE(pace.is_behind(start + tuning::os_unsynced_max));

  ASSERT_TRUE(pace.begin());
  (void)pace.committed(start + 600ms);
  EXPECT_TRUE(pace.is_behind(start + tuning::os_unsynced_max)) << "it is not done yet";

  (void)pace.end();
  EXPECT_FALSE(pace.is_behind(start + tuning::os_unsynced_max));
  EXPECT_TRUE(pace.is_behind(start + 600ms + tuning::os_unsynced_max));
}

} // namespace
} // namespace codeq::coordinator
