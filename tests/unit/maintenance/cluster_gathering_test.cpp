// SPDX-License-Identifier: Apache-2.0
#include "maintenance/cluster_gathering.hpp"

#include "storage/keys/keyspace.hpp"
#include "storage/memory/memory_store.hpp"
#include "storage/records/record_codec.hpp"
#include "storage/replica/replica_store.hpp"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

namespace codeq::maintenance {
namespace {

using replication::position;
using storage::memory_store;

constexpr shard_id a{0};
constexpr shard_id b{1};

/// Two stores of a cluster with two shards.
class ClusterGathering : public testing::Test {
protected:
  ClusterGathering() {
    for (auto* store : {&first_, &second_}) {
      storage::store_record record;
      record.shard_count = 2;
      storage::write_set writes;
      writes.put(storage::store_key{}.encode(), encode(record));
      commit(*store, std::move(writes));
    }
  }

  static void commit(memory_store& store, storage::write_set writes) {
    const std::shared_ptr<const storage::write_set> set =
      std::make_shared<const storage::write_set>(std::move(writes));
    ASSERT_TRUE(store.commit(std::array{set}, storage::durability::sync));
  }

  static std::string key(shard_id shard, const std::string& queue) {
    return storage::queue_key{shard, {"t", queue}}.encode();
  }

  /// The store has a copy of the shard, whose data tell which one it is.
  static void hold(
    memory_store& store,
    shard_id shard,
    position last,
    const std::string& queue,
    bool is_incomplete = false) {
    storage::write_set writes;
    storage::put_replica(
      shard, {replication::replica_id{last.number}, last.epoch, is_incomplete, false}, writes);
    replication::epoch_index log;
    for (auto number = log.last().number + 1; number <= last.number; ++number)
      log.append({last.epoch, number});
    storage::put_history(shard, log, writes);
    writes.put(key(shard, queue), "value");
    commit(store, std::move(writes));
  }

  [[nodiscard]] std::vector<const storage::task_store*> stores() const {
    return {&first_, &second_};
  }

  [[nodiscard]] bool has(shard_id shard, const std::string& queue) const {
    return first_.read(key(shard, queue))->has_value();
  }

  const std::vector<cluster_backup_shard> backup_{{a, 2, 10}, {b, 2, 10}};
  memory_store first_;
  memory_store second_;
};

TEST_F(ClusterGathering, NewestCopyOfEachShardIsTaken) {
  hold(first_, a, {3, 9}, "new");
  hold(second_, a, {2, 30}, "old");
  hold(first_, b, {2, 10}, "old");
  hold(second_, b, {2, 11}, "new");

  auto chosen = choose_copies(stores(), backup_);

  ASSERT_TRUE(chosen) << to_string(chosen.error());
  EXPECT_EQ(chosen->store_of, (std::vector<std::size_t>{0, 1}));
  EXPECT_EQ(chosen->epoch, 3u);
  ASSERT_TRUE(gather_copies(first_, stores(), *chosen));
  EXPECT_TRUE(has(a, "new"));
  EXPECT_FALSE(has(b, "old"));
  EXPECT_TRUE(has(b, "new"));
}

TEST_F(ClusterGathering, GatheredStoreIsOfNoCluster) {
  hold(first_, a, {3, 9}, "a");
  hold(first_, b, {3, 9}, "b");
  ASSERT_TRUE(storage::begin_boot(first_, "boot", storage::durability::os));
  EXPECT_EQ(*has_replicas(first_), true);
  auto chosen = choose_copies(stores(), backup_);
  ASSERT_TRUE(chosen) << to_string(chosen.error());

  ASSERT_TRUE(gather_copies(first_, stores(), *chosen));

  EXPECT_EQ(*has_replicas(first_), false);
  EXPECT_EQ(*storage::begin_boot(first_, "another boot", storage::durability::os), false);
  EXPECT_TRUE(has(a, "a"));
  EXPECT_TRUE(has(b, "b"));
}

TEST_F(ClusterGathering, CopyThatIsNotWholeIsLeftOut) {
  hold(first_, a, {3, 9}, "part", true);
  hold(second_, a, {2, 30}, "whole");
  hold(first_, b, {2, 10}, "whole");

  auto chosen = choose_copies(stores(), backup_);

  ASSERT_TRUE(chosen) << to_string(chosen.error());
  EXPECT_EQ(chosen->store_of, (std::vector<std::size_t>{1, 0}));
  ASSERT_TRUE(gather_copies(first_, stores(), *chosen));
  EXPECT_TRUE(has(a, "whole"));
  EXPECT_FALSE(has(a, "part"));
}

TEST_F(ClusterGathering, ShardWithoutAWholeCopyIsNamed) {
  hold(first_, a, {3, 9}, "whole");
  hold(second_, b, {3, 9}, "part", true);

  auto chosen = choose_copies(stores(), backup_);

  ASSERT_FALSE(chosen);
  EXPECT_EQ(chosen.error(), (error{errc::unavailable, "shard 1 has no whole copy"}));
}

TEST_F(ClusterGathering, CopyThatLacksChangesOfTheBackupIsRefused) {
  hold(first_, a, {3, 9}, "whole");
  hold(first_, b, {2, 9}, "behind");

  auto chosen = choose_copies(stores(), backup_);

  ASSERT_FALSE(chosen);
  EXPECT_EQ(
    chosen.error(),
    (error{
      errc::unavailable,
      "shard 1 has copies up to 2/9 only, but 2/10 belongs to the backup of the cluster"}));
}

TEST_F(ClusterGathering, BackupWithAnotherNumberOfShardsIsRefused) {
  auto chosen = choose_copies(stores(), {{a, 1, 1}});

  ASSERT_FALSE(chosen);
  EXPECT_EQ(chosen.error().code, errc::incompatible_store);
}

} // namespace
} // namespace codeq::maintenance
