// SPDX-License-Identifier: Apache-2.0
#include "cluster/node_watch.hpp"

#include "cluster/cluster_timing.hpp"
#include "cluster/record_json.hpp"

#include <gtest/gtest.h>

#include <string>

namespace codeq::cluster {
namespace {

/// The state of a node with this record, as the watch sees it.
placed_node look_at(const node_record& node) {
  const catalogue_keys keys("c");
  catalogue known(keys);
  EXPECT_TRUE(known.note({keys.node("a"), encode(node), 5}));
  node_watch watch;
  return watch.look(known, monotonic_time{}).at("a");
}

node_record node_with(std::uint64_t free_bytes) {
  node_record node;
  node.version = 1;
  node.address = "a:1";
  node.free_bytes = free_bytes;
  return node;
}

TEST(NodeWatch, NodeIsFullBelowTheLeastFreeSpace) {
  EXPECT_EQ(look_at(node_with(timing::free_bytes_min)).state, node_state::serving);
  const auto full = look_at(node_with(timing::free_bytes_min - 1));
  EXPECT_EQ(full.state, node_state::full);
  EXPECT_FALSE(full.refuses_tasks);
}

TEST(NodeWatch, NodeThatRefusesTasksIsFullHoweverMuchIsFree) {
  auto node = node_with(timing::free_bytes_min);
  node.refuses_tasks = true;
  EXPECT_EQ(look_at(node).state, node_state::full);
  EXPECT_TRUE(look_at(node).refuses_tasks);
}

TEST(NodeWatch, NodeThatStopsKeepsItsCopiesAndGetsNoShard) {
  auto node = node_with(timing::free_bytes_min);
  node.is_leaving = true;
  EXPECT_EQ(look_at(node).state, node_state::missing);
}

} // namespace
} // namespace codeq::cluster
