// SPDX-License-Identifier: Apache-2.0
#include "cluster/placement.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace codeq::cluster {
namespace {

using replication::replica_id;

/// A cluster whose moves are carried out as soon as they are wanted.
class PlacementTest : public testing::Test {
protected:
  /// Nodes `r0n0`, `r0n1`, ...: so many in each of so many zones.
  void add_nodes(std::size_t zones, std::size_t each) {
    for (std::size_t zone = 0; zone < zones; ++zone)
      for (std::size_t i = 0; i < each; ++i) {
        const auto rack = "r" + std::to_string(zone);
        view_.nodes[rack + "n" + std::to_string(i)] = {rack, node_state::serving};
      }
  }

  /// All shards have their only copy on one node.
  void add_shards(std::size_t count, const std::string& node) {
    for (std::size_t i = 0; i < count; ++i) {
      shard_record shard;
      shard.value.version = 1;
      shard.value.epoch = 1;
      shard.nodes = {{next_id_, node}};
      shard.value.primary = next_id_;
      shard.value.replicas = shard.value.in_sync = {next_id_};
      shard.wanted = {node};
      view_.shards[shard_id{static_cast<std::uint16_t>(i)}] = shard;
      next_id_ = replica_id{static_cast<std::uint64_t>(next_id_) + 1};
    }
  }

  /// Two nodes that have copies of all shards; one of them leads all.
  void add_two_copies(std::size_t shards) {
    view_.copies = 2;
    add_nodes(1, 2);
    add_shards(shards, "r0n0");
    for (auto& [id, shard] : view_.shards) {
      build(shard, "r0n1");
      shard.wanted = {"r0n0", "r0n1"};
    }
  }

  void refuse_tasks(const std::string& node) {
    view_.nodes[node].state = node_state::full;
    view_.nodes[node].refuses_tasks = true;
  }

  std::size_t primaries_on(const std::string& node) const {
    return static_cast<std::size_t>(
      std::count_if(view_.shards.begin(), view_.shards.end(), [&](const auto& one) {
        return node_of(one.second, one.second.value.primary) == node;
      }));
  }

  std::map<shard_id, shard_record> step() {
    auto changed = place(view_, bounds_);
    for (const auto& [id, shard] : changed)
      view_.shards[id] = shard;
    return changed;
  }

  /// Builds copies that are wanted, removes others, moves primaries. Nodes that are not there do
  /// nothing.
  void carry_out() {
    for (auto& [id, shard] : view_.shards) {
      const auto wanted = shard.wanted;
      for (const auto& node : wanted)
        if (is_there(node) && has_source(shard) && !replica_on(shard, node))
          build(shard, node);
      if (!shard.preferred.empty() && replica_on(shard, shard.preferred))
        shard.value.primary = *replica_on(shard, shard.preferred);
      const auto nodes = shard.nodes;
      for (const auto& [replica, node] : nodes) {
        const auto is_wanted =
          std::binary_search(shard.wanted.begin(), shard.wanted.end(), node);
        if (!is_wanted && replica != shard.value.primary)
          remove(shard, replica);
      }
    }
  }

  void build(shard_record& shard, const std::string& node) {
    shard = with_replica(shard, next_id_, node);
    shard.value.in_sync = shard.value.replicas;
    next_id_ = replica_id{static_cast<std::uint64_t>(next_id_) + 1};
  }

  static void remove(shard_record& shard, replica_id replica) {
    std::erase(shard.value.in_sync, replica);
    shard = without_replica(shard, replica);
  }

  bool is_there(const std::string& node) const {
    const auto state = view_.nodes.at(node).state;
    return state != node_state::missing && state != node_state::gone;
  }

  /// Whether there is a copy in sync from which others can be built.
  bool has_source(const shard_record& shard) const {
    return std::any_of(
      shard.value.in_sync.begin(), shard.value.in_sync.end(), [&](replica_id replica) {
        return is_there(node_of(shard, replica));
      });
  }

