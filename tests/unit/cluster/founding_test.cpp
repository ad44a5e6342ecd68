// SPDX-License-Identifier: Apache-2.0
#include "cluster/founding.hpp"

#include "cluster/record_json.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <set>
#include <string>
#include <vector>

namespace codeq::cluster {
namespace {

using replication::replica_id;

const catalogue_keys founded_keys("c");

TEST(Founding, ShardBeginsOnOneNodeWithTheMinimumOfTheCluster) {
  cluster_record cluster;
  cluster.copies = 3;
  cluster.min_in_sync = 2;

  const auto shard = first_record(cluster, {replica_id{7}, "a", 4});

  EXPECT_EQ(shard.value.epoch, 4u);
  EXPECT_EQ(shard.value.primary, replica_id{7});
  EXPECT_EQ(shard.value.in_sync.size(), 1u);
  EXPECT_EQ(shard.value.min_in_sync, 2u);
  EXPECT_EQ(node_of(shard, replica_id{7}), "a");
}

TEST(Founding, RestoredShardHasAGreaterVersionThanBefore) {
  constexpr std::uint64_t changes = 1'000'000;
  auto before = first_record({}, {replica_id{7}, "a", 4});
  before.value.version += changes;

  const auto restored = first_record({}, {replica_id{8}, "b", 5});

  EXPECT_GT(restored.value.version, before.value.version);
}

TEST(Founding, RecordsAreCreatedOnlyWhereThereAreNone) {
  cluster_record cluster;
  cluster.version = 1;
  cluster.shards = 2;
  const auto shard = first_record(cluster, {replica_id{7}, "a"});

  const auto first = founding_swap(founded_keys, cluster);
  const auto second = founding_swap(founded_keys, shard_id{1}, shard);

  EXPECT_EQ(first.key, founded_keys.cluster());
  EXPECT_EQ(first.expected, std::nullopt);
  EXPECT_EQ(decode<cluster_record>(first.next.value()).value(), cluster);
  EXPECT_EQ(second.key, founded_keys.shard(shard_id{1}));
  EXPECT_EQ(second.expected, std::nullopt);
  EXPECT_EQ(decode<shard_record>(second.next.value()).value(), shard);
}

TEST(Founding, KeyTellsItsCluster) {
  EXPECT_EQ(cluster_of(founded_keys.cluster()), "c");
  EXPECT_EQ(cluster_of(catalogue_keys("jobs-2.x").shard(shard_id{3})), "jobs-2.x");
  for (const char* key : {"", "/codeq/", "/codeq/c", "/codeq//c", "/codeq/a b/c", "/other/c/d"})
    EXPECT_EQ(cluster_of(key), "") << key;
}

/// The clusters of these keys in the order in which they are found, one by one.
std::vector<std::string> found_in(const std::set<std::string>& keys) {
  std::vector<std::string> names;
  for (std::string last;;) {
    const auto range = next_cluster(last);
    EXPECT_EQ(range.keys_max, 1u);
    const auto at = keys.lower_bound(range.first);
    if (at == keys.end() || *at >= range.end || names.size() > keys.size())
      return names;
    last = *at;
    names.push_back(cluster_of(last));
  }
}

TEST(Founding, EachClusterOfEtcdIsFoundOnce) {
  const std::set<std::string> keys{
    "/a",           "/codeq/c-2/x", "/codeq/c.1/x", "/codeq/c/cluster", "/codeq/c/nodes/a",
    "/codeq/c/z/z", "/codeq/c0/x",  "/codeq/cc/x",  "/codeq/foreign",   "/codeq0"};

  EXPECT_EQ(found_in(keys), (std::vector<std::string>{"c-2", "c.1", "c", "c0", "cc", ""}));
  EXPECT_TRUE(found_in({}).empty());
}

} // namespace
} // namespace codeq::cluster
