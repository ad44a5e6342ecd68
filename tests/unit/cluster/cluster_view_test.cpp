// SPDX-License-Identifier: Apache-2.0
#include "cluster/cluster_view.hpp"
#include "cluster/record_json.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace codeq::cluster {
namespace {

using replication::replica_id;

/// Nodes `a` and `b` are there, shard 0 has copies on `a`, which serves it, and on `b`.
class ClusterView : public testing::Test {
protected:
  ClusterView() {
    cluster_.version = 1;
    cluster_.shards = 1;
    cluster_.copies = 2;
    shard_.value.version = 1;
    shard_.value.epoch = 4;
    shard_.value.primary = replica_id{1};
    shard_.value.in_sync = shard_.value.replicas = {replica_id{1}, replica_id{2}};
    shard_.nodes = {{replica_id{1}, "a"}, {replica_id{2}, "b"}};
    shard_.wanted = {"a", "b"};
  }

  void put(const std::string& key, const std::string& bytes) {
    known_.note({key, bytes, ++revision_});
  }

  /// As `a` tells it; `served` are the shards that it serves.
  cluster_status look(bool is_served = true) {
    put(known_.keys().cluster(), encode(cluster_));
    put(known_.keys().shard(shard_id{0}), encode(shard_));
    for (const char* node : {"a", "b"}) {
      node_record record;
      record.version = 1;
      record.incarnation = 1;
      record.address = std::string(node) + ":1";
      if (missing_ != node)
        put(known_.keys().node(node), encode(record));
    }
    auto status = view_of(known_, "c", "a");
    status.shards.front().is_served = is_served;
    note_waits(status);
    return status;
  }

  std::string wait() { return look().shards.front().waits_for; }

  /// Another node is there, which has no copy.
  void add_node_c(std::uint64_t free_bytes, bool refuses_tasks) {
    node_record c;
    c.version = ++version_of_c_;
    c.incarnation = 1;
    c.address = "c:1";
    c.free_bytes = free_bytes;
    c.refuses_tasks = refuses_tasks;
    put(known_.keys().node("c"), encode(c));
  }

  /// The status once the record of node b has changed.
  template <class Change>
  cluster_status look_at_b(Change change) {
    look();
    node_record b;
    b.version = 2;
    b.incarnation = 1;
    b.address = "b:1";
    change(b);
    put(known_.keys().node("b"), encode(b));
    return view_of(known_, "c", "a");
  }

