// SPDX-License-Identifier: Apache-2.0
#include "fault/shard_rig.hpp"
#include "fault/totals.hpp"
#include "support/seed.hpp"

#include <gtest/gtest.h>

#include <array>
#include <random>

namespace codeq::test {
namespace {

using storage::durability;

constexpr std::array policies{
  cut_policy::lose_all, cut_policy::keep_prefix, cut_policy::per_file, cut_policy::torn};

/// Number of cuts per place with each policy in each mode, and per disk with all policies.
constexpr int rounds_per_place = 5;
constexpr int rounds_per_disk = 1;

/// The operation that a cut interrupts.
struct place {
  const char* name;
  fault_point point;
  /// The point is one of the first `spread` operations of its kind.
  std::size_t spread;
  /// The operations are counted from the commit of a snapshot on.
  bool at_snapshot = false;
};

constexpr fault_point log_append{file_kind::log, disk_operation::append};
constexpr fault_point log_sync{file_kind::log, disk_operation::sync};

constexpr place places[] = {
  {"AppendToTheLog", log_append, 60},
  {"SyncOfTheLog", log_sync, 8},
  {"Flush", {file_kind::table, disk_operation::append, 1, disk_user::flush}, 6},
  {"Compaction", {file_kind::table, disk_operation::append, 1, disk_user::compaction}, 6},
  {"AppendToTheManifest", {file_kind::manifest, disk_operation::append}, 8},
  {"SyncOfTheManifest", {file_kind::manifest, disk_operation::sync}, 8},
  {"AppendOfASnapshot", log_append, 1, true},
  {"SyncOfASnapshot", log_sync, 1, true},
};

class ShardPowerCut : public testing::TestWithParam<place> {
protected:
  /// Cuts the power once at such a place while shards work; describes what is wrong afterwards.
  std::optional<std::string> cut_once(shard_rig& rig, cut_policy policy) {
    auto point = GetParam().point;
    point.countdown = 1 + random_() % GetParam().spread;
    // Commits some groups first, so that there is data to lose.
    if (!rig.start() || !rig.commit_groups(10))
      return "does not work before the cut";
    if (GetParam().at_snapshot)
      rig.cut_power_at_snapshot(point, policy);
    else
      rig.disk().cut_power_at(point, policy);
    constexpr std::size_t groups_max = 1500;
    if (rig.commit_groups(groups_max))
      return "the place was not reached";
    EXPECT_TRUE(rig.disk().was_reached());
    auto wrong = rig.recover();
    EXPECT_GE(rig.in_flight(), shard_rig::in_flight_least);
    in_flight_ += rig.in_flight();
    return wrong;
  }

  void cut_often(durability mode) {
    auto seed = choose_seed();
    random_.seed(seed);
    for (int disk = 0; disk < rounds_per_place / rounds_per_disk; ++disk) {
      shard_rig rig{seed + static_cast<std::uint64_t>(disk), mode};
      for (int round = 0; round < rounds_per_disk; ++round)
        for (auto policy : policies)
          check_cut(rig, policy, mode);
      if (HasFatalFailure())
        return;
      add_to_totals(rig.disk().counts());
      totals->count("answers asked for again", rig.answers_checked());
    }
    totals->count("requests in flight at cuts", in_flight_);
  }

  void check_cut(shard_rig& rig, cut_policy policy, durability mode) {
    auto wrong = cut_once(rig, policy);
    ASSERT_EQ(wrong, std::nullopt) << "policy " << static_cast<int>(policy);
    totals->count(std::string("cut at ") + GetParam().name);
    if (mode == durability::sync) {
      EXPECT_EQ(rig.groups_lost(), 0u);
    } else if (rig.groups_lost() > 0) {
      EXPECT_NE(rig.said(), "") << rig.groups_lost() << " groups are lost and nobody is told";
      totals->count("acknowledged groups lost in os mode, and said", rig.groups_lost());
    }
  }

  std::mt19937_64 random_;
  std::size_t in_flight_ = 0;
};

TEST_P(ShardPowerCut, LosesNothingAcknowledgedInSyncMode) {
  cut_often(durability::sync);
}

TEST_P(ShardPowerCut, LosesASuffixAndSaysSoInOsMode) {
  cut_often(durability::os);
}

INSTANTIATE_TEST_SUITE_P(During, ShardPowerCut, testing::ValuesIn(places), [](const auto& info) {
  return info.param.name;
});

TEST(ShardKilled, LosesNothingAcknowledgedInEitherMode) {
  auto seed = choose_seed();
  for (auto mode : {durability::sync, durability::os}) {
    shard_rig rig{seed, mode};
    for (int round = 0; round < 10; ++round) {
      ASSERT_TRUE(rig.start());
      ASSERT_TRUE(rig.commit_groups(30));
      // Writes that only the kernel has survive, since only the process ended.
      ASSERT_EQ(rig.recover(), std::nullopt);
      EXPECT_EQ(rig.groups_lost(), 0u);
      totals->count("killed between two commits");
    }
  }
}

TEST(ShardLyingDisk, IsDetectedByItsHistory) {
  auto seed = choose_seed();
  for (std::uint64_t round = 0; round < 8; ++round) {
    shard_rig rig{seed + round, durability::sync};
    ASSERT_TRUE(rig.start());
    ASSERT_TRUE(rig.commit_groups(20));
    rig.disk().lie_about_syncs();
    ASSERT_TRUE(rig.commit_groups(20));
    rig.disk().cut_power(cut_policy::lose_all);

    EXPECT_NE(rig.recover(), std::nullopt);
    add_to_totals(rig.disk().counts());
    totals->count("lying disks detected");
  }
}

} // namespace
} // namespace codeq::test
