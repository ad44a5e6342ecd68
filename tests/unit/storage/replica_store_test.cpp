// SPDX-License-Identifier: Apache-2.0
#include "storage/memory/memory_store.hpp"
#include "storage/replica/replica_store.hpp"
#include "storage/replica/shard_copy.hpp"
#include "storage/replica/shard_sweep.hpp"
#include "storage/rocksdb/rocksdb_store.hpp"
#include "support/temporary_directory.hpp"
#include "support/write_sets.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>

namespace codeq::storage {
namespace {

using namespace test;
using replication::replica_id;

constexpr shard_id shard{3};

void commit(task_store& store, write_set writes, durability mode = durability::os) {
  shared_write_set set = std::make_shared<const write_set>(std::move(writes));
  ASSERT_TRUE(store.commit({&set, 1}, mode));
}

/// A record of each of two kinds, and one of another shard.
void fill(task_store& store, std::uint64_t records) {
  write_set writes;
  for (std::uint64_t i = 0; i < records; ++i) {
    writes.put(segment_key{shard, i}.encode(), "segment " + std::to_string(i));
    writes.put(outcome_key{shard, i}.encode(), "outcome " + std::to_string(i));
    writes.put(segment_key{shard_id{4}, i}.encode(), "of another shard");
  }
  commit(store, std::move(writes));
}

contents data_in(const task_store& store) {
  contents all;
  for (const auto& range : data_of(shard))
    all.merge(*read_all(store, range.begin, range.end));
  return all;
}

/// Copies the shard's data and history; `between` runs after each part was read.
template <class F>
std::size_t copy(const task_store& from, task_store& to, std::size_t part_bytes, F between) {
  auto source = shard_copy::begin(from, shard);
  EXPECT_TRUE(source);
  shard_sweep old(to, shard);
  for (auto removals = *old.next(7); !removals.empty(); removals = *old.next(7))
    commit(to, std::move(removals));
  EXPECT_TRUE(data_in(to).empty());
  std::size_t parts = 0;
  for (;; ++parts) {
    auto part = source->next(part_bytes);
    EXPECT_TRUE(part);
    if (part->empty())
      break;
    commit(to, *unpack(*part, shard));
    between();
  }
  write_set end;
  put_history(shard, source->log(), end);
  commit(to, std::move(end));
  return parts;
}

TEST(ReplicaStore, StoreThatIsAloneHasNoReplica) {
  memory_store store;
  fill(store, 1);

  const auto found = read_replica(store, shard);

  ASSERT_TRUE(found);
  EXPECT_FALSE(*found);
}

TEST(ReplicaStore, FoundedReplicaKeepsItsDataAndJoinsNoEmptyHistory) {
  memory_store store;
  fill(store, 2);
  const auto before = data_in(store);

  ASSERT_TRUE(found_replica(store, shard, replica_id{5}, 4));

  const auto found = read_replica(store, shard);
  ASSERT_TRUE(found && *found);
  EXPECT_EQ((*found)->record, (replica_record{replica_id{5}, 4, false, false}));
  EXPECT_EQ((*found)->log.last(), (replication::position{4, 1}));
  EXPECT_EQ(data_in(store), before);
}

TEST(ReplicaStore, CreatedReplicaIsIncompleteAndHasNoData) {
  memory_store store;
  fill(store, 2);

  ASSERT_TRUE(create_replica(store, shard, replica_id{6}));

  const auto found = read_replica(store, shard);
  ASSERT_TRUE(found && *found);
  EXPECT_TRUE((*found)->record.is_incomplete);
  EXPECT_EQ((*found)->log, replication::epoch_index{});
  EXPECT_TRUE(data_in(store).empty());
  EXPECT_TRUE(*store.read(segment_key{shard_id{4}, 0}.encode()));
}

TEST(ReplicaStore, HistoryIsReadBackAndForgetsOldEpochs) {
  memory_store store;
  auto made = *found_replica(store, shard, replica_id{5}, 1);

  for (std::uint64_t n = 2; n < 200; ++n) {
    write_set writes;
    put_position(shard, {static_cast<std::uint32_t>(n / 2), n}, made.log, writes);
    commit(store, std::move(writes));
    EXPECT_EQ((*read_replica(store, shard))->log, made.log);
  }

  EXPECT_EQ(made.log.begins().size(), replication::epoch_index::epochs_max);
  EXPECT_TRUE(made.log.contains({99, 198}));
  EXPECT_FALSE(made.log.contains({1, 2}));
}

TEST(ShardCopy, IsTheSameInPartsOfAnySize) {
  memory_store from;
  fill(from, 20);
  const auto made = *found_replica(from, shard, replica_id{5}, 4);

  for (std::size_t part_bytes : {std::size_t{1}, std::size_t{100}, std::size_t{1} << 20}) {
    memory_store to;
    fill(to, 30);
    const auto parts = copy(from, to, part_bytes, [] {});

    EXPECT_EQ(parts == 1, part_bytes > 1000);
    EXPECT_EQ(data_in(to), data_in(from));
    EXPECT_EQ(*read_history(*to.view(), shard), made.log);
    EXPECT_TRUE(*to.read(segment_key{shard_id{4}, 29}.encode()));
  }
}

TEST(ShardCopy, ShowsOneMomentWhateverIsWrittenOrRewrittenMeanwhile) {
  temporary_directory directory;
  rocksdb_store_options options;
  options.write_buffer_bytes = 256u << 10;
  options.directory = directory.path() / "from";
  auto from = *open_rocksdb_store(options);
  options.directory = directory.path() / "to";
  auto to = *open_rocksdb_store(options);
  fill(*from, 500);
  auto made = *found_replica(*from, shard, replica_id{5}, 4);
  const auto before = data_in(*from);
  std::atomic<bool> cancelled{false};
  std::uint64_t next = 0;

  copy(*from, *to, 2000, [&] {
    write_set writes;
    writes.single_remove(segment_key{shard, next}.encode());
    writes.put(outcome_key{shard, next}.encode(), std::string(2000, 'x'));
    writes.put(segment_key{shard, 1000 + next++}.encode(), std::string(2000, 'y'));
    put_position(shard, {4, made.log.last().number + 1}, made.log, writes);
    commit(*from, std::move(writes));
    EXPECT_TRUE(from->compact(std::string(1, '\0'), "\xff", cancelled));
  });

  EXPECT_GT(next, 10u);
  EXPECT_EQ(data_in(*to), before);
  EXPECT_EQ(read_history(*to->view(), shard)->last(), (replication::position{4, 1}));
}

TEST(ShardCopy, OverOldDataCanBeRemovedSinglyAndNothingOldComesBack) {
  temporary_directory directory;
  rocksdb_store_options options;
  options.directory = directory.path() / "store";
  auto to = *open_rocksdb_store(options);
  memory_store from;
  fill(from, 50);
  fill(*to, 60);
  std::atomic<bool> cancelled{false};
  ASSERT_TRUE(to->compact(std::string(1, '\0'), "\xff", cancelled));
  copy(from, *to, 1000, [] {});

  write_set writes;
  for (std::uint64_t i = 0; i < 50; ++i)
    writes.single_remove(segment_key{shard, i}.encode());
  commit(*to, std::move(writes));
  ASSERT_TRUE(to->compact(std::string(1, '\0'), "\xff", cancelled));
  // A store whose newest writes vanished in a flush finds a smaller sequence number than it noted.
  write_set last;
  last.put(outcome_key{shard, 0}.encode(), "outcome 0");
  commit(*to, std::move(last));
  to.reset();
  auto opened = open_rocksdb_store(options);
  ASSERT_TRUE(opened) << to_string(opened.error());
  to = std::move(*opened);

  EXPECT_EQ(data_in(*to).size(), 50u);
  EXPECT_FALSE(*to->read(segment_key{shard, 1}.encode()));
  EXPECT_FALSE(*to->read(segment_key{shard, 55}.encode()));
}

struct boot_case {
  const char* name;
  durability mode;
  bool is_closed;
  const char* next_boot;
  bool is_doubtful;
};

class BootTest : public testing::TestWithParam<boot_case> {};

TEST_P(BootTest, MakesReplicasDoubtfulWhenConfirmedWritesMayBeLost) {
  const auto& each = GetParam();
  memory_store store;
  ASSERT_TRUE(found_replica(store, shard, replica_id{5}, 4));
  ASSERT_TRUE(begin_boot(store, "first", each.mode));
  if (each.is_closed) {
    ASSERT_TRUE(end_boot(store));
  }

  ASSERT_TRUE(begin_boot(store, each.next_boot, durability::os));

  EXPECT_EQ((*read_replica(store, shard))->record.is_doubtful, each.is_doubtful);
  // The mark stays until the replica was compared with others.
  ASSERT_TRUE(begin_boot(store, each.next_boot, durability::os));
  ASSERT_TRUE(end_boot(store));
  EXPECT_EQ((*read_replica(store, shard))->record.is_doubtful, each.is_doubtful);
}

INSTANTIATE_TEST_SUITE_P(
  Boots,
  BootTest,
  testing::Values(
    boot_case{"AfterAPowerCut", durability::os, false, "second", true},
    boot_case{"OfTheSameKernel", durability::os, false, "first", false},
    boot_case{"AfterAnOrderlyEnd", durability::os, true, "second", false},
    boot_case{"OfASyncedStore", durability::sync, false, "second", false},
    boot_case{"OfAnUnknownKernel", durability::os, false, "", true}),
  [](const auto& each) { return std::string(each.param.name); });

TEST(Boot, OfTheKernelIsKnownHere) {
  EXPECT_EQ(kernel_boot_id().size(), 36u);
}

} // namespace
} // namespace codeq::storage
