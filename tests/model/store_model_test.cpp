// SPDX-License-Identifier: Apache-2.0
#include "model/lock_step.hpp"
#include "model/store_history.hpp"
#include "storage/memory/memory_store.hpp"
#include "storage/rocksdb/rocksdb_store.hpp"
#include "support/seed.hpp"
#include "support/temporary_directory.hpp"

#include <gtest/gtest.h>

namespace codeq::model {
namespace {

TEST(StoreModel, RecoveryFromMemoryEqualsTheShardAfterAnyPrefix) {
  auto seed = test::choose_seed();
  auto make_history = [] {
    return std::make_unique<store_history>(
      [] { return std::make_unique<storage::memory_store>(); });
  };

  EXPECT_EQ(find_failure(seed, 2'000, 90, make_history), "");
}

TEST(StoreModel, RecoveryFromRocksdbEqualsTheShardAfterAnyPrefix) {
  auto seed = test::choose_seed();
  test::temporary_directory directory;
  int stores = 0;
  auto make_store = [&] {
    storage::rocksdb_store_options options;
    options.directory = directory.path() / std::to_string(++stores);
    options.mode = storage::durability::os;
    auto store = storage::open_rocksdb_store(options);
    if (!store)
      throw std::runtime_error(to_string(store.error()));
    return std::move(*store);
  };
  auto make_history = [&] { return std::make_unique<store_history>(make_store); };

  EXPECT_EQ(find_failure(seed, 40, 90, make_history), "");
}

} // namespace
} // namespace codeq::model
