// SPDX-License-Identifier: Apache-2.0
#include "fault/totals.hpp"
#include "support/crash_rig.hpp"
#include "support/log_fragments.hpp"
#include "support/seed.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace codeq::test {
namespace {

using storage::durability;

constexpr std::array policies{
  cut_policy::lose_all, cut_policy::keep_prefix, cut_policy::per_file, cut_policy::torn};

struct moment {
  const char* name;
  fault_point point;
  /// The point is one of the first `spread` operations of its kind.
  std::size_t spread;
};

constexpr moment moments[] = {
  {"AppendToTheLog", {file_kind::log, disk_operation::append}, 150},
  {"SyncOfTheLog", {file_kind::log, disk_operation::sync}, 8},
  {"NewLog", {file_kind::log, disk_operation::create}, 4},
  {"Flush", {file_kind::table, disk_operation::append, 1, disk_user::flush}, 6},
  {"SyncOfAFlush", {file_kind::table, disk_operation::sync, 1, disk_user::flush}, 3},
  {"Compaction", {file_kind::table, disk_operation::append, 1, disk_user::compaction}, 6},
  {"AppendToTheManifest", {file_kind::manifest, disk_operation::append}, 8},
  {"SyncOfTheManifest", {file_kind::manifest, disk_operation::sync}, 8},
  {"NewTable", {file_kind::table, disk_operation::create}, 4},
  {"ReplayOfTheLog", {file_kind::log, disk_operation::read}, 3},
};

class PowerCut : public testing::TestWithParam<moment> {
protected:
  /// Cuts the power once at a point of this kind, while the store opens or works; describes what is
  /// wrong afterwards.
  std::optional<std::string> cut_once(crash_rig& rig, cut_policy policy) {
    auto point = GetParam().point;
    point.countdown = 1 + random_() % GetParam().spread;
    // The store is closed in order after the last recovery, so that the cut may also happen while
    // it opens.
    rig.close();
    rig.disk().cut_power_at(point, policy);
    for (int rounds = 0; rig.disk().has_power() && rounds < 100; ++rounds) {
      if (!rig.open() || !rig.commit_some(50))
        break;
      if (point.operation == disk_operation::read)
        rig.close();
    }
    EXPECT_TRUE(rig.disk().was_reached());
    return rig.recover();
  }

  void cut_often(durability mode) {
    // Cuts in the log happen soon, so there can be many; a torn record needs a few tries.
    int rounds = GetParam().point.kind == file_kind::log ? 8 : 3;
    auto seed = choose_seed();
    random_.seed(seed);
    crash_rig rig{seed, mode};
    for (int round = 0; round < rounds; ++round)
      for (auto policy : policies) {
        auto wrong = cut_once(rig, policy);
        ASSERT_EQ(wrong, std::nullopt)
          << "round " << round << ", policy " << static_cast<int>(policy);
      }
    add_to_totals(rig.disk().counts());
  }

  std::mt19937_64 random_;
};

TEST_P(PowerCut, LosesNothingAcknowledgedInSyncMode) {
  cut_often(durability::sync);
}

TEST_P(PowerCut, LosesOnlyASuffixInOsMode) {
  cut_often(durability::os);
}

INSTANTIATE_TEST_SUITE_P(At, PowerCut, testing::ValuesIn(moments), [](const auto& info) {
  return info.param.name;
});

TEST(PowerCutAfterOpening, LosesNothingOfAnOpenedStore) {
  auto seed = choose_seed();
  for (auto mode : {durability::sync, durability::os}) {
    crash_rig rig{seed, mode};
    for (auto policy : policies) {
      ASSERT_TRUE(rig.open());
      ASSERT_TRUE(rig.commit_some(20));
      // The process is killed: the next one may find writes that are not on the disk yet.
      ASSERT_EQ(rig.recover(), std::nullopt);
      rig.disk().cut_power(policy);
      ASSERT_EQ(rig.recover(), std::nullopt);
      ASSERT_TRUE(rig.commit_some(20));
      rig.disk().cut_power(policy);
      ASSERT_EQ(rig.recover(), std::nullopt);
      // Once more, before anything is written.
      rig.disk().cut_power(policy);
      ASSERT_EQ(rig.recover(), std::nullopt);
    }
    add_to_totals(rig.disk().counts());
  }
}

/// Payloads that a hostile client may send.
class CraftedPayload : public testing::Test {
protected:
  /// Cuts the power again and again while values are written that repeat `part`.
  void cut_often(const std::string& part) {
    constexpr int rounds = 60;
    constexpr std::size_t value_bytes = 100'000;
    auto seed = choose_seed();
    std::mt19937_64 random{seed};
    crash_rig rig{seed, durability::sync, {2, 4, value_bytes, part}};
    for (int round = 0; round < rounds; ++round) {
      rig.close();
      ASSERT_TRUE(rig.open());
      rig.disk().cut_power_at(
        {file_kind::log, disk_operation::append, 1 + random() % 40}, cut_policy::torn);
      while (rig.commit_some(1)) {
      }
      ASSERT_EQ(rig.recover(), std::nullopt) << "round " << round;
    }
    add_to_totals(rig.disk().counts());
  }
};

TEST_F(CraftedPayload, OfLogFragmentsLeavesAStoreThatOpensAfterAPowerCut) {
  cut_often(log_fragment("AB"));
}

TEST_F(CraftedPayload, OfLogRecordsLeavesAStoreThatOpensAfterAPowerCut) {
  std::string records;
  for (std::uint64_t sequence = 1; sequence < 10'000; sequence += 13)
    records += log_fragment(batch_header(sequence, 13));
  cut_often(records);
}

TEST(LyingDisk, IsDetected) {
  auto seed = choose_seed();
  for (std::uint64_t round = 0; round < 5; ++round) {
    crash_rig rig{seed + round, durability::sync};
    ASSERT_TRUE(rig.open());
    ASSERT_TRUE(rig.commit_some(10));
    rig.disk().lie_about_syncs();
    ASSERT_TRUE(rig.commit_some(10));
    rig.disk().cut_power(cut_policy::lose_all);

    EXPECT_NE(rig.recover(), std::nullopt);
    add_to_totals(rig.disk().counts());
  }
}

} // namespace
} // namespace codeq::test
