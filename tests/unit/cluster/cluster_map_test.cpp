// SPDX-License-Identifier: Apache-2.0
#include "cluster/cluster_map.hpp"

#include <gtest/gtest.h>

namespace codeq::cluster {
namespace {

shard_place place_on(const std::string& node, std::uint64_t version) {
  return {node, node + ":1", node + ":2", static_cast<std::uint32_t>(version / 10), version};
}

map_news news_of(std::vector<map_news::item> items) {
  return {3, std::move(items)};
}

constexpr shard_id s0{0};
constexpr shard_id s1{1};
constexpr shard_id s2{2};

TEST(ClusterMap, KnowsNothingAtFirst) {
  const cluster_map map;
  EXPECT_EQ(map.shards(), 0u);
  EXPECT_EQ(map.of(s0), nullptr);
}

TEST(ClusterMap, TakesNewerNewsOnly) {
  cluster_map map;
  EXPECT_TRUE(*map.merge(news_of({{s0, place_on("a", 10)}, {s1, place_on("b", 20)}})));
  EXPECT_TRUE(*map.merge(news_of({{s0, place_on("c", 11)}})));
  EXPECT_FALSE(*map.merge(news_of({{s0, place_on("a", 10)}})));
  EXPECT_FALSE(*map.merge(news_of({{s0, place_on("d", 11)}})));

  EXPECT_EQ(map.of(s0)->node, "c");
  EXPECT_EQ(map.of(s1)->node, "b");
  EXPECT_EQ(map.of(s2), nullptr);
  EXPECT_EQ(map.addresses(), (std::vector<std::string>{"b:1", "c:1"}));
}

TEST(ClusterMap, NewVersionOfTheSamePlaceIsNoChange) {
  cluster_map map;
  auto place = place_on("a", 10);
  EXPECT_TRUE(*map.merge(news_of({{s0, place}})));
  place.version = 15;
  EXPECT_FALSE(*map.merge(news_of({{s0, place}})));
  EXPECT_EQ(map.of(s0)->version, 15u);
}

TEST(ClusterMap, OrderOfNewsDoesNotMatter) {
  cluster_map one;
  cluster_map other;
  const auto early = news_of({{s0, place_on("a", 10)}, {s2, place_on("a", 31)}});
  const auto late = news_of({{s0, place_on("b", 12)}, {s1, place_on("b", 20)}});
  ASSERT_TRUE(one.merge(early));
  ASSERT_TRUE(one.merge(late));
  ASSERT_TRUE(other.merge(late));
  ASSERT_TRUE(other.merge(early));
  EXPECT_EQ(one.whole(), other.whole());
}

TEST(ClusterMap, NodeMayMove) {
  cluster_map map;
  ASSERT_TRUE(map.merge(news_of({{s0, place_on("a", 10)}, {s1, place_on("b", 10)}})));
  EXPECT_TRUE(map.move_node("a", "z:1", ""));
  EXPECT_FALSE(map.move_node("a", "z:1", ""));
  EXPECT_FALSE(map.move_node("unknown", "z:1", ""));
  EXPECT_EQ(map.of(s0)->address, "z:1");
  EXPECT_EQ(map.of(s0)->http_address, "");
}

TEST(ClusterMap, MalformedNewsAreRefused) {
  const auto refuses = [](const map_news& news, const std::string& words) {
    const auto fits = check(news);
    ASSERT_FALSE(fits) << words;
    EXPECT_EQ(fits.error().code, errc::protocol_error);
    EXPECT_NE(fits.error().context.find(words), std::string::npos) << fits.error().context;
    cluster_map map;
    EXPECT_FALSE(map.merge(news));
    EXPECT_EQ(map.shards(), 0u);
  };
  refuses({0, {}}, "shards is 0, from 1 to 1024");
  refuses({1025, {}}, "shards is 1025");
  refuses(news_of({{shard_id{3}, place_on("a", 1)}}), "shard 3 of 3 shards");
  refuses(news_of({{s1, place_on("a", 1)}, {s0, place_on("a", 1)}}), "shard 0 is out of order");
  refuses(news_of({{s1, place_on("a", 1)}, {s1, place_on("a", 1)}}), "shard 1 is out of order");
  refuses(news_of({{s0, place_on("a/b", 1)}}), "the node of shard 0 is no name");
  auto place = place_on("a", 1);
  place.address = "";
  refuses(news_of({{s0, place}}), "the address of shard 0");
  place.address = std::string(256, 'a');
  refuses(news_of({{s0, place}}), "has 256 bytes");
}

TEST(ClusterMap, NewsOfAnotherClusterAreRefused) {
  cluster_map map;
  ASSERT_TRUE(map.merge(news_of({{s0, place_on("a", 10)}})));
  const auto merged = map.merge({4, {{s0, place_on("b", 99)}}});
  ASSERT_FALSE(merged);
  EXPECT_EQ(merged.error().context, "cluster map: shards is 4, but this cluster has 3");
  EXPECT_EQ(map.of(s0)->node, "a");
}

TEST(ClusterMap, TellsWhatWasTakenSinceAChange) {
  cluster_map map;
  ASSERT_TRUE(map.merge(news_of({{s0, place_on("a", 10)}, {s1, place_on("a", 20)}})));
  const auto before = map.changes();
  EXPECT_TRUE(map.news_after(before).items.empty());

  ASSERT_TRUE(map.merge(news_of({{s0, place_on("b", 11)}, {s1, place_on("a", 20)}})));
  EXPECT_EQ(map.news_after(before), news_of({{s0, place_on("b", 11)}}));

  ASSERT_TRUE(map.move_node("a", "elsewhere:1", ""));
  EXPECT_EQ(map.news_after(before).items.size(), 2u);
}

TEST(ClusterMap, TakesAnotherAddressOfTheSameVersion) {
  cluster_map map;
  ASSERT_TRUE(map.merge(news_of({{s0, place_on("a", 10)}})));
  auto moved = place_on("a", 10);
  moved.address = "elsewhere:1";

  EXPECT_TRUE(*map.merge(news_of({{s0, moved}})));

  EXPECT_EQ(map.of(s0)->address, "elsewhere:1");
}

} // namespace
} // namespace codeq::cluster
