// SPDX-License-Identifier: Apache-2.0
#include "coordinator/hub/store_need.hpp"

#include <gtest/gtest.h>

namespace codeq::coordinator {
namespace {

using replication::replica_id;

class StoreNeed : public testing::Test {
protected:
  /// Replica 1 on `a` is the primary and in sync with 2 on `b`; 3 on `c` learns.
  StoreNeed() {
    present_ = {{"b", {}}, {"c", {}}};
    auto& shard = shards_[shard_id{0}];
    shard.value.primary = replica_id{1};
    shard.value.in_sync = {replica_id{1}, replica_id{2}};
    shard.value.replicas = {replica_id{1}, replica_id{2}, replica_id{3}};
    shard.nodes = {{replica_id{1}, "a"}, {replica_id{2}, "b"}, {replica_id{3}, "c"}};
  }

  [[nodiscard]] store_need of(const std::string& node) const {
    return need_of(node, shard_count_, shards_, present_);
  }

  replication::membership& value() { return shards_.at(shard_id{0}).value; }

  std::uint32_t shard_count_ = 1;
  std::map<shard_id, cluster::shard_record> shards_;
  std::map<std::string, cluster::node_record> present_;
  const store_need nothing_;
  const store_need awaited_{{}, {shard_id{0}}};
  const store_need last_copy_{{shard_id{0}}, {}};
};

TEST_F(StoreNeed, NodeIsAwaitedWhileItCountsAsInSync) {
  EXPECT_EQ(of("a"), awaited_);
  EXPECT_EQ(of("b"), awaited_);
}

TEST_F(StoreNeed, NothingIsNeededOfANodeThatAnotherPrimaryHasTakenOutOfTheSet) {
  value().primary = replica_id{2};
  value().in_sync = {replica_id{2}};

  EXPECT_EQ(of("a"), nothing_);
}

TEST_F(StoreNeed, CopyThatIsBehindIsKeptWhileThePrimaryIsNotThere) {
  value().primary = replica_id{2};
  value().in_sync = {replica_id{2}};
  present_.erase("b");

  EXPECT_EQ(of("a"), awaited_);
}

TEST_F(StoreNeed, OnlyNodeInSyncHasTheLastCopy) {
  value().in_sync = {replica_id{1}};

  EXPECT_EQ(of("a"), last_copy_);
}

TEST_F(StoreNeed, NothingIsNeededOfANodeWithoutCopies) {
  EXPECT_EQ(of("d"), nothing_);
}

TEST_F(StoreNeed, ShardWithoutARecordIsAwaited) {
  shards_.clear();

  EXPECT_EQ(of("a"), awaited_);
}

TEST_F(StoreNeed, EachShardIsLookedAt) {
  shard_count_ = 3;
  shards_[shard_id{1}] = shards_.at(shard_id{0});
  shards_[shard_id{1}].value.in_sync = {replica_id{1}};
  shards_[shard_id{2}] = shards_.at(shard_id{1});

  const auto needed = of("a");

  EXPECT_EQ(needed, (store_need{{shard_id{1}, shard_id{2}}, {shard_id{0}}}));
  EXPECT_EQ(text_of(needed.last_copies), "1, 2");
}

} // namespace
} // namespace codeq::coordinator
