// SPDX-License-Identifier: Apache-2.0
#include "cluster/founding.hpp"

#include "cluster/record_json.hpp"

#include <gtest/gtest.h>

#include <optional>

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

} // namespace
} // namespace codeq::cluster