  catalogue known_{catalogue_keys("c")};
  std::uint64_t revision_ = 0;
  std::uint64_t version_of_c_ = 0;
  cluster_record cluster_;
  shard_record shard_;
  std::string missing_;
};

TEST_F(ClusterView, ShowsNodesAndCopiesByName) {
  const auto status = look();

  ASSERT_EQ(status.nodes.size(), 2u);
  EXPECT_EQ(status.nodes[1].name, "b");
  EXPECT_EQ(status.nodes[1].address, "b:1");
  EXPECT_TRUE(status.nodes[1].is_present);
  ASSERT_EQ(status.shards.size(), 1u);
  EXPECT_EQ(status.shards[0].primary, "a");
  EXPECT_EQ(status.shards[0].epoch, 4u);
  ASSERT_EQ(status.shards[0].copies.size(), 2u);
  EXPECT_TRUE(status.shards[0].copies[1].is_in_sync);
  EXPECT_EQ(status.shards[0].waits_for, "");
}

TEST_F(ClusterView, ShardIsMarkedThatAnOperatorHasMoved) {
  EXPECT_EQ(look().shards.front().pinned, "");

  shard_.value.version = 2;
  shard_.pinned = "b";
  EXPECT_EQ(look().shards.front().pinned, "b");
}

TEST_F(ClusterView, OnlyOtherCopiesThanThatOfThePrimaryAreBehind) {
  auto shard = look().shards.front();
  for (auto& copy : shard.copies)
    copy.position = 7;

  EXPECT_EQ(lag_of(shard, shard.copies.at(0), {4, 9}), 0u) << "the primary writes last";
  EXPECT_EQ(lag_of(shard, shard.copies.at(1), {4, 9}), 2u);
  EXPECT_EQ(lag_of(shard, shard.copies.at(1), {4, 6}), 0u);
}

TEST_F(ClusterView, ShardWithoutItsPrimaryWaitsForAnother) {
  shard_.value.primary = replica_id{2};
  missing_ = "b";

  EXPECT_EQ(wait(), "another primary, since b is missing");
}

TEST_F(ClusterView, ShardWithoutAnyCopyInSyncWaitsForTheNodesThatHaveOne) {
  shard_.value.primary = replica_id{2};
  shard_.value.in_sync = {replica_id{2}};
  missing_ = "b";
  EXPECT_EQ(wait(), "b, since no other node has a copy in sync");

  shard_.value.version = 2;
  shard_.value.in_sync = {replica_id{2}, replica_id{3}};
  shard_.value.replicas.push_back(replica_id{3});
  shard_.nodes.emplace(replica_id{3}, "z");
  EXPECT_EQ(wait(), "b or z, since no other node has a copy in sync");
}

TEST_F(ClusterView, PrimaryThatDoesNotServeYetIsWaitedFor) {
  EXPECT_EQ(look(false).shards.front().waits_for, "its primary, which takes over");
}

TEST_F(ClusterView, ShardOfAnotherNodeWaitsForItsAnswer) {
  shard_.value.primary = replica_id{2};

  EXPECT_EQ(look(false).shards.front().waits_for, "an answer of b");
}

TEST_F(ClusterView, TooFewCopiesInSyncStopTasks) {
  shard_.value.in_sync = {replica_id{1}};
  cluster_.min_in_sync = 2;

  EXPECT_EQ(wait(), "2 copies in sync before it takes tasks; there is 1");
}

TEST_F(ClusterView, CopiesThatAreNotInSyncAreNamed) {
  shard_.value.in_sync = {replica_id{1}};
  EXPECT_EQ(wait(), "the copy on b");
  missing_ = "b";
  known_ = catalogue(catalogue_keys("c"));
  EXPECT_EQ(wait(), "b, which is missing");
}

TEST_F(ClusterView, TooFewNodesAreWaitedFor) {
  cluster_.copies = 3;

  EXPECT_EQ(wait(), "a node that can take another copy");
}

TEST_F(ClusterView, CopyOfADrainedNodeWaitsForAnotherNode) {
  cluster_.drained = {"b"};

  EXPECT_EQ(wait(), "a node that can take the copy of b; add or undrain one");
}

TEST_F(ClusterView, ShardWaitsForItsTurnWhenAnotherNodeCanTakeACopy) {
  constexpr std::uint64_t enough = 1ull << 40;
  cluster_.copies = 3;
  add_node_c(enough, true);
  EXPECT_EQ(wait(), "a node that can take another copy") << "c refuses tasks";
  add_node_c(1u << 20, false);
  EXPECT_EQ(wait(), "a node that can take another copy") << "the disk of c is nearly full";
  add_node_c(enough, false);
  EXPECT_EQ(wait(), "its turn to get another copy");

  cluster_.version = 2;
  cluster_.copies = 2;
  cluster_.drained = {"b"};
  EXPECT_EQ(wait(), "its turn to be copied away from b");
  cluster_.version = 3;
  cluster_.drained = {"b", "c"};
  EXPECT_EQ(wait(), "a node that can take the copy of b; add or undrain one");
}

TEST_F(ClusterView, CopyOfADrainedNodeThatIsReplacedIsRemoved) {
  cluster_.drained = {"b"};
  shard_.value.in_sync = {replica_id{1}, replica_id{2}, replica_id{3}};
  shard_.value.replicas = shard_.value.in_sync;
  shard_.nodes.emplace(replica_id{3}, "c");
  shard_.wanted = {"a", "c"};

  EXPECT_EQ(wait(), "the removal of the copy on b");
}

TEST_F(ClusterView, CopyOfANodeThatIsMissingAndDrainedWaitsForItsReplacement) {
  missing_ = "b";
  cluster_.drained = {"b"};
  shard_.value.in_sync = {replica_id{1}};
  EXPECT_EQ(wait(), "a node that can take the copy of b; add or undrain one");

  add_node_c(1ull << 40, false);
  EXPECT_EQ(wait(), "its turn to be copied away from b");
  shard_.value.version = 2;
  shard_.value.replicas.push_back(replica_id{3});
  shard_.nodes.emplace(replica_id{3}, "c");
  shard_.wanted = {"a", "b", "c"};
  EXPECT_EQ(wait(), "the copy on c");
  shard_.value.version = 3;
  shard_.value.in_sync = {replica_id{1}, replica_id{3}};
  EXPECT_EQ(wait(), "the removal of the copy on b");
}

TEST_F(ClusterView, LastCopyInSyncIsWaitedForAlsoOnADrainedNode) {
  missing_ = "b";
  cluster_.drained = {"b"};
  shard_.value.primary = replica_id{2};
  shard_.value.in_sync = {replica_id{2}};

  EXPECT_EQ(wait(), "b, since no other node has a copy in sync");
}

TEST_F(ClusterView, OnlyOtherNodesThatArePresentAreUnreached) {
  cluster_.drained = {"z"};
  auto status = look();

  note_unreached(status, [](const std::string&) { return false; });

  ASSERT_EQ(status.nodes.size(), 3u);
  EXPECT_EQ(status.nodes[0].unreached, std::vector<std::string>{"b"});
  EXPECT_TRUE(status.nodes[1].unreached.empty());
  EXPECT_TRUE(status.nodes[2].unreached.empty());
}

TEST_F(ClusterView, NodeWithAConnectionIsNotUnreached) {
  auto status = look();

  note_unreached(status, [](const std::string& node) { return node == "b"; });

  EXPECT_TRUE(status.nodes[0].unreached.empty());
}

TEST_F(ClusterView, NodeThatRefusesTasksIsShown) {
  const auto status = look_at_b([](node_record& b) { b.refuses_tasks = true; });

  ASSERT_EQ(status.nodes.size(), 2u);
  EXPECT_FALSE(status.nodes[0].refuses_tasks);
  EXPECT_TRUE(status.nodes[1].refuses_tasks);
}

TEST_F(ClusterView, NodeThatStopsIsNotDrained) {
  const auto status = look_at_b([](node_record& b) { b.is_leaving = true; });

  ASSERT_EQ(status.nodes.size(), 2u);
  EXPECT_TRUE(status.nodes[1].is_present);
  EXPECT_FALSE(status.nodes[1].is_draining);
}

TEST_F(ClusterView, DrainedNodeIsShownAlsoWhenItIsGone) {
  cluster_.drained = {"z"};

  const auto status = look();

  ASSERT_EQ(status.nodes.size(), 3u);
  EXPECT_EQ(status.nodes[2].name, "z");
  EXPECT_TRUE(status.nodes[2].is_draining);
  EXPECT_FALSE(status.nodes[2].is_present);
}

} // namespace
} // namespace codeq::cluster
