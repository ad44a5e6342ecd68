// SPDX-License-Identifier: Apache-2.0
#include "cluster/member.hpp"

#include "unit/cluster/member_fixture.hpp"

#include <gtest/gtest.h>

namespace codeq::cluster {
namespace {

/// Node `a` reads formats up to 2; copies are on `a` and `b`.
class StoreFormat : public MemberTest {
protected:
  StoreFormat()
    : MemberTest(reader_of_two()) {
  }

  static member_options reader_of_two() {
    auto made = options();
    made.self.store_format_max = 2;
    return made;
  }

  /// Makes `a` the controller, for some seconds, of a cluster in which another node has registered.
  void control_with(const std::string& name, std::uint32_t store_format_max) {
    node_record other;
    other.incarnation = 3;
    other.address = name + ":1";
    other.store_format_max = store_format_max;
    put(keys_.node(name), encode(other));
    for (int i = 0; i < 8; ++i) {
      advance(1s);
      answer_poll();
      while (!port_.decisions.empty())
        decide();
    }
    ASSERT_TRUE(member_.is_controller());
  }

  [[nodiscard]] std::uint32_t stored_format() const {
    return decode<cluster_record>(etcd_.at(keys_.cluster()).first)->store_format;
  }
};

TEST_F(MemberTest, RegistersWithALease) {
  advance(50ms);
  EXPECT_EQ(port_.grants, 1);
  ASSERT_EQ(port_.reads.size(), 1u);
  answer_poll();
  member_.granted(etcd::lease_answer{{7, 1}, 33, 5s}, now_);

  ASSERT_EQ(port_.decisions.size(), 1u);
  const auto& swap = port_.decisions[0].what;
  EXPECT_EQ(swap.key, "/codeq/c/nodes/a");
  EXPECT_EQ(swap.expected, std::nullopt);
  EXPECT_EQ(swap.lease, 33u);
  EXPECT_EQ(decode<node_record>(*swap.next)->address, "a:1");
  decide();
  EXPECT_TRUE(member_.is_registered());
}

TEST_F(MemberTest, KeepsItsLeaseAndReplacesOneThatEnded) {
  join();
  advance(1500ms);
  ASSERT_EQ(port_.kept, std::vector<std::uint64_t>{33});
  member_.kept(etcd::lease_answer{{7, revision_}, 33, 5s}, now_);
  advance(1500ms);
  member_.kept(etcd::lease_answer{{7, revision_}, 33, 0s}, now_);

  EXPECT_FALSE(member_.is_registered());
  EXPECT_EQ(port_.grants, 2);
  member_.granted(etcd::lease_answer{{7, revision_}, 34, 5s}, now_);
  EXPECT_EQ(port_.decisions.back().what.key, keys_.node("a"));
  EXPECT_EQ(port_.decisions.back().what.lease, 34u);
}

TEST_F(MemberTest, RegistersAnewWhenItsKeyHasGoneAlthoughTheLeaseIsKept) {
  join();
  etcd_.erase(keys_.node("a"));
  ++revision_;
  advance(1s);
  answer_poll();
  advance(1s);
  EXPECT_EQ(port_.reads.back().modified_since, 0u) << "a key is missing, so all are read";
  answer_poll();

  EXPECT_FALSE(member_.is_registered());
  member_.kept(etcd::lease_answer{{7, revision_}, 33, 5s}, now_);
  advance(500ms);
  EXPECT_EQ(port_.grants, 2) << "the lease is not trusted any more";
}

TEST_F(MemberTest, EndsWhenAnotherProcessTakesItsName) {
  join();
  auto other = options().self;
  other.incarnation = 2;
  other.address = "z:1";
  put(keys_.node("a"), encode(other));
  advance(1s);
  answer_poll();
  EXPECT_EQ(port_.end, "another process has registered as node a at z:1");
  const auto asked = port_.decisions.size();
  advance(10s);
  EXPECT_EQ(port_.decisions.size(), asked);
}

TEST_F(MemberTest, TakesTheNameOfAnEarlierProcessAtItsStart) {
  auto other = options().self;
  other.incarnation = 2;
  put(keys_.node("a"), encode(other));
  advance(50ms);
  answer_poll();
  member_.granted(etcd::lease_answer{{7, 1}, 33, 5s}, now_);
  EXPECT_EQ(port_.decisions.front().what.expected, encode(other));
  decide();
  EXPECT_TRUE(member_.is_registered());
}

TEST_F(MemberTest, PollsForWhatWasChangedAndSeldomForAll) {
  join();
  advance(1s);
  EXPECT_EQ(port_.reads.back().modified_since, 3u + 1u) << "the revision of the last poll";
  answer_poll();
  std::size_t full = 0;
  for (int i = 0; i < 20; ++i) {
    advance(1s);
    full += port_.reads.back().modified_since == 0 ? 1 : 0;
    answer_poll();
  }
  EXPECT_EQ(full, 2u);
}

TEST_F(MemberTest, TellsReplicasWhatWatchAndPollsSay) {
  join();
  port_.told.clear();
  etcd::watch_line line;
  line.changes = {{keys_.shard(s0), encode(shard_of(2)), ++revision_}};
  member_.watched(line, now_);
  EXPECT_EQ(port_.told, (std::vector<std::pair<std::uint64_t, bool>>{{2, false}}));
  line.changes = {{keys_.shard(s0), encode(shard_of(1)), revision_ - 1}};
  member_.watched(line, now_);
  EXPECT_EQ(port_.told.size(), 1u) << "an earlier value";
}

TEST_F(MemberTest, CarriesAReplicasDecisionWithTheRestOfTheRecord) {
  join();
  const auto old = member_.known().shards().at(s0).record;
  const auto next = replication::remove_member(old.value, replica_id{2});
  member_.compare_and_set(s0, old.value, next);
  member_.compare_and_set(s0, old.value, next);
  ASSERT_EQ(port_.decisions.size(), 1u) << "one is under way";
  EXPECT_EQ(port_.decisions[0].what.expected, encode(old));
  EXPECT_EQ(*port_.decisions[0].what.next, encode(with_value(old, next)));
  port_.told.clear();
  decide();
  EXPECT_EQ(port_.told, (std::vector<std::pair<std::uint64_t, bool>>{{2, true}}));
}

TEST_F(MemberTest, ReplicaThatLostIsToldTheCurrentValue) {
  join();
  const auto old = member_.known().shards().at(s0).record.value;
  put(keys_.shard(s0), encode(shard_of(9)));
  member_.compare_and_set(s0, old, replication::remove_member(old, replica_id{2}));
  port_.told.clear();
  decide();
  EXPECT_EQ(port_.told, (std::vector<std::pair<std::uint64_t, bool>>{{9, false}}));
  port_.told.clear();
  member_.compare_and_set(s0, old, replication::remove_member(old, replica_id{2}));
  EXPECT_TRUE(port_.decisions.empty()) << "it is known without asking";
  EXPECT_EQ(port_.told, (std::vector<std::pair<std::uint64_t, bool>>{{9, false}}));
}

TEST_F(MemberTest, UnknownDecisionMayBeSentAgain) {
  join();
  const auto old = member_.known().shards().at(s0).record.value;
  const auto next = replication::remove_member(old, replica_id{2});
  member_.compare_and_set(s0, old, next);
  port_.told.clear();
  member_.decided(
    port_.decisions.front().number, {etcd::swap_end::unknown, {}, 0, "no answer"}, now_);
  EXPECT_TRUE(port_.told.empty());
  port_.decisions.clear();
  member_.compare_and_set(s0, old, next);
  EXPECT_EQ(port_.decisions.size(), 1u);
}

TEST_F(MemberTest, ReplicaThatKnowsMoreThanEtcdToldMakesItRead) {
  join();
  auto newer = shard_of(4);
  put(keys_.shard(s0), encode(newer));
  member_.compare_and_set(
    s0, newer.value, replication::remove_member(newer.value, replica_id{2}));
  ASSERT_EQ(port_.decisions.size(), 1u);
  EXPECT_EQ(port_.decisions[0].what.next, port_.decisions[0].what.expected);
  decide();
  EXPECT_EQ(member_.known().shards().at(s0).record.value.version, 4u);
}

TEST_F(MemberTest, BuildsAReplicaThatIsWantedAndNamesIt) {
  join();
  auto shard = shard_of(2);
  shard.nodes = {{replica_id{2}, "b"}};
  shard.value.primary = replica_id{2};
  shard.value.in_sync = shard.value.replicas = {replica_id{2}};
  put(keys_.shard(s0), encode(shard));
  // The shards that this node held are of no more use: it was left out.
  shard.value.version = 3;
  shard.wanted = {"b"};
  put(keys_.shard(s0), encode(shard));
  advance(1s);
  answer_poll();
  EXPECT_TRUE(port_.dropped.empty()) << "what a poll tells may be old";
  decide_shard();
  EXPECT_EQ(port_.dropped, std::vector{replica_id{1}});

  shard.value.version = 4;
  shard.wanted = {"a", "b"};
  put(keys_.shard(s0), encode(shard));
  advance(1s);
  answer_poll();
  EXPECT_TRUE(port_.built.empty()) << "what a poll tells may be old";
  // The wish of this controller comes late.
  decide_shard();
  advance(1s);
  decide_shard();
  ASSERT_FALSE(port_.built.empty());
  port_.decisions.clear();
  member_.replica_built(s0, replica_id{8});
  ASSERT_EQ(port_.decisions.size(), 1u);
  const auto next = decode<shard_record>(*port_.decisions[0].what.next);
  ASSERT_TRUE(next);
  EXPECT_EQ(node_of(*next, replica_id{8}), "a");
  EXPECT_EQ(learners(*next), std::vector{replica_id{8}});
}

TEST_F(MemberTest, KeepsAReplicaThatOnlyAnOldStateDoesNotName) {
  join();
  auto old = shard_of(2);
  old.nodes = {{replica_id{2}, "b"}};
  old.value.primary = replica_id{2};
  old.value.in_sync = old.value.replicas = {replica_id{2}};
  old.wanted = {"b"};
  put(keys_.shard(s0), encode(old));
  advance(1s);
  answer_poll();
  put(keys_.shard(s0), encode(shard_of(3)));

  decide_shard();

  EXPECT_TRUE(port_.dropped.empty());
  EXPECT_EQ(member_.known().shards().at(s0).record, shard_of(3));
}

/// `a` is the primary of the shard, and the controller wants it to be `b`.
class MoveOfAPrimary : public MemberTest {
protected:
  MoveOfAPrimary() {
    b_.incarnation = 3;
    b_.address = "b:1";
  }

