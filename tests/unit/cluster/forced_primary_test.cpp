// SPDX-License-Identifier: Apache-2.0
#include "cluster/forced_primary.hpp"

#include "base/tuning.hpp"

#include <gtest/gtest.h>

namespace codeq::cluster {
namespace {

using replication::replica_id;

/// Replica 1 on `a` is the primary and in sync with 2 on `b`; 3 on `c` learns.
shard_record shard() {
  shard_record made;
  made.value.version = 7;
  made.value.epoch = 4;
  made.value.primary = replica_id{1};
  made.value.in_sync = {replica_id{1}, replica_id{2}};
  made.value.replicas = {replica_id{1}, replica_id{2}, replica_id{3}};
  made.nodes = {{replica_id{1}, "a"}, {replica_id{2}, "b"}, {replica_id{3}, "c"}};
  made.wanted = {"a", "b", "c"};
  made.pinned = "a";
  made.preferred = "b";
  return made;
}

forced_primary of(const std::string& node, const std::string& confirm = {}) {
  forced_primary wanted;
  wanted.shard = shard_id{3};
  wanted.node = node;
  wanted.own.promised = 4;
  wanted.own.last = {4, 1200};
  wanted.present = {node};
  wanted.confirm = confirm;
  return wanted;
}

std::string why(const forced_primary& wanted) {
  const auto next = force_primary(shard(), wanted);
  return next ? "done" : next.error().context;
}

TEST(ForcedPrimary, IsAloneInSyncInAnEpochThatNobodyHasPromised) {
  auto wanted = of("c", "lose what a, b did not copy");
  wanted.own.promised = 9;

  const auto next = force_primary(shard(), wanted).value();

  EXPECT_EQ(next.value.version, 8u);
  EXPECT_EQ(next.value.epoch, 9u + 65'536u);
  EXPECT_EQ(next.value.primary, replica_id{3});
  EXPECT_EQ(next.value.in_sync, std::vector{replica_id{3}});
  EXPECT_EQ(next.value.replicas, shard().value.replicas);
  EXPECT_EQ(next.value.condition, replication::shard_condition::loss_accepted);
  EXPECT_TRUE(next.is_forced);
  EXPECT_EQ(next.preferred, "");
  EXPECT_EQ(next.pinned, "");
  EXPECT_EQ(next.wanted, shard().wanted);
}

TEST(ForcedPrimary, EpochOfTheRecordCountsWhenTheCopyHasPromisedLess) {
  auto wanted = of("c", "lose what a, b did not copy");
  wanted.own.promised = 1;

  EXPECT_EQ(force_primary(shard(), wanted).value().value.epoch, 4u + 65'536u);
}

TEST(ForcedPrimary, IsRefusedWithoutTheWordsWhichTheErrorTells) {
  EXPECT_EQ(
    why(of("c")),
    "the copy of shard 3 on `c` ends at 4/1200; what a, b acknowledged after that is lost for "
    "ever; to go on nevertheless, confirm it with the words: lose what a, b did not copy");
  EXPECT_NE(why(of("c", "lose what a did not copy")), "done");
}

TEST(ForcedPrimary, MemberThatLivesHasToBeNamedInTheWords) {
  for (const auto is_present : {true, false}) {
    auto wanted = of("c", "lose what a, b did not copy");
    if (is_present)
      wanted.present.insert("b");
    else
      wanted.own.reachable.insert("b");

    const auto refused = why(wanted);
    EXPECT_NE(refused.find("b is alive, so wait for it, or stop it first"), refused.npos);
    EXPECT_NE(refused.find("words: lose what a, b did not copy although b lives"), refused.npos);
    wanted.confirm = "lose what a, b did not copy although b lives";
    EXPECT_EQ(why(wanted), "done");
  }
}

TEST(ForcedPrimary, CopyInSyncNeedsNoForceUnlessItIsDoubtful) {
  EXPECT_NE(why(of("b", "lose what a did not copy")).find("is in sync"), std::string::npos);
  auto doubtful = of("b", "lose what a did not copy");
  doubtful.own.is_doubtful = true;
  EXPECT_EQ(why(doubtful), "done");

  auto alone = shard();
  alone.value.in_sync = {replica_id{1}};
  auto wanted = of("a");
  wanted.own.is_doubtful = true;
  EXPECT_NE(
    force_primary(alone, wanted).error().context.find("takes over by itself"), std::string::npos);
}

TEST(ForcedPrimary, CopyThatIsIncompleteOrNotThereIsRefused) {
  auto wanted = of("c", "lose what a, b did not copy");
  wanted.own.is_incomplete = true;
  EXPECT_NE(why(wanted).find("is incomplete"), std::string::npos);
  EXPECT_EQ(why(of("d")), "node `d` has no copy of shard 3");
}

TEST(ForcedPrimary, EpochIsOneThatTokensHaveBitsFor) {
  auto wanted = of("c", "lose what a, b did not copy");
  wanted.own.promised = static_cast<replication::epoch_number>(tuning::epoch_max) - 65'536;
  EXPECT_EQ(
    why(wanted),
    "the epoch of the shard is 16711679, too large to be raised by 65536: the largest epoch is "
    "16777215");

  --wanted.own.promised;

  const auto next = force_primary(shard(), wanted).value();
  EXPECT_LT(next.value.epoch, tuning::epoch_max) << "one is left for an election";
}

TEST(ForcedPrimary, LossIsNamed) {
  EXPECT_EQ(
    forced_loss(shard(), "c", of("c").own), "lost is what a, b acknowledged after 4/1200");
}

} // namespace
} // namespace codeq::cluster
