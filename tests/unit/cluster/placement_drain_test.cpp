// SPDX-License-Identifier: Apache-2.0
// Nodes that are drained.
#include "unit/cluster/placement_fixture.hpp"

namespace codeq::cluster {
namespace {

TEST_F(PlacementTest, DrainedNodeGivesEverythingAwayAndNoCopyIsEverMissing) {
  view_.copies = 2;
  add_nodes(1, 4);
  add_shards(40, "r0n0");
  settle();
  view_.nodes["r0n2"].state = node_state::drained;

  settle_in_sync(2);

  EXPECT_EQ(copies_on("r0n2"), 0u);
  EXPECT_EQ(look().odd, 0u);
}

TEST_F(PlacementTest, DrainedNodeKeepsItsCopiesUntilAnotherNodeTakesThem) {
  add_two_copies(4);
  view_.nodes["r0n0"].state = node_state::drained;

  settle();

  for (const auto& [id, shard] : view_.shards)
    EXPECT_EQ(shard.wanted, (std::vector<std::string>{"r0n0", "r0n1"}));
  EXPECT_EQ(primaries_on("r0n0"), 0u) << "it leads nothing any more";
  EXPECT_TRUE(step().empty());

  view_.nodes["r0n2"] = {"r0", node_state::serving};
  settle_in_sync(2);
  for (const auto& [id, shard] : view_.shards)
    EXPECT_EQ(shard.wanted, (std::vector<std::string>{"r0n1", "r0n2"}));
}

TEST_F(PlacementTest, SecondDrainedNodeKeepsTheCopiesThatOthersLack) {
  view_.copies = 2;
  add_nodes(1, 3);
  add_shards(12, "r0n0");
  settle();
  view_.nodes["r0n1"].state = node_state::drained;
  settle_in_sync(2);
  ASSERT_EQ(copies_on("r0n1"), 0u) << "two nodes are left";
  view_.nodes["r0n2"].state = node_state::drained;

  settle_in_sync(2);

  for (const auto& [id, shard] : view_.shards)
    EXPECT_EQ(shard.wanted, (std::vector<std::string>{"r0n0", "r0n2"}));
  EXPECT_EQ(primaries_on("r0n0"), 12u);

  view_.nodes["r0n1"].state = node_state::serving;
  settle_in_sync(2);
  EXPECT_EQ(copies_on("r0n2"), 0u) << "one node was undrained";
}

TEST_F(PlacementTest, ShardsOfDrainedNodesOnlyGetACopyOnTheLastOneThatStays) {
  view_.copies = 2;
  add_nodes(1, 3);
  add_shards(12, "r0n0");
  settle();
  view_.nodes["r0n0"].state = node_state::drained;
  view_.nodes["r0n1"].state = node_state::drained;

  settle_in_sync(2);

  EXPECT_EQ(copies_on("r0n2"), 12u);
  EXPECT_EQ(primaries_on("r0n2"), 12u);
  EXPECT_EQ(look().odd, 0u);
}

TEST_F(PlacementTest, DrainedNodeKeepsItsCopiesWhileTheOtherNodeIsGone) {
  view_.copies = 2;
  add_nodes(1, 3);
  add_shards(12, "r0n0");
  settle();
  const auto before = copies_on("r0n1");
  ASSERT_GT(before, 0u);
  view_.nodes["r0n1"].state = node_state::drained;
  fail("r0n2", node_state::gone);

  settle();

  EXPECT_EQ(copies_on("r0n1"), before);
  for (const auto& [id, shard] : view_.shards) {
    if (!replica_on(shard, "r0n1"))
      continue;
    EXPECT_EQ(shard.wanted, (std::vector<std::string>{"r0n0", "r0n1"}));
    EXPECT_EQ(shard.value.in_sync.size(), 2u);
  }
  EXPECT_EQ(primaries_on("r0n0"), 12u);
}

TEST_F(PlacementTest, CopyOfADrainedNodeThatIsGoneStaysWantedWithoutAReplacement) {
  add_two_copies(4);
  // A node that is drained and not there counts as gone at once.
  fail("r0n0", node_state::gone);
  settle();
  for (const auto& [id, shard] : view_.shards)
    EXPECT_EQ(shard.wanted.size(), 2u);

  view_.nodes["r0n2"] = {"r0", node_state::serving};
  settle();
  for (const auto& [id, shard] : view_.shards)
    EXPECT_EQ(shard.wanted, (std::vector<std::string>{"r0n1", "r0n2"}));
}

TEST_F(PlacementTest, DrainedNodeHandsOverToOneThatRefusesTasksRatherThanToNone) {
  add_two_copies(4);
  view_.nodes["r0n0"].state = node_state::drained;
  refuse_tasks("r0n1");

  settle();

  EXPECT_EQ(primaries_on("r0n1"), 4u);
}

/// Shard 0 is copied to one node after the other, whose disks fill up meanwhile.
class CopiesToSmallDisks : public PlacementTest {
protected:
  CopiesToSmallDisks() {
    add_two_copies(1);
    view_.nodes["r0n0"].state = node_state::drained;
    for (int i = 2; i < 20; ++i)
      view_.nodes["r0n" + std::to_string(i)] = {"r0", node_state::serving};
  }

