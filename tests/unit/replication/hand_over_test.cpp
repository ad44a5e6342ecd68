// SPDX-License-Identifier: Apache-2.0
// A hand-over of a shard between replicas whose messages, disks and etcd answer at once: it takes
// no time, since each step follows from the one before, and none from a tick.
#include "instant_replicas.hpp"

namespace codeq::replication {
namespace {

using namespace std::chrono_literals;
using test::body;

using HandOver = test::instant_replicas;

TEST_F(HandOver, TakesNoTimeAndNoTick) {
  ASSERT_TRUE(a().is_serving());

  a().hand_over(id_b);
  EXPECT_FALSE(a().is_serving());
  world.run();

  EXPECT_TRUE(b().is_serving());
  EXPECT_EQ(world.value.primary, id_b);
  EXPECT_EQ(world.value.in_sync.size(), 3u);
  EXPECT_TRUE(b().accepts_writes());
}

TEST_F(HandOver, IsNotPossibleToADoubtfulMemberUntilItIsTrusted) {
  const auto confirmed = [&](bool is_doubtful) {
    const confirm said{a().value().epoch, 0, a().log().last(), is_doubtful, false};
    a().receive({id_b, 1, said}, world.now);
  };

  confirmed(true);
  EXPECT_FALSE(a().may_hand_over(id_b));
  EXPECT_TRUE(a().may_hand_over(id_c));
  EXPECT_TRUE(a().may_hand_over(id_a)) << "which is how it gets another epoch";

  confirmed(false);
  EXPECT_TRUE(a().may_hand_over(id_b));
}

TEST_F(HandOver, TakesNoTimeWhenAWatchIsAheadOfTheAnswer) {
  nodes[1]->is_told_by_watch = true;

  a().hand_over(id_b);
  world.run();

  EXPECT_TRUE(b().is_serving());
}

TEST_F(HandOver, TakesNoTimeWhenTheValueWasChangedMeanwhile) {
  // The operator's wish for another primary has reached the old one only.
  ++world.value.version;
  a().etcd_answered(world.value, false, world.now);

  a().hand_over(id_b);
  world.run();

  EXPECT_TRUE(b().is_serving());
}

TEST_F(HandOver, RecoversOnceWhileTheElectionGoesOn) {
  const auto before = nodes[1]->recoveries;

  a().hand_over(id_b);
  world.run();

  EXPECT_EQ(nodes[1]->recoveries, before + 1);
  EXPECT_EQ(nodes[1]->dropped, 0);
}

TEST_F(HandOver, IsLeftToAMemberThatHasMore) {
  nodes[1]->is_away = true;
  a().propose(std::make_shared<body>(), world.now);
  world.run();
  nodes[1]->is_away = false;

  a().hand_over(id_b);
  world.run();
  pass(3s);

  EXPECT_TRUE(c().is_serving());
  EXPECT_EQ(nodes[1]->recoveries, nodes[1]->dropped);
}

TEST_F(HandOver, DropsWhatItRecoveredWhenAnotherOneIsElected) {
  nodes[1]->is_away = true;
  const auto epoch = a().value().epoch;
  a().hand_over(id_c);
  // Until b has had its time to answer.
  pass(500ms);
  ASSERT_TRUE(c().is_serving());
  nodes[1]->is_away = false;

  // The release and its own election come late.
  b().receive({id_a, 1, release{epoch}}, world.now);
  world.run();

  EXPECT_FALSE(b().is_serving());
  EXPECT_EQ(nodes[1]->recoveries, nodes[1]->dropped);
}

TEST_F(HandOver, MemberThatHasEndedIsNotWaitedFor) {
  nodes[1]->is_away = true;

  a().note_gone(id_b, world.now);
  world.run();

  EXPECT_EQ(world.value.in_sync, (std::vector{id_a, id_c}));
}

TEST_F(HandOver, WithoutAReleaseTheNextPrimaryWaits) {
  nodes[0]->is_away = true;

  pass(1500ms);
  EXPECT_FALSE(b().is_serving() || c().is_serving());
  pass(1500ms);
  EXPECT_TRUE(b().is_serving() || c().is_serving());
}

TEST_F(HandOver, AnotherMemberServesWhenTheStoreOfTheFirstIsDamaged) {
  nodes[0]->is_away = true;
  nodes[1]->is_damaged = true;

  pass(8s);

  EXPECT_FALSE(b().is_serving());
  EXPECT_TRUE(c().is_serving());
}

TEST_F(HandOver, HandOverToADamagedMemberEndsAtAnother) {
  nodes[1]->is_damaged = true;

  a().hand_over(id_b);
  pass(8s);

  EXPECT_FALSE(b().is_serving());
  EXPECT_TRUE(a().is_serving() || c().is_serving());
}

TEST_F(HandOver, PrimaryWhoseDiskHangsGivesItsShardUpWhenEtcdAnswers) {
  world.is_etcd_away = true;
  nodes[0]->hangs = true;
  a().propose(std::make_shared<body>(), world.now);

  pass(3s);
  EXPECT_TRUE(a().is_serving()) << "nobody can take over";
  world.is_etcd_away = false;
  pass(3s);

  EXPECT_FALSE(a().is_serving());
  EXPECT_TRUE(b().is_serving() || c().is_serving());
}

TEST_F(HandOver, PrimaryWhoseDiskHungGoesOnWhileEtcdIsAway) {
  world.is_etcd_away = true;
  nodes[0]->hangs = true;
  a().propose(std::make_shared<body>(), world.now);
  pass(3s);

  nodes[0]->recover_disk();
  pass(1s);
  world.is_etcd_away = false;
  pass(3s);

  EXPECT_TRUE(a().is_serving());
}

TEST_F(HandOver, PrimaryWhoseDiskHangsBeforeItServesGivesItsShardUp) {
  nodes[0]->is_away = true;
  nodes[1]->writes_hang = true;
  pass(2s);
  ASSERT_EQ(world.value.primary, id_b) << "it has promised";

  pass(6s);
  EXPECT_TRUE(c().is_serving());
  const auto epoch = world.value.epoch;
  nodes[1]->recover_disk();
  pass(3s);

  EXPECT_TRUE(c().is_serving());
  EXPECT_EQ(world.value.epoch, epoch);
}

TEST_F(HandOver, PrimaryWhoseDiskHangsBeforeItServesKeepsItsShardWhileEtcdIsAway) {
  nodes[0]->is_away = true;
  nodes[1]->writes_hang = true;
  pass(2s);
  ASSERT_EQ(world.value.primary, id_b);
  world.is_etcd_away = true;
  pass(3s);

  nodes[1]->recover_disk();
  pass(3s);

  EXPECT_TRUE(b().is_serving());
}

TEST_F(HandOver, SlowDisksOfAllMembersEndInOnePrimaryThatStays) {
  for (auto& one : nodes)
    one->write_time = 1300ms;
  const auto epoch = world.value.epoch;
  nodes[0]->is_away = true;

  pass(12s);
  ASSERT_TRUE(b().is_serving());
  EXPECT_EQ(world.value.epoch, epoch + 1) << "the first one that was elected";

  for (int i = 0; i < 3; ++i) {
    b().propose(std::make_shared<body>(), world.now);
    pass(4s);
  }
  EXPECT_TRUE(b().is_serving());
  EXPECT_EQ(world.value.epoch, epoch + 1);
  EXPECT_EQ(b().log().last(), c().log().last());
}

TEST_F(HandOver, SlowDiskThatHangsCostsNoMoreThanAFailOver) {
  for (auto& one : nodes)
    one->write_time = 1300ms;
  nodes[0]->is_away = true;
  pass(12s);
  ASSERT_TRUE(b().is_serving());

  nodes[2]->write_time = 0ms;
  nodes[1]->hangs = true;
  b().propose(std::make_shared<body>(), world.now);
  pass(2900ms);

  EXPECT_TRUE(c().is_serving());
}

TEST_F(HandOver, MemberWhoseStoreIsDamagedWhileItPromisesDoesNotLead) {
  nodes[1]->hangs = true;
  a().hand_over(id_b);
  world.run();
  ASSERT_EQ(world.value.primary, id_b);

  b().recovery_failed();
  b().promise_saved(world.value.epoch, world.now);
  nodes[1]->recover_disk();
  pass(8s);

  EXPECT_FALSE(b().is_serving());
  EXPECT_TRUE(a().is_serving() || c().is_serving());
}

TEST_F(HandOver, MemberWhoseDiskHangsIsNotElectedForLong) {
  nodes[0]->is_away = true;
  nodes[1]->hangs = true;

  pass(8s);

  EXPECT_TRUE(c().is_serving());
}

} // namespace
} // namespace codeq::replication
