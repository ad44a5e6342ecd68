// SPDX-License-Identifier: Apache-2.0
#include "cluster/member.hpp"

#include "cluster/cluster_timing.hpp"
#include "cluster/record_json.hpp"

#include <gtest/gtest.h>

#include <deque>

namespace codeq::cluster {
namespace {

using namespace std::chrono_literals;
using replication::replica_id;

/// Keeps what a member asks for.
struct recorded_port : member_port {
  struct decision {
    std::uint64_t number;
    etcd::swap what;
  };

  void decide(std::uint64_t number, const etcd::swap& what) override {
    decisions.push_back({number, what});
  }

  void read(const etcd::key_range& what) override { reads.push_back(what); }

  void grant(duration) override { ++grants; }

  void keep_alive(std::uint64_t lease) override { kept.push_back(lease); }

  void revoke(std::uint64_t lease) override { revoked = lease; }

  void note_poll(std::uint64_t) override {}

  void shard_told(shard_id, const shard_record& record, bool is_applied) override {
    told.emplace_back(record.value.version, is_applied);
  }

  void build_replica(shard_id shard) override { built.push_back(shard); }

  void drop_replica(shard_id, replica_id replica) override { dropped.push_back(replica); }

  void hand_over(shard_id, replica_id to) override { handed_to.push_back(to); }

  void map_changed() override { ++map_changes; }

  void superseded(const std::string& words) override { end = words; }

  void needs_repair(const std::string& words) override { repair = words; }

  std::deque<decision> decisions;
  std::vector<etcd::key_range> reads;
  int grants = 0;
  std::vector<std::uint64_t> kept;
  std::uint64_t revoked = 0;
  std::vector<std::pair<std::uint64_t, bool>> told;
  std::vector<shard_id> built;
  std::vector<replica_id> dropped;
  std::vector<replica_id> handed_to;
  int map_changes = 0;
  std::string end;
  std::string repair;
};

constexpr shard_id s0{0};

/// Node `a` of a cluster with one shard, whose etcd is this fixture.
class MemberTest : public testing::Test {
protected:
  static member_options options() {
    member_options made;
    made.cluster = "c";
    made.node = "a";
    made.self.incarnation = 1;
    made.self.address = "a:1";
    made.self.free_bytes = 1ull << 40;
    return made;
  }

  static shard_record shard_of(std::uint64_t version) {
    shard_record shard;
    shard.value.version = version;
    shard.value.epoch = 1;
    shard.value.primary = replica_id{1};
    shard.value.in_sync = shard.value.replicas = {replica_id{1}, replica_id{2}};
    shard.nodes = {{replica_id{1}, "a"}, {replica_id{2}, "b"}};
    shard.wanted = {"a", "b"};
    return shard;
  }

  void advance(duration by) {
    for (auto end = now_ + by; now_ < end;) {
      now_ += 50ms;
      member_.tick(now_);
    }
  }

  void put(const std::string& key, const std::string& value) {
    etcd_[key] = {value, ++revision_};
  }

  /// Answers the last read.
  void answer_poll() {
    etcd::range_answer all;
    all.at = {7, revision_};
    const auto since = port_.reads.back().modified_since;
    for (const auto& [key, value] : etcd_) {
      ++all.count;
      if (value.second >= since)
        all.found.push_back({key, value.first, value.second});
    }
    member_.polled(all, now_);
  }

  /// Decides the oldest swap as etcd would.
  void decide() {
    ASSERT_FALSE(port_.decisions.empty());
    const auto one = port_.decisions.front();
    port_.decisions.pop_front();
    const auto found = etcd_.find(one.what.key);
    auto current = found == etcd_.end() ? std::nullopt : std::optional(found->second.first);
    etcd::swap_answer how{etcd::swap_end::not_applied, current, revision_, ""};
    if (current == one.what.expected) {
      put(one.what.key, *one.what.next);
      how = {etcd::swap_end::applied, one.what.next, revision_, ""};
    }
    member_.decided(one.number, how, now_);
  }

  void join() {
    put(keys_.cluster(), encode(cluster_record{1, 5, 1, 2, 1, 1, 1, {}, {}}));
    put(keys_.shard(s0), encode(shard_of(1)));
    member_.holds(s0, replica_id{1});
    advance(50ms);
    answer_poll();
    member_.granted(etcd::lease_answer{{7, revision_}, 33, 5s}, now_);
    decide();
    ASSERT_TRUE(member_.is_registered());
    port_.decisions.clear();
  }

