// SPDX-License-Identifier: Apache-2.0
#include "node/cluster_fit.hpp"

#include <gtest/gtest.h>

namespace codeq::node {
namespace {

class ClusterFit : public testing::Test {
protected:
  ClusterFit() {
    options_.data = "data";
    options_.cluster.name = "prod";
    record_.shards = 6;
    record_.copies = 3;
  }

  coordinator_node_options options_;
  cluster::cluster_record record_;
};

TEST_F(ClusterFit, NumberOfCopiesThatTheClusterDoesNotHaveIsNamed) {
  options_.cluster.replicas = 2;

  EXPECT_EQ(
    other_replicas(options_.cluster, record_),
    "replicas is 2, but cluster prod has 3, which the coordinator that created it decided; give "
    "--replicas 3, or leave it out");
}

TEST_F(ClusterFit, NumberOfCopiesIsTheClustersWhenNoneIsGiven) {
  EXPECT_EQ(coordinator_node_options{}.cluster.replicas, 0u);
  EXPECT_EQ(other_replicas(options_.cluster, record_), "");

  options_.cluster.replicas = 3;
  EXPECT_EQ(other_replicas(options_.cluster, record_), "");
}

TEST_F(ClusterFit, StoreWithAnotherNumberOfShardsIsOfAnotherCluster) {
  EXPECT_TRUE(check_shards(options_, 6, record_));

  const auto refused = check_shards(options_, 12, record_);

  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::incompatible_store);
  EXPECT_EQ(
    refused.error().context,
    "the store in data has 12 shards, but cluster prod, which exists already in etcd, has 6, so "
    "the store is not of that cluster. Correct --cluster or --etcd; to join this cluster give an "
    "empty --data");
}

} // namespace
} // namespace codeq::node