  /// Places and carries out until nothing changes. Returns the number of steps.
  std::size_t settle() {
    for (std::size_t steps = 0; steps < 2'000; ++steps) {
      if (step().empty())
        return steps;
      carry_out();
    }
    ADD_FAILURE() << "the placement does not come to rest";
    return 0;
  }

  /// A node fails: its replicas drop out of the sets, and others are elected.
  void fail(const std::string& node, node_state state) {
    view_.nodes[node].state = state;
    for (auto& [id, shard] : view_.shards) {
      const auto* replica = replica_on(shard, node);
      if (!replica || shard.value.in_sync.size() < 2)
        continue;
      std::erase(shard.value.in_sync, *replica);
      if (shard.value.primary == *replica)
        shard.value.primary = shard.value.in_sync.front();
    }
  }

  struct spread {
    std::size_t copies_min = 0;
    std::size_t copies_max = 0;
    std::size_t primaries_min = 0;
    std::size_t primaries_max = 0;
    /// Shards with two copies in one zone.
    std::size_t shared_zones = 0;
    /// Shards with another number of copies.
    std::size_t odd = 0;
  };

  spread look() const {
    std::map<std::string, std::size_t> copies;
    std::map<std::string, std::size_t> primaries;
    for (const auto& [name, node] : view_.nodes)
      if (node.state == node_state::serving || node.state == node_state::full)
        copies[name] = primaries[name] = 0;
    spread found;
    for (const auto& [id, shard] : view_.shards) {
      std::set<std::string> zones;
      for (const auto& [replica, node] : shard.nodes) {
        ++copies[node];
        zones.insert(view_.nodes.at(node).zone);
      }
      ++primaries[node_of(shard, shard.value.primary)];
      found.shared_zones += zones.size() < shard.nodes.size() ? 1 : 0;
      found.odd += shard.nodes.size() != view_.copies ? 1 : 0;
    }
    const auto by_count = [](const auto& a, const auto& b) { return a.second < b.second; };
    found.copies_min = std::min_element(copies.begin(), copies.end(), by_count)->second;
    found.copies_max = std::max_element(copies.begin(), copies.end(), by_count)->second;
    found.primaries_min = std::min_element(primaries.begin(), primaries.end(), by_count)->second;
    found.primaries_max = std::max_element(primaries.begin(), primaries.end(), by_count)->second;
    return found;
  }

  placement_view view_;
  placement_bounds bounds_;
  replica_id next_id_{1};
};

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

TEST_F(PlacementTest, DrainedNodeGivesEverythingAwayAndNoCopyIsEverMissing) {
  view_.copies = 2;
  add_nodes(1, 4);
  add_shards(40, "r0n0");
  settle();
  view_.nodes["r0n2"].state = node_state::drained;
  for (int i = 0; i < 500 && !step().empty(); ++i) {
    carry_out();
    for (const auto& [id, shard] : view_.shards)
      EXPECT_GE(shard.value.in_sync.size(), 2u);
  }
  for (const auto& [id, shard] : view_.shards)
    EXPECT_EQ(replica_on(shard, "r0n2"), nullptr);
  EXPECT_EQ(look().odd, 0u);
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

TEST_F(PlacementTest, LastNodesCanBeDrainedToFewerCopies) {
  view_.copies = 2;
  add_nodes(1, 2);
  add_shards(4, "r0n0");
  settle();
  view_.nodes["r0n0"].state = node_state::drained;

  settle();

  for (const auto& [id, shard] : view_.shards)
    EXPECT_EQ(shard.wanted, std::vector<std::string>{"r0n1"});
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

TEST_F(PlacementTest, DrainedNodeHandsOverToOneThatRefusesTasksRatherThanToNone) {
  add_two_copies(4);
  view_.nodes["r0n0"].state = node_state::drained;
  refuse_tasks("r0n1");

  settle();

  EXPECT_EQ(primaries_on("r0n1"), 4u);
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
  view_.nodes.at(moved.pinned).state = node_state::drained;
  settle();
  EXPECT_NE(node_of(moved, moved.value.primary), moved.pinned) << "the node is drained";
}

} // namespace
} // namespace codeq::cluster
