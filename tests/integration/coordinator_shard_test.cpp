// SPDX-License-Identifier: Apache-2.0
#include "base/tuning.hpp"
#include "core/commands/routing.hpp"
#include "integration/coordinator_fixture.hpp"
#include "storage/recovery/recovery.hpp"

#include <gmock/gmock.h>

namespace codeq::test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

class CoordinatorShard : public coordinator_fixture {};

TEST_F(CoordinatorShard, AnswersAnEnqueueOnlyAfterItsCommit) {
  start(true);
  auto producer = attach("");

  enqueue(producer, 1, 3, 10s);
  EXPECT_THAT(take(producer), IsEmpty());
  commit_all();

  EXPECT_THAT(take(producer), ElementsAre("enqueued 1"));
}

TEST_F(CoordinatorShard, HandsATaskOutOnlyAfterTheGrantsCommit) {
  start(true);
  auto producer = attach("");
  auto worker = attach("w");
  add_credits(worker, 1);
  EXPECT_THAT(take(worker), ElementsAre("drained"));

  enqueue(producer, 1, 1, 10s);
  EXPECT_THAT(take(worker), IsEmpty());
  commit_all();

  EXPECT_THAT(take(worker), ElementsAre("tasks 1/t1"));
}

TEST_F(CoordinatorShard, AnswersARepeatOfACommittedReportOnlyBehindWhatCameBefore) {
  start(true);
  auto producer = attach("");
  auto worker = attach("w");
  add_credits(worker, 1);
  enqueue(producer, 1, 1, 10s);
  commit_all();
  take(worker);

  complete(worker, 1, 1);
  complete(worker, 1, 1);
  EXPECT_THAT(take(worker), IsEmpty());
  commit_all();

  EXPECT_THAT(take(worker), ElementsAre("answer 1 none", "answer 1 already"));
}

TEST_F(CoordinatorShard, BeginsAnotherEpochBeforeItsNumbersRunOut) {
  mode_ = storage::durability::os;
  start_near_the_end(1'000'000);
  auto producer = attach("");
  enqueue(producer, 1, 1, 10s);

  EXPECT_EQ(state_->epoch, 2u);
  EXPECT_GE(state_->tokens.next, core::first_of_epoch(2));
  EXPECT_GE(state_->sequences.next, core::first_of_epoch(2));
  // The epoch is durable before any of its numbers is used, even in `os` mode.
  store_->cut_power();
  auto identity = storage::read_identity(*store_);
  ASSERT_TRUE(identity);
  EXPECT_EQ(identity->epoch, 2u);
}

TEST_F(CoordinatorShard, GoesOnInItsEpochUntilTheNextIsDurable) {
  start_near_the_end(1'000'000, true);
  auto producer = attach("");

  enqueue(producer, 1, 1, 10s);
  enqueue(producer, 2, 1, 10s);
  commit_all();
  EXPECT_THAT(take(producer), ElementsAre("enqueued 1", "enqueued 2"));
  EXPECT_EQ(*epochs_asked_, 1);
  EXPECT_EQ(state_->epoch, 1u);

  raise_epoch(5);
  EXPECT_EQ(state_->epoch, 5u);
  enqueue(producer, 3, 1, 10s);
  EXPECT_EQ(*epochs_asked_, 1);
}

TEST_F(CoordinatorShard, HoldsTheShareOfAnEnqueueUntilItsCommit) {
  start(true);
  auto producer = attach("");
  auto share = std::make_shared<const int>(0);

  enqueue(producer, 1, 1, 10s, share);
  EXPECT_GT(share.use_count(), 1);
  // A producer that reconnects again and again gets no larger share than one that stays.
  detach(producer);
  EXPECT_GT(share.use_count(), 1);
  commit_all();

  EXPECT_EQ(share.use_count(), 1);
}

TEST_F(CoordinatorShard, GivesTheShareOfARefusedEnqueueBackAtOnce) {
  start(true);
  auto producer = attach("");
  auto share = std::make_shared<const int>(0);

  enqueue(producer, 1, 0, 10s, share);

  EXPECT_EQ(share.use_count(), 1);
}

TEST_F(CoordinatorShard, LetsRecordsGoWithTheirSnapshot) {
  start();
  enqueue(attach(""), 1, 1, 10s);
  EXPECT_TRUE(horizons_->view().horizons.empty());

  advance(tuning::snapshot_interval);

  ASSERT_EQ(horizons_->view().horizons.size(), 1u);
  EXPECT_GT(horizons_->view().horizons.at(shard_id{})->through, core::first_of_epoch(1));
}

TEST_F(CoordinatorShard, LetsNoRecordGoBeforeItsSnapshotIsSynced) {
  mode_ = storage::durability::os;
  start();
  enqueue(attach(""), 1, 1, 10s);

  advance(tuning::snapshot_interval);
  EXPECT_TRUE(horizons_->view().horizons.empty());
  advance(tuning::os_sync_interval);

  EXPECT_EQ(horizons_->view().horizons.size(), 1u);
}

TEST_F(CoordinatorShard, WakesAWaitingWorkerByTheEnqueueItself) {
  start();
  auto producer = attach("");
  auto worker = attach("w");
  add_credits(worker, 2);
  take(worker);

  enqueue(producer, 1, 2, 10s);

  EXPECT_THAT(take(worker), ElementsAre("tasks 1/t1 2/t2"));
}