  [[nodiscard]] std::vector<std::string>& wanted() {
    return view_.shards.at(shard_id{0}).wanted;
  }

  /// The nodes to which it is copied.
  [[nodiscard]] std::vector<std::string> targets() {
    auto nodes = wanted();
    std::erase_if(nodes, [](const auto& node) { return node == "r0n0" || node == "r0n1"; });
    return nodes;
  }
};

TEST_F(CopiesToSmallDisks, EachCopyEndsWhenItsDiskRefusesTasks) {
  step();
  for (int i = 2; i < 19; ++i) {
    ASSERT_EQ(targets().size(), 1u);
    const auto full = targets().front();
    refuse_tasks(full);

    step();

    EXPECT_NE(targets(), std::vector{full}) << "another node is tried";
    EXPECT_EQ(wanted().size(), 3u);
  }
  refuse_tasks(targets().front());
  step();
  EXPECT_EQ(wanted(), (std::vector<std::string>{"r0n0", "r0n1"})) << "no node is left";
  view_.nodes["r0n7"] = {"r0", node_state::serving};
  settle_in_sync(2);

  EXPECT_EQ(wanted(), (std::vector<std::string>{"r0n1", "r0n7"}));
}

TEST_F(CopiesToSmallDisks, CopyOfTheDrainedNodeStaysWhileItRestarts) {
  auto& shard = view_.shards.at(shard_id{0});
  shard.value.primary = *replica_on(shard, "r0n1");
  step();
  ASSERT_EQ(targets().size(), 1u);

  std::erase(shard.value.in_sync, *replica_on(shard, "r0n0"));
  step();

  EXPECT_EQ(wanted().size(), 3u) << "only one other copy is in sync";
}

TEST_F(CopiesToSmallDisks, CopyOnASmallDiskStaysWhileItsNodeRestarts) {
  auto& shard = view_.shards.at(shard_id{0});
  view_.nodes["r0n0"].state = node_state::serving;
  refuse_tasks("r0n1");
  step();
  ASSERT_EQ(targets().size(), 1u);
  shard.value.primary = *replica_on(shard, "r0n0");

  std::erase(shard.value.in_sync, *replica_on(shard, "r0n1"));
  step();

  EXPECT_EQ(wanted().size(), 3u) << "only one other copy is in sync";
}

TEST_F(CopiesToSmallDisks, NoMoreAreWantedThanARecordMayName) {
  for (int i = 2; wanted().size() < replicas_max; ++i) {
    const auto node = "r0n" + std::to_string(i);
    refuse_tasks(node);
    wanted().push_back(node);
  }
  std::sort(wanted().begin(), wanted().end());

  step();
  EXPECT_EQ(wanted(), (std::vector<std::string>{"r0n0", "r0n1"}));
  settle_in_sync(2);

  EXPECT_EQ(copies_on("r0n0"), 0u);
  EXPECT_EQ(wanted().size(), 2u);
}

TEST_F(PlacementTest, ShardThatAnOperatorHasMovedToADrainedNodeIsPlacedAsOthersFromThenOn) {
  view_.copies = 2;
  add_nodes(1, 3);
  add_shards(12, "r0n0");
  settle();
  auto& moved = view_.shards.at(shard_id{0});
  const auto pinned = node_of(moved, moved.value.primary);
  moved.pinned = pinned;
  settle();
  ASSERT_EQ(moved.pinned, pinned);
  view_.nodes.at(pinned).state = node_state::drained;

  settle_in_sync(2);

  EXPECT_NE(node_of(moved, moved.value.primary), pinned);
  EXPECT_EQ(moved.pinned, "");
  view_.nodes.at(pinned).state = node_state::serving;
  settle();
  EXPECT_EQ(moved.pinned, "");
}

TEST_F(PlacementTest, MoveToANodeThatIsGoneEndsWhenItsCopyIsReplaced) {
  add_two_copies(4);
  for (auto& [id, shard] : view_.shards)
    shard.pinned = "r0n0";
  fail("r0n0", node_state::gone);
  settle();
  for (const auto& [id, shard] : view_.shards)
    EXPECT_EQ(shard.pinned, "r0n0") << "nothing has its place yet";

  view_.nodes["r0n2"] = {"r0", node_state::serving};
  settle();

  for (const auto& [id, shard] : view_.shards)
    EXPECT_EQ(shard.pinned, "");
}

TEST_F(PlacementTest, MoveToANodeThatIsMissingForAShortTimeHolds) {
  add_two_copies(4);
  for (auto& [id, shard] : view_.shards)
    shard.pinned = "r0n0";
  fail("r0n0", node_state::missing);

  settle();

  for (const auto& [id, shard] : view_.shards)
    EXPECT_EQ(shard.pinned, "r0n0");
}

} // namespace
} // namespace codeq::cluster