  void tell(const std::string& key, const std::string& value) {
    put(key, value);
    advance(1s);
    answer_poll();
  }

  void tell_of_b() { tell(keys_.node("b"), encode(b_)); }

  void want_b() {
    auto shard = shard_of(2);
    shard.preferred = "b";
    tell(keys_.shard(s0), encode(shard));
  }

  node_record b_;
};

TEST_F(MoveOfAPrimary, HandsTheShardOver) {
  join();
  tell_of_b();
  want_b();
  EXPECT_EQ(port_.handed_to, std::vector{replica_id{2}});
}

TEST_F(MoveOfAPrimary, WaitsForANodeThatIsThereAndStays) {
  join();
  want_b();
  EXPECT_TRUE(port_.handed_to.empty()) << "not there";

  b_.is_leaving = true;
  tell_of_b();
  EXPECT_TRUE(port_.handed_to.empty()) << "it stops";

  b_.is_leaving = false;
  tell_of_b();
  EXPECT_EQ(port_.handed_to, std::vector{replica_id{2}});
}

TEST_F(MemberTest, PrimaryRemovesAReplicaThatIsNotWantedInTwoSteps) {
  join();
  auto shard = shard_of(2);
  shard.wanted = {"a"};
  put(keys_.shard(s0), encode(shard));
  member_.serves(s0, 1);
  advance(1s);
  answer_poll();
  while (port_.decisions.front().what.key != keys_.shard(s0))
    decide();
  auto next = decode<shard_record>(*port_.decisions.front().what.next).value();
  EXPECT_EQ(next.value.in_sync, std::vector{replica_id{1}});
  EXPECT_EQ(learners(next), std::vector{replica_id{2}});
  decide();
  while (port_.decisions.front().what.key != keys_.shard(s0))
    decide();
  next = decode<shard_record>(*port_.decisions.front().what.next).value();
  EXPECT_EQ(next.value.replicas, std::vector{replica_id{1}});
}

TEST_F(MemberTest, PrimaryThatHasNotServedSinceItsStartRemovesNoReplica) {
  join();
  auto shard = shard_of(2);
  shard.value.epoch = 2;
  shard.wanted = {"a"};
  put(keys_.shard(s0), encode(shard));
  member_.serves(s0, 1);
  port_.decisions.clear();
  advance(1s);
  answer_poll();
  for (const auto& decision : port_.decisions)
    EXPECT_NE(decision.what.key, keys_.shard(s0)) << "another one may have what this one lost";
  member_.serves(s0, 2);
  ASSERT_FALSE(port_.decisions.empty());
  EXPECT_EQ(port_.decisions.back().what.key, keys_.shard(s0));
}

TEST_F(MemberTest, PlacesCopiesWhileItIsTheController) {
  join();
  advance(1s);
  ASSERT_FALSE(port_.decisions.empty());
  EXPECT_EQ(port_.decisions.front().what.key, "/codeq/c/controller");
  EXPECT_EQ(port_.decisions.front().what.lease, 33u);
  decide();
  EXPECT_TRUE(member_.is_controller());
  answer_poll();
  auto node = options().self;
  node.incarnation = 3;
  node.address = "d:1";
  put(keys_.node("d"), encode(node));
  etcd_.erase(keys_.node("b"));
  advance(timing::gone + timing::full_poll);
  answer_poll();
  for (int i = 0; i < 80; ++i) {
    advance(1s);
    if (!port_.decisions.empty() && port_.decisions.front().what.key == keys_.shard(s0))
      break;
    if (!port_.decisions.empty())
      decide();
    answer_poll();
  }
  ASSERT_FALSE(port_.decisions.empty());
  const auto next = decode<shard_record>(*port_.decisions.front().what.next);
  ASSERT_TRUE(next);
  EXPECT_EQ(next->wanted, (std::vector<std::string>{"a", "b", "d"})) << "b is gone";
}

TEST_F(MemberTest, EndsWhenTheClusterHasAFormatThatItDoesNotRead) {
  join();
  put(keys_.cluster(), encode(cluster_record{2, 5, 1, 2, 1, 2, 1, {}, {}}));
  advance(1s);
  answer_poll();

  EXPECT_EQ(
    port_.end,
    "the stores of the cluster have format 2; this version of codeq-coordinator reads up to 1: "
    "start the version that the other coordinators have");
  const auto asked = port_.decisions.size();
  advance(10s);
  EXPECT_EQ(port_.decisions.size(), asked);
}

TEST_F(StoreFormat, IsRaisedByTheControllerWhenAllCoordinatorsReadIt) {
  join();
  EXPECT_EQ(port_.store_format, 1u);
  control_with("b", 2);
  EXPECT_EQ(stored_format(), 2u);
  advance(1s);
  answer_poll();
  EXPECT_EQ(port_.store_format, 2u);
}

TEST_F(StoreFormat, StaysWhileACoordinatorReadsNoNewerOne) {
  join();
  control_with("b", 1);
  EXPECT_EQ(stored_format(), 1u);
}

TEST_F(StoreFormat, StaysWhileACoordinatorWithACopyIsNotThere) {
  join();
  control_with("d", 2);
  EXPECT_EQ(stored_format(), 1u);
}

TEST_F(MemberTest, LeavesTheControllerToOthers) {
  join();
  put(keys_.controller(), encode(controller_record{1, "b", 9, {}}));
  etcd::watch_line line;
  line.changes = {{keys_.controller(), etcd_[keys_.controller()].first, revision_}};
  member_.watched(line, now_);
  advance(5s);
  for (const auto& one : port_.decisions)
    EXPECT_EQ(one.what.key, "/codeq/c/nodes/a");
  EXPECT_FALSE(member_.is_controller());
}

TEST_F(MemberTest, TellsThatItLeaves) {
  join();
  member_.leave(now_);
  ASSERT_EQ(port_.decisions.size(), 1u);
  EXPECT_TRUE(decode<node_record>(*port_.decisions[0].what.next)->is_leaving);
}

TEST_F(MemberTest, ReportThatEtcdDidNotDecideIsRepeatedSoon) {
  join();
  advance(1s);
  while (!port_.decisions.empty())
    decide();
  advance(timing::load);
  ASSERT_EQ(port_.decisions.size(), 1u);
  leave_open(etcd::swap_end::unknown);

  advance(timing::poll + 50ms);

  ASSERT_EQ(port_.decisions.size(), 1u);
  EXPECT_EQ(port_.decisions[0].what.key, keys_.node("a"));
}

TEST_F(MemberTest, TellsAtOnceThatItsDiskRefusesTasksAndSeldomHowMuchIsFree) {
  join();
  const auto told = [this] {
    return decode<node_record>(etcd_.at(keys_.node("a")).first).value();
  };
  const auto settle = [this](duration time) {
    advance(time);
    while (!port_.decisions.empty())
      decide();
  };
  settle(1s);
  member_.set_disk({5, false});
  settle(1s);
  EXPECT_NE(told().free_bytes, 5u);

  member_.set_disk({4, true});
  settle(50ms);
  EXPECT_TRUE(told().refuses_tasks);
  EXPECT_EQ(told().free_bytes, 4u);

  member_.set_disk({9, false});
  settle(50ms);
  EXPECT_FALSE(told().refuses_tasks);

  member_.set_disk({8, false});
  settle(50ms);
  EXPECT_EQ(told().free_bytes, 9u);
  settle(timing::load);
  EXPECT_EQ(told().free_bytes, 8u);
}

TEST_F(MemberTest, GivesItsLeaseUpAtItsEndAndAsksNothingMore) {
  join();
  const auto reads = port_.reads.size();
  member_.end();
  EXPECT_EQ(port_.revoked, 33u);
  advance(10s);
  EXPECT_TRUE(port_.decisions.empty());
  EXPECT_TRUE(port_.kept.empty());
  EXPECT_EQ(port_.reads.size(), reads);
}

TEST_F(MemberTest, KeepsTheMap) {
  join();
  ASSERT_NE(member_.map().of(s0), nullptr);
  EXPECT_EQ(member_.map().of(s0)->address, "a:1");
  EXPECT_GE(port_.map_changes, 1);
  auto b = options().self;
  b.incarnation = 3;
  b.address = "b:1";
  put(keys_.node("b"), encode(b));
  auto shard = shard_of(2);
  shard.value = elect(shard_of(1).value, replica_id{2}, {replica_id{2}}, 2);
  put(keys_.shard(s0), encode(shard));
  advance(1s);
  answer_poll();
  EXPECT_EQ(member_.map().of(s0)->address, "b:1");
  EXPECT_EQ(member_.map().of(s0)->epoch, 2u);
}

TEST_F(MemberTest, MapLearnsOfANodeAfterItsShards) {
  join();
  auto shard = shard_of(2);
  shard.value = elect(shard_of(1).value, replica_id{2}, {replica_id{2}}, 2);
  put(keys_.shard(s0), encode(shard));
  advance(1s);
  answer_poll();
  EXPECT_EQ(member_.map().of(s0)->address, "a:1") << "b is not known yet";
  auto b = options().self;
  b.incarnation = 3;
  b.address = "b:1";
  put(keys_.node("b"), encode(b));
  advance(1s);
  answer_poll();
  EXPECT_EQ(member_.map().of(s0)->address, "b:1");
}

TEST_F(MemberTest, RestoredEtcdNeedsARepair) {
  join();
  advance(1s);
  member_.polled(error{errc::incompatible_store, "etcd was restored"}, now_);
  EXPECT_EQ(port_.repair, "etcd was restored");
  port_.repair.clear();
  advance(timing::poll);
  member_.polled(error{errc::incompatible_store, "etcd was restored"}, now_);
  EXPECT_EQ(port_.repair, "") << "it is said once in a while";
  advance(timing::repair_words);
  member_.polled(error{errc::incompatible_store, "etcd was restored"}, now_);
  EXPECT_EQ(port_.repair, "etcd was restored");
}

TEST_F(MemberTest, ReplicaOfAnEmptiedDiskIsTakenOutOnceItDoesNotCount) {
  auto shard = shard_of(1);
  shard.value.primary = replica_id{2};
  shard.value.in_sync = {replica_id{2}};
  put(keys_.cluster(), encode(cluster_record{1, 5, 1, 2, 1, 1, 1, {}, {}}));
  put(keys_.shard(s0), encode(shard));
  advance(50ms);

  answer_poll();

  ASSERT_FALSE(port_.decisions.empty());
  EXPECT_EQ(port_.decisions.front().what.next, encode(without_replica(shard, replica_id{1})));
}

TEST_F(MemberTest, ReplicaOfAnEmptiedDiskStaysWhileItCounts) {
  put(keys_.cluster(), encode(cluster_record{1, 5, 1, 2, 1, 1, 1, {}, {}}));
  put(keys_.shard(s0), encode(shard_of(1)));
  advance(50ms);

  answer_poll();

  EXPECT_TRUE(port_.decisions.empty());
}

} // namespace
} // namespace codeq::cluster
