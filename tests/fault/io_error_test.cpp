// SPDX-License-Identifier: Apache-2.0
#include "fault/totals.hpp"
#include "support/crash_rig.hpp"
#include "support/seed.hpp"

#include <gtest/gtest.h>

namespace codeq::test {
namespace {

using storage::durability;

constexpr std::size_t many_groups = 5000;

class IoError : public testing::TestWithParam<durability> {
protected:
  void SetUp() override {
    ASSERT_TRUE(rig_.open());
    ASSERT_TRUE(rig_.commit_some(30));
  }

  void TearDown() override { add_to_totals(rig_.disk().counts()); }

  /// Writes until the fault occurs, then expects that the store stays failed and that nothing is
  /// lost.
  void expect_failure_and_recovery() {
    auto failed = rig_.commit_some(many_groups);
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().code, errc::io_error) << failed.error().context;
    auto again = rig_.commit_some(1);
    EXPECT_FALSE(again) << "a commit after a failed one was acknowledged";
    EXPECT_FALSE(rig_.sync_log());

    EXPECT_EQ(rig_.recover(), std::nullopt);
    EXPECT_TRUE(rig_.commit_some(30));
    EXPECT_EQ(rig_.recover(), std::nullopt);
  }

  crash_rig rig_{choose_seed(), GetParam()};
};

TEST_P(IoError, OfAnAppendToTheLogIsReportedAndFinal) {
  for (std::size_t countdown : {1, 2, 17}) {
    rig_.disk().fail_at({file_kind::log, disk_operation::append, countdown});
    expect_failure_and_recovery();
  }
}

TEST_P(IoError, OfASyncOfTheLogIsReportedAndFinal) {
  for (std::size_t countdown : {1, 2}) {
    rig_.disk().fail_at({file_kind::log, disk_operation::sync, countdown});
    expect_failure_and_recovery();
  }
}

TEST_P(IoError, OfANewLogIsReportedAndFinal) {
  rig_.disk().fail_at({file_kind::log, disk_operation::create});
  expect_failure_and_recovery();
}

TEST_P(IoError, OfAFlushIsReportedAndFinal) {
  rig_.disk().fail_at({file_kind::table, disk_operation::append, 1, disk_user::flush});
  expect_failure_and_recovery();
}

TEST_P(IoError, OfTheManifestIsReportedAndFinal) {
  rig_.disk().fail_at({file_kind::manifest, disk_operation::append});
  expect_failure_and_recovery();
  rig_.disk().fail_at({file_kind::manifest, disk_operation::sync});
  expect_failure_and_recovery();
}

TEST_P(IoError, OfAFullDiskIsReportedAndFinal) {
  for (std::uint64_t bytes : {0, 100, 100'000, 1'000'000}) {
    rig_.disk().limit_space(bytes);
    expect_failure_and_recovery();
  }
}

TEST_P(IoError, OfAReadIsReported) {
  // Enough to have tables on disk, which are then read.
  ASSERT_TRUE(rig_.commit_some(300));
  rig_.close();
  ASSERT_TRUE(rig_.open());
  rig_.disk().fail_at({file_kind::table, disk_operation::read});

  auto found = read_all(rig_.store());

  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, errc::io_error);
  EXPECT_EQ(rig_.recover(), std::nullopt);
}

INSTANTIATE_TEST_SUITE_P(
  In, IoError, testing::Values(durability::sync, durability::os), [](const auto& info) {
    return info.param == durability::sync ? "SyncMode" : "OsMode";
  });

} // namespace
} // namespace codeq::test
