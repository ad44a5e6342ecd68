// SPDX-License-Identifier: Apache-2.0
#include "cluster/backup/backup_run.hpp"

#include <gtest/gtest.h>

#include <string>

namespace codeq::cluster {
namespace {

constexpr std::uint64_t hold = 8;

cluster_status two_nodes() {
  cluster_status status;
  status.name = "c";
  for (const auto* name : {"c1", "c2"}) {
    cluster_node node;
    node.name = name;
    node.is_present = true;
    status.nodes.push_back(node);
  }
  cluster_shard shard;
  shard.primary = "c2";
  shard.is_served = true;
  shard.copies = {{"c1", true, true, 3, 40, 2}, {"c2", true, true, 3, 42, 0}};
  status.shards.push_back(shard);
  return status;
}

backup_status told(const std::string& node, backup_state state) {
  backup_status one;
  one.node = node;
  one.state = state;
  one.hold = hold;
  one.is_fixed = state == backup_state::done;
  return one;
}

told_backups both(backup_state state) {
  return {told("c1", state), told("c2", state)};
}

TEST(BackupRun, ClusterWithAPrimaryForEachShardHasNoFlaw) {
  EXPECT_TRUE(check_start(two_nodes(), both(backup_state::none)));
}

TEST(BackupRun, NodeThatIsAwayMayBeMissing) {
  auto status = two_nodes();
  status.nodes[0].is_present = false;

  EXPECT_TRUE(check_start(status, {told("c2", backup_state::done)}));
}

TEST(BackupRun, PresentNodeThatHasNotToldIsNamed) {
  const auto flaw = check_start(two_nodes(), {told("c2", backup_state::none)}).error();

  EXPECT_EQ(flaw, (error{errc::unavailable, "coordinator c1 does not answer"}));
}

TEST(BackupRun, ShardWithoutAPrimaryIsNamed) {
  auto status = two_nodes();
  status.shards[0].is_served = false;

  EXPECT_EQ(
    check_start(status, both(backup_state::none)).error(),
    (error{errc::unavailable, "shard 0 has no primary that serves it"}));
}

TEST(BackupRun, CoordinatorThatKnowsNoHoldIsNamed) {
  auto held = both(backup_state::none);
  held[1].hold = 0;

  EXPECT_EQ(check_start(two_nodes(), held).error().code, errc::unsupported);
}

TEST(BackupRun, BackupThatIsUnderWayHasToEndFirst) {
  auto held = both(backup_state::none);
  held[0].state = backup_state::running;

  EXPECT_EQ(
    check_start(two_nodes(), held).error(),
    (error{errc::already, "coordinator c1 is making a backup already"}));
}

TEST(BackupRun, HoldWithAGapIsAFlaw) {
  const auto held = both(backup_state::none);
  auto now = both(backup_state::done);
  EXPECT_TRUE(check_hold(held, now));

  now[1].hold = hold + 1;

  const auto flaw = check_hold(held, now).error();
  EXPECT_EQ(flaw.code, errc::unavailable);
  EXPECT_NE(flaw.context.find("coordinator c2 was started anew"), std::string::npos);
}

TEST(BackupRun, CoordinatorThatJoinedDuringTheHoldIsAFlaw) {
  const auto flaw = check_hold({told("c1", backup_state::none)}, both(backup_state::done)).error();

  EXPECT_NE(flaw.context.find("coordinator c2 has joined meanwhile"), std::string::npos);
}

TEST(BackupRun, CoordinatorThatIsGoneIsAFlaw) {
  const told_backups now{told("c1", backup_state::done)};

  const auto held = both(backup_state::none);
  EXPECT_NE(check_hold(held, now).error().context.find("c2"), std::string::npos);
  EXPECT_NE(check_backups(held, now).error().context.find("c2"), std::string::npos);
}

TEST(BackupRun, FailureIsToldWithItsCoordinator) {
  auto now = both(backup_state::running);
  now[1].state = backup_state::failed;
  now[1].problem = "disk full";

  EXPECT_EQ(
    check_backups(both(backup_state::none), now).error(),
    (error{errc::unavailable, "the backup of coordinator c2 failed: disk full"}));
}

TEST(BackupRun, CoordinatorThatJoinsLaterDoesNoHarm) {
  auto now = both(backup_state::done);
  now.push_back(told("c3", backup_state::none));

  EXPECT_TRUE(check_backups(both(backup_state::none), now));
  EXPECT_EQ(whole_of(two_nodes(), now, 5).parts.size(), 2u);
}

TEST(BackupRun, BackupsMayBeFixedBeforeTheyEnd) {
  auto now = both(backup_state::running);
  EXPECT_FALSE(are_fixed(now));
  EXPECT_TRUE(are_running(now));

  now[0].is_fixed = now[1].is_fixed = true;

  EXPECT_TRUE(are_fixed(now));
}

TEST(BackupRun, WholeHasThePositionsOfThePrimaries) {
  auto made = both(backup_state::done);
  made[0].number = 4;
  made[1].number = 6;

  const auto whole = whole_of(two_nodes(), made, 5);

  EXPECT_EQ(whole.cluster, "c");
  EXPECT_EQ(whole.run, 5u);
  EXPECT_EQ(whole.parts, (std::vector<cluster_backup_part>{{"c1", 4, 0, 0}, {"c2", 6, 0, 0}}));
  EXPECT_EQ(whole.shards, (std::vector<cluster_backup_shard>{{shard_id{0}, 3, 42}}));
}

} // namespace
} // namespace codeq::cluster