TEST_F(CoordinatorShard, GivesALeaseATimerOnceItIsOldEnough) {
  start();
  auto producer = attach("");
  auto worker = attach("w");
  add_credits(worker, 1);
  enqueue(producer, 1, 1, 2s);
  EXPECT_EQ(gauge("codeq_lease_timers"), 0);

  advance(300ms);
  EXPECT_EQ(gauge("codeq_lease_timers"), 1);
  complete(worker, 1, 1);

  EXPECT_EQ(gauge("codeq_lease_timers"), 0);
}

TEST_F(CoordinatorShard, TakesALostLeaseBackAtItsDeadline) {
  start();
  auto producer = attach("");
  auto worker = attach("w");
  auto other = attach("v");
  add_credits(worker, 1);
  enqueue(producer, 1, 1, 2s);
  take(worker);
  add_credits(other, 1);
  take(other);

  advance(1990ms);
  EXPECT_THAT(take(worker), IsEmpty());
  advance(110ms);

  EXPECT_THAT(take(worker), ElementsAre("lost 1"));
  // The cache dropped the body at the first grant, so it is read from the disk.
  EXPECT_THAT(take(other), ElementsAre("drained", "tasks 1/t2"));
}

TEST_F(CoordinatorShard, KeepsALeaseThatBeats) {
  start();
  auto producer = attach("");
  auto worker = attach("w");
  add_credits(worker, 1);
  enqueue(producer, 1, 1, 2s);
  take(worker);

  for (int i = 0; i < 10; ++i) {
    advance(1s);
    beat(worker, 1, 1);
  }
  EXPECT_THAT(take(worker), IsEmpty());
  EXPECT_EQ(gauge("codeq_lease_timers"), 1);
  advance(2100ms);

  EXPECT_THAT(take(worker), ElementsAre("lost 1", "has work"));
}

TEST_F(CoordinatorShard, ReadsBackWhatItsCacheForgot) {
  start();
  auto producer = attach("");
  // The cache is empty after a restart.
  enqueue(producer, 1, 3, 10s);
  start();
  auto worker = attach("w");
  EXPECT_THAT(take(worker), ElementsAre("has work"));

  add_credits(worker, 3);

  // The claim's reply is sent at once; only the tasks wait for the disk.
  EXPECT_THAT(take(worker), ElementsAre("drained", "tasks 1/t1 2/t2 3/t3"));
}

TEST_F(CoordinatorShard, RefusesAnOperatorsRequestThatIsOutOfBoundsAndKeepsTheSession) {
  start();
  auto peer = attach("");
  auto request = protocol::force_request::build([](schema::ForceRequest::Builder root) {
    root.setNumber(6);
    root.setText(capnp::Data::Reader(reinterpret_cast<const capnp::byte*>("x"), 1));
  });

  caf::anon_send(shard_, coordinator::peer_request{peer, request});
  system_.run();

  EXPECT_EQ(
    take(peer),
    std::vector<std::string>{
      "refusal 6 too_large: text of a revoke is 1 bytes; it must be at most 0"});
}

/// A group that belongs to the other shard.
std::string group_of_the_other() {
  std::string group = "g";
  while (core::shard_of_name({"default", "q"}, group, 2) == shard_id{})
    group += 'g';
  return group;
}

TEST_F(CoordinatorShard, HandsFollowUpsToTheirShardOnlyAfterTheCommit) {
  start(true);
  meet_neighbour();
  auto producer = attach("");
  auto worker = attach("w");
  add_credits(worker, 1);
  enqueue(producer, 1, 1, 10s);
  commit_all();

  complete_with(worker, 1, 1, group_of_the_other());
  EXPECT_THAT(take_of_neighbour(), IsEmpty());
  commit_all();

  EXPECT_THAT(take_of_neighbour(), ElementsAre("runs 1 of " + group_of_the_other()));
}

TEST_F(CoordinatorShard, HandsFollowUpsOfBeforeARestartToTheShardsThatItMeets) {
  start();
  auto producer = attach("");
  auto worker = attach("w");
  add_credits(worker, 1);
  enqueue(producer, 1, 1, 10s);
  complete_with(worker, 1, 1, group_of_the_other());

  start();
  EXPECT_THAT(take_of_neighbour(), IsEmpty());
  meet_neighbour();

  EXPECT_THAT(take_of_neighbour(), ElementsAre("runs 1 of " + group_of_the_other()));
}

TEST_F(CoordinatorShard, ConfirmsFollowUpsOfOthersOnlyAfterTheCommit) {
  start(true);
  meet_neighbour();
  core::enqueue_run run;
  run.queue = {"default", "q"};
  run.tasks = {bytes("12345678"), {8}};

  caf::anon_send(
    shard_, coordinator::shard_command{core::take_follow_ups{shard_id{1}, 5, 5, {run}}});
  system_.run();
  EXPECT_THAT(take_of_neighbour(), IsEmpty());
  commit_all();

  EXPECT_THAT(take_of_neighbour(), ElementsAre("confirmed 5"));
}

TEST_F(CoordinatorShard, ArmsNothingWhileNothingHappens) {
  start();
  auto worker = attach("w");
  add_credits(worker, 8);
  advance(10s);
  take(worker);

  auto before = store_->counter("keys_written");
  advance(1h);

  EXPECT_EQ(store_->counter("keys_written"), before);
  EXPECT_THAT(take(worker), IsEmpty());
}

} // namespace
} // namespace codeq::test
