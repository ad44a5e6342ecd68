// SPDX-License-Identifier: Apache-2.0
#include "storage/memory/memory_store.hpp"
#include "support/write_sets.hpp"

#include <gtest/gtest.h>

namespace codeq::storage {
namespace {

using namespace test;

void commit(memory_store& store, const std::string& key, durability mode) {
  write_group group{puts({{key, "value"}})};
  ASSERT_TRUE(store.commit(group, mode));
}

std::string keys_in(const memory_store& store) {
  auto found = read_all(store).value();
  std::string keys;
  for (const auto& [key, value] : found)
    keys += key;
  return keys;
}

TEST(MemoryStore, PowerCutTakesWhatWasNotSynced) {
  memory_store store;
  commit(store, "a", durability::sync);
  commit(store, "b", durability::os);

  store.cut_power();

  EXPECT_EQ(keys_in(store), "a");
}

TEST(MemoryStore, PowerCutMayKeepAPrefix) {
  memory_store store;
  for (const auto* key : {"a", "b", "c"})
    commit(store, key, durability::os);
  EXPECT_EQ(store.unsynced_batches(), 3u);

  store.cut_power(2);

  EXPECT_EQ(keys_in(store), "ab");
  EXPECT_EQ(store.unsynced_batches(), 0u);
}

TEST(MemoryStore, SyncLogSavesAllCommitsSoFar) {
  memory_store store;
  commit(store, "a", durability::os);
  ASSERT_TRUE(store.sync_log());
  commit(store, "b", durability::os);

  store.cut_power();

  EXPECT_EQ(keys_in(store), "a");
}

TEST(MemoryStore, SyncedCommitSavesTheOnesBeforeIt) {
  memory_store store;
  commit(store, "a", durability::os);
  commit(store, "b", durability::sync);

  store.cut_power();

  EXPECT_EQ(keys_in(store), "ab");
}

} // namespace
} // namespace codeq::storage
