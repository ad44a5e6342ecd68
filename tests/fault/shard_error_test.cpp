// SPDX-License-Identifier: Apache-2.0
#include "fault/shard_rig.hpp"
#include "fault/totals.hpp"
#include "support/seed.hpp"

#include <gtest/gtest.h>

#include <random>

namespace codeq::test {
namespace {

using storage::durability;

constexpr std::size_t many_groups = 1500;

class ShardIoError : public testing::TestWithParam<durability> {
protected:
  void SetUp() override {
    ASSERT_TRUE(rig_.start());
    ASSERT_TRUE(rig_.commit_groups(10));
  }

  void TearDown() override { add_to_totals(rig_.disk().counts()); }

  /// Works until the fault occurs. From then on nothing may be answered, and no earlier answer may
  /// be lost.
  void expect_stop_and_recovery() {
    auto failed = rig_.commit_groups(many_groups);
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().code, errc::io_error) << failed.error().context;
    EXPECT_FALSE(rig_.commit_groups(1)) << "a commit after a failed one was acknowledged";

    EXPECT_EQ(rig_.recover(), std::nullopt);
    EXPECT_GE(rig_.in_flight(), shard_rig::in_flight_least);
    EXPECT_EQ(rig_.groups_lost(), 0u);
    ASSERT_TRUE(rig_.commit_groups(10));
  }

  shard_rig rig_{choose_seed(), GetParam()};
};

TEST_P(ShardIoError, OfTheLogStopsTheShards) {
  for (auto operation : {disk_operation::append, disk_operation::sync}) {
    rig_.disk().fail_at({file_kind::log, operation, 5});
    expect_stop_and_recovery();
  }
}

TEST_P(ShardIoError, InTheBackgroundIsToldAndStopsTheShards) {
  for (auto user : {disk_user::flush, disk_user::compaction}) {
    rig_.disk().fail_at({file_kind::table, disk_operation::append, 1, user});
    auto failed = rig_.commit_groups(many_groups);
    ASSERT_FALSE(failed);
    EXPECT_GT(rig_.background_errors(), 0u);
    ASSERT_EQ(rig_.recover(), std::nullopt);
  }
}

TEST_P(ShardIoError, OfAFullDiskStopsTheShards) {
  for (std::uint64_t bytes : {0, 1000, 300'000}) {
    rig_.disk().limit_space(bytes);
    expect_stop_and_recovery();
  }
}

TEST_P(ShardIoError, OfAReadAtTheStartRefusesIt) {
  ASSERT_TRUE(rig_.commit_groups(200));
  for (auto kind : {file_kind::log, file_kind::manifest, file_kind::table}) {
    rig_.close();
    rig_.disk().fail_at({kind, disk_operation::read});

    EXPECT_FALSE(rig_.start());

    EXPECT_EQ(rig_.recover(), std::nullopt);
    EXPECT_EQ(rig_.groups_lost(), 0u);
    ASSERT_TRUE(rig_.commit_groups(50));
  }
}

INSTANTIATE_TEST_SUITE_P(
  In, ShardIoError, testing::Values(durability::sync, durability::os), [](const auto& info) {
    return info.param == durability::sync ? "SyncMode" : "OsMode";
  });

/// Flips one random bit of a random file of a closed store, and starts the shards again.
class ShardBitFlip : public testing::Test {
protected:
  [[nodiscard]] std::filesystem::path random_file(const shard_rig& rig, std::string_view prefix) {
    std::vector<std::filesystem::path> found;
    for (const auto& entry : std::filesystem::directory_iterator{rig.directory()})
      if (
        entry.path().filename().string().find(prefix) != std::string::npos && entry.file_size() > 0)
        found.push_back(entry.path());
    return found.at(random_() % found.size());
  }

  /// True when the damage was detected. Any other effect is a failure.
  bool flip_and_start(std::string_view prefix) {
    shard_rig rig{random_(), durability::sync};
    EXPECT_TRUE(rig.start());
    EXPECT_TRUE(rig.commit_groups(60));
    rig.close();
    auto file = random_file(rig, prefix);
    flip_bit(file, random_() % (std::filesystem::file_size(file) * 8));
    ++flips_;
    totals->count(std::string("bit flipped in *") + std::string(prefix) + "*");
    if (auto started = rig.start(); !started) {
      EXPECT_TRUE(
        started.error().code == errc::corruption || started.error().code == errc::incompatible_store
        || started.error().code == errc::io_error)
        << to_string(started.error());
      return true;
    }
    EXPECT_EQ(rig.differences(), "") << file;
    return false;
  }

  void TearDown() override { add_to_totals({}, flips_); }

  std::mt19937_64 random_{choose_seed()};
  std::uint64_t flips_ = 0;
};

TEST_F(ShardBitFlip, IsRefusedOrHarmless) {
  for (auto [file, least] :
       {std::pair{".log", 12}, std::pair{".sst", 1}, std::pair{"MANIFEST", 12}}) {
    int noticed = 0;
    for (int round = 0; round < 15; ++round)
      noticed += flip_and_start(file) ? 1 : 0;
    EXPECT_GE(noticed, least) << file;
  }
}

} // namespace
} // namespace codeq::test
