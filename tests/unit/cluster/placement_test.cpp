// SPDX-License-Identifier: Apache-2.0
#include "unit/cluster/placement_fixture.hpp"

namespace codeq::cluster {
namespace {

TEST_F(PlacementTest, OneNodeKeepsAllAlone) {
  view_.copies = 3;
  add_nodes(1, 1);
  add_shards(12, "r0n0");
  EXPECT_TRUE(step().empty());
}

TEST_F(PlacementTest, SpreadsCopiesAndPrimariesEvenly) {
  view_.copies = 2;
  add_nodes(1, 3);
  add_shards(12, "r0n0");

  settle();

  const auto found = look();
  EXPECT_EQ(found.odd, 0u);
  EXPECT_EQ(found.copies_min, 8u);
  EXPECT_EQ(found.copies_max, 8u);
  EXPECT_GE(found.primaries_min, 3u);
  EXPECT_LE(found.primaries_max, 5u);
}

TEST_F(PlacementTest, ZonesComeFirst) {
  view_.copies = 3;
  add_nodes(3, 2);
  view_.nodes["r0n2"] = {"r0", node_state::serving};
  view_.nodes["r0n3"] = {"r0", node_state::serving};
  add_shards(24, "r0n0");

  settle();

  const auto found = look();
  EXPECT_EQ(found.odd, 0u);
  EXPECT_EQ(found.shared_zones, 0u);
  // Each zone has 24 copies: 4 nodes of 6 in one, 2 of 12 in the others.
  EXPECT_GE(found.copies_min, 5u);
  EXPECT_LE(found.copies_max, 13u);
}

TEST_F(PlacementTest, SharesAZoneRatherThanLackACopy) {
  view_.copies = 3;
  add_nodes(2, 2);
  add_shards(8, "r0n0");
  settle();
  EXPECT_EQ(look().odd, 0u);
  EXPECT_EQ(look().shared_zones, 8u);

  view_.nodes["r2n0"] = {"r2", node_state::serving};
  settle();
  EXPECT_EQ(look().shared_zones, 0u) << "a third zone has come";
}

TEST_F(PlacementTest, MovesAreBounded) {
  view_.copies = 2;
  add_nodes(1, 10);
  add_shards(200, "r0n0");
  bounds_.moves_max = 5;
  bounds_.moves_to_node_max = 1;
  for (int i = 0; i < 30; ++i) {
    step();
    std::size_t building = 0;
    std::map<std::string, std::size_t> arriving;
    for (const auto& [id, shard] : view_.shards) {
      auto is_building = false;
      for (const auto& node : shard.wanted)
        if (!replica_on(shard, node)) {
          ++arriving[node];
          is_building = true;
        }
      building += is_building ? 1 : 0;
    }
    EXPECT_LE(building, 5u);
    for (const auto& [node, count] : arriving)
      EXPECT_LE(count, 1u) << node;
    // Nothing is ready for some steps: no further moves begin.
    if (i % 3 == 0)
      carry_out();
  }
}

TEST_F(PlacementTest, NewNodeGetsItsShareAndOthersAreLeftAlone) {
  view_.copies = 2;
  add_nodes(1, 4);
  add_shards(40, "r0n0");
  settle();
  const auto before = view_.shards;
  view_.nodes["r0n4"] = {"r0", node_state::serving};

  settle();

  EXPECT_GE(look().copies_min, 15u);
  EXPECT_LE(look().copies_max, 17u);
  std::size_t moved = 0;
  for (const auto& [id, shard] : view_.shards)
    moved += shard.wanted != before.at(id).wanted ? 1 : 0;
  EXPECT_LE(moved, 17u) << "only what the new node takes";
}

TEST_F(PlacementTest, MissingNodeKeepsItsCopies) {
  view_.copies = 2;
  add_nodes(1, 4);
  add_shards(40, "r0n0");
  settle();
  fail("r0n1", node_state::missing);

  const auto before = view_.shards;
  step();

  for (const auto& [id, shard] : view_.shards)
    EXPECT_EQ(shard.wanted, before.at(id).wanted);
}

TEST_F(PlacementTest, NodeThatIsGoneIsReplaced) {
  view_.copies = 3;
  add_nodes(4, 2);
  add_shards(40, "r0n0");
  settle();
  fail("r1n0", node_state::gone);

  settle();

  for (const auto& [id, shard] : view_.shards)
    EXPECT_EQ(replica_on(shard, "r1n0"), nullptr);
  EXPECT_EQ(look().odd, 0u);
  EXPECT_EQ(look().shared_zones, 0u);
}

TEST_F(PlacementTest, MoreCopiesOfANodeThatIsGoneThanMayMoveAtOnceAreReplaced) {
  view_.copies = 2;
  add_nodes(1, 4);
  add_shards(80, "r0n0");
  settle();
  fail("r0n1", node_state::gone);

  settle();

  for (const auto& [id, shard] : view_.shards)
    EXPECT_EQ(replica_on(shard, "r0n1"), nullptr);
  EXPECT_EQ(look().odd, 0u);
}

TEST_F(PlacementTest, ShardsThatNobodyCanCopyHoldUpNoOther) {
  view_.copies = 2;
  add_nodes(1, 4);
  add_shards(24, "r0n0");
  const auto can_be_copied = [](shard_id id) { return value(id) >= 20; };
  for (auto& [id, shard] : view_.shards) {
    const std::string other = can_be_copied(id) ? "r0n2" : "r0n1";
    build(shard, other);
    shard.wanted = {"r0n0", other};
  }
  const auto before = view_.shards;
  fail("r0n0", node_state::gone);
  fail("r0n1", node_state::gone);

  settle();

  for (const auto& [id, shard] : view_.shards) {
    if (can_be_copied(id)) {
      EXPECT_NE(replica_on(shard, "r0n3"), nullptr);
      EXPECT_EQ(shard.wanted, (std::vector<std::string>{"r0n2", "r0n3"}));
    } else {
      EXPECT_EQ(shard.wanted, before.at(id).wanted);
    }
  }
}

TEST_F(PlacementTest, OnlyCopyOfANodeThatIsGoneIsKept) {
  add_nodes(1, 3);
  add_shards(3, "r0n0");
  view_.nodes["r0n0"].state = node_state::gone;
  for (int i = 0; i < 10; ++i)
    step();
  for (const auto& [id, shard] : view_.shards)
    EXPECT_TRUE(std::binary_search(shard.wanted.begin(), shard.wanted.end(), "r0n0"));
}

TEST_F(PlacementTest, CopyOfANodeThatIsGoneStaysWantedWithoutAReplacement) {
  view_.copies = 2;
  add_nodes(1, 2);
  add_shards(4, "r0n0");
  settle();
  fail("r0n1", node_state::gone);

  settle();

  for (const auto& [id, shard] : view_.shards)
    EXPECT_EQ(shard.wanted.size(), 2u);
}

TEST_F(PlacementTest, FullNodeGetsNoMore) {
  view_.copies = 1;
  add_nodes(1, 3);
  add_shards(30, "r0n0");
  view_.nodes["r0n1"].state = node_state::full;

  settle();

  for (const auto& [id, shard] : view_.shards)
    EXPECT_EQ(replica_on(shard, "r0n1"), nullptr);
  EXPECT_EQ(look().copies_max, 15u);
}

TEST_F(PlacementTest, NodeThatRefusesTasksLeadsNothingThatAnotherOneCan) {
  add_two_copies(12);
  settle();
  ASSERT_GT(primaries_on("r0n0"), 0u);
  refuse_tasks("r0n0");

  settle();

  EXPECT_EQ(primaries_on("r0n0"), 0u);
  for (const auto& [id, shard] : view_.shards)
    EXPECT_NE(replica_on(shard, "r0n0"), nullptr) << "no other node has room for the copy";
  EXPECT_TRUE(step().empty()) << "the balance leaves them there";

  view_.nodes["r0n0"] = {"r0", node_state::full};
  settle();
  EXPECT_GE(primaries_on("r0n0"), 5u) << "it takes tasks again";
}

TEST_F(PlacementTest, NothingMovesWhenAllNodesRefuseTasks) {
  add_two_copies(12);
  refuse_tasks("r0n0");
  refuse_tasks("r0n1");
  EXPECT_TRUE(step().empty()) << "all are on one node";
}

TEST_F(PlacementTest, HandoversFromNodesThatRefuseTasksAreBounded) {
  add_two_copies(40);
  refuse_tasks("r0n0");
  EXPECT_EQ(step().size(), bounds_.handovers_max);
  EXPECT_TRUE(step().empty());
}

TEST_F(PlacementTest, HandoverToANodeThatNowRefusesTasksIsCalledOff) {
  add_two_copies(12);
  ASSERT_FALSE(step().empty());
  refuse_tasks("r0n1");

  step();

  for (const auto& [id, shard] : view_.shards)
    EXPECT_EQ(shard.preferred, "");
}

TEST_F(PlacementTest, ShardThatAnOperatorHasMovedStaysOnANodeThatRefusesTasks) {
  view_.copies = 2;
  add_nodes(1, 4);
  add_shards(12, "r0n0");
  settle();
  auto& moved = view_.shards.at(shard_id{0});
  moved.pinned = node_of(moved, moved.value.primary);
  refuse_tasks(moved.pinned);

  settle();

  EXPECT_EQ(node_of(moved, moved.value.primary), moved.pinned);
  EXPECT_EQ(primaries_on(moved.pinned), 1u);
}

TEST_F(PlacementTest, CopiesLeaveANodeThatRefusesTasksWhileAnotherOneHasRoom) {
  view_.copies = 2;
  add_nodes(1, 4);
  add_shards(40, "r0n0");
  settle();
  refuse_tasks("r0n2");
  for (int i = 0; i < 500 && !step().empty(); ++i) {
    carry_out();
    for (const auto& [id, shard] : view_.shards)
      EXPECT_GE(shard.value.in_sync.size(), 2u);
  }

  EXPECT_EQ(look().odd, 0u);
  for (const auto& [id, shard] : view_.shards)
    EXPECT_EQ(replica_on(shard, "r0n2"), nullptr);

  view_.nodes["r0n2"] = {"r0", node_state::serving};
  settle();
  EXPECT_GE(look().copies_min, 19u) << "it gets its share again";
}

TEST_F(PlacementTest, HandoversAreBounded) {
  add_two_copies(40);
  for (int i = 0; i < 3; ++i) {
    step();
    const auto asked = std::count_if(view_.shards.begin(), view_.shards.end(), [](const auto& one) {
      return !one.second.preferred.empty();
    });
    EXPECT_EQ(asked, 8);
  }
  carry_out();
  settle();
  EXPECT_LE(look().primaries_max - look().primaries_min, 2u);
}

TEST_F(PlacementTest, IsTheSameWhoeverDecides) {
  view_.copies = 3;
  add_nodes(3, 3);
  add_shards(50, "r0n0");
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(place(view_, bounds_), place(view_, bounds_));
    step();
    carry_out();
  }
}

TEST_F(PlacementTest, ShardThatAnOperatorHasMovedStaysThere) {
  view_.copies = 2;
  add_nodes(1, 3);
  add_shards(12, "r0n0");
  settle();
  auto& moved = view_.shards.at(shard_id{0});
  for (const auto& [replica, node] : moved.nodes)
    if (replica != moved.value.primary)
      moved.pinned = node;

  settle();

  EXPECT_EQ(node_of(moved, moved.value.primary), moved.pinned);
}

} // namespace
} // namespace codeq::cluster