  recorded_port port_;
  monotonic_time now_{duration{1'000'000}};
  member member_{options(), port_, now_};
  catalogue_keys keys_{"c"};
  std::map<std::string, std::pair<std::string, std::uint64_t>> etcd_;
  std::uint64_t revision_ = 1;
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
  EXPECT_EQ(port_.dropped, std::vector{replica_id{1}});

  shard.value.version = 4;
  shard.wanted = {"a", "b"};
  put(keys_.shard(s0), encode(shard));
  advance(1s);
  answer_poll();
  ASSERT_FALSE(port_.built.empty());
  port_.decisions.clear();
  member_.replica_built(s0, replica_id{8});
  ASSERT_EQ(port_.decisions.size(), 1u);
  const auto next = decode<shard_record>(*port_.decisions[0].what.next);
  ASSERT_TRUE(next);
  EXPECT_EQ(node_of(*next, replica_id{8}), "a");
  EXPECT_EQ(learners(*next), std::vector{replica_id{8}});
}

TEST_F(MemberTest, PrimaryHandsOverWhereTheControllerWantsIt) {
  join();
  auto shard = shard_of(2);
  shard.preferred = "b";
  put(keys_.shard(s0), encode(shard));
  advance(1s);
  answer_poll();
  ASSERT_FALSE(port_.handed_to.empty());
  EXPECT_EQ(port_.handed_to[0], replica_id{2});
}

TEST_F(MemberTest, PrimaryRemovesAReplicaThatIsNotWantedInTwoSteps) {
  join();
  auto shard = shard_of(2);
  shard.wanted = {"a"};
  put(keys_.shard(s0), encode(shard));
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
  member_.leave();
  advance(50ms);
  ASSERT_EQ(port_.decisions.size(), 1u);
  EXPECT_TRUE(decode<node_record>(*port_.decisions[0].what.next)->is_leaving);
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

TEST_F(MemberTest, OperatorsMoveIsAWishThatThePrimaryCarriesOut) {
  join();

  ASSERT_TRUE(member_.change({cluster_change::kind::move, s0, "b"}));
  EXPECT_EQ(member_.change({cluster_change::kind::move, s0, "b"}).error().code, errc::overloaded)
    << "the first one is not decided yet";
  decide();

  EXPECT_EQ(port_.handed_to, std::vector{replica_id{2}});
  const auto moved = decode<shard_record>(etcd_.at(keys_.shard(s0)).first).value();
  EXPECT_EQ(moved.pinned, "b");
  ASSERT_TRUE(member_.change({cluster_change::kind::balance, {}, {}}));
  decide();
  EXPECT_EQ(decode<shard_record>(etcd_.at(keys_.shard(s0)).first).value().pinned, "");
}

TEST_F(MemberTest, MoveThatIsNotPossibleNamesWhatIs) {
  join();
  auto why = [&](const cluster_change& change) { return member_.change(change).error(); };

  EXPECT_EQ(
    why({cluster_change::kind::move, s0, "x"}).context,
    "node `x` has no copy of shard 0 that is in sync; the nodes that have one: a, b");
  EXPECT_EQ(
    why({cluster_change::kind::move, shard_id{3}, "a"}).context, "shard is 3; it must be 0..0");
  EXPECT_EQ(
    why({cluster_change::kind::drain, {}, "x"}).context, "node `x` is not one of the cluster");
  EXPECT_TRUE(port_.decisions.empty());
}

TEST_F(MemberTest, DrainedNodesAreKeptInTheClusterSorted) {
  join();
  const auto drained = [&] {
    return decode<cluster_record>(etcd_.at(keys_.cluster()).first).value().drained;
  };

  for (const char* node : {"b", "a", "b"}) {
    ASSERT_TRUE(member_.change({cluster_change::kind::drain, {}, node}));
    if (!port_.decisions.empty())
      decide();
  }
  EXPECT_EQ(drained(), (std::vector<std::string>{"a", "b"}));
  ASSERT_TRUE(member_.change({cluster_change::kind::undrain, {}, "b"}));
  decide();
  EXPECT_EQ(drained(), std::vector<std::string>{"a"});
}

TEST_F(MemberTest, ChangeBeforeEtcdWasReadIsRefused) {
  EXPECT_EQ(
    member_.change({cluster_change::kind::move, s0, "b"}).error().code, errc::going_away);
}

} // namespace
} // namespace codeq::cluster
