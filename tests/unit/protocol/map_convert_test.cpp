// SPDX-License-Identifier: Apache-2.0
#include "protocol/map_convert.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace codeq::protocol {
namespace {

cluster::shard_place place_on(const std::string& node, std::uint64_t version) {
  return {node, node + ":1", node + ":2", static_cast<std::uint32_t>(version / 10), version};
}

/// Builds a message that no coordinator sends.
template <class F>
std::string refusal_of(F&& fill) {
  auto message = cluster_map_news::build([&](auto root) {
    root.setShards(3);
    auto nodes = root.initNodes(1);
    nodes[0].setName("a");
    nodes[0].setAddress("a:1");
    root.initPlaces(1);
    fill(root);
  });
  auto told = read_cluster_map(message);
  return told ? "read" : to_string(told.error());
}

TEST(ClusterMapMessage, PlacesAndMissingShardsAreReadAsWritten) {
  const cluster::map_news news{
    4,
    {{shard_id{0}, place_on("b", 12)},
     {shard_id{1}, place_on("a", 30)},
     {shard_id{3}, place_on("b", 7)}}};
  const std::vector<shard_id> not_here{shard_id{1}, shard_id{2}};

  auto told = read_cluster_map(make_cluster_map(news, not_here));

  ASSERT_TRUE(told) << to_string(told.error());
  EXPECT_EQ(told->news, news);
  EXPECT_EQ(told->not_here, not_here);
}

TEST(ClusterMapMessage, NodeIsWrittenOnce) {
  cluster::map_news news{2, {{shard_id{0}, place_on("a", 1)}, {shard_id{1}, place_on("a", 2)}}};

  auto nodes = make_cluster_map(news, {}).read(
    [](auto reader) -> result<std::size_t> { return reader.getNodes().size(); });

  EXPECT_EQ(*nodes, 1u);
}

TEST(ClusterMapMessage, RefusalNamesTheField) {
  EXPECT_EQ(refusal_of([](auto) {}), "read");
  EXPECT_EQ(
    refusal_of([](auto root) { root.getPlaces()[0].setNode(1); }),
    "protocol_error: cluster map: node 1 of 1 nodes");
  EXPECT_EQ(
    refusal_of([](auto root) { root.getPlaces()[0].setShard(3); }),
    "protocol_error: cluster map: shard 3 of 3 shards");
  EXPECT_EQ(
    refusal_of([](auto root) { root.initNotHere(1).set(0, 3); }),
    "protocol_error: cluster map: shard 3 of 3 shards is not here");
  EXPECT_EQ(
    refusal_of([](auto root) { root.initNodes(2); }),
    "protocol_error: cluster map: 2 nodes for 1 places");
  EXPECT_EQ(
    refusal_of([](auto root) { root.getNodes()[0].setAddress(""); }),
    "protocol_error: cluster map: the address of shard 0 has 0 bytes, from 1 to 255 are possible");
}

} // namespace
} // namespace codeq::protocol
