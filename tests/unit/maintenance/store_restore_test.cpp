// SPDX-License-Identifier: Apache-2.0

#include "base/tuning.hpp"
#include "maintenance/store_restore.hpp"
#include "storage/keys/keyspace.hpp"
#include "storage/memory/memory_store.hpp"
#include "storage/recovery/recovery.hpp"
#include "support/write_sets.hpp"

#include <gtest/gtest.h>

namespace codeq::maintenance {
namespace {

using namespace std::chrono_literals;

constexpr timestamp new_year_2026{std::chrono::seconds(1'767'225'600)};

storage::store_record record_of_epoch(std::uint32_t epoch) {
  storage::store_record record;
  record.store_id = 7;
  record.shard_count = 4;
  record.epoch = epoch;
  return record;
}

result<storage::store_record> give_to(storage::memory_store& store, std::uint32_t epoch) {
  test::write_group group{
    test::puts({{storage::store_key{}.encode(), encode(record_of_epoch(epoch))}})};
  EXPECT_TRUE(store.commit(group, storage::durability::sync));
  return give_identity(store, 9, new_year_2026);
}

TEST(RestoredEpoch, IsFarBeyondTheStoredOne) {
  EXPECT_EQ(epoch_of_restored(3, new_year_2026), 3u + 65'536u);
}

TEST(RestoredEpoch, IsAtLeastTheMinutesOfThisAge) {
  EXPECT_EQ(epoch_of_restored(3, new_year_2026 + 100'000min + 59s), 100'000u);
}

TEST(RestoredEpoch, ClockBeforeThisAgeDoesNoHarm) {
  EXPECT_EQ(epoch_of_restored(3, new_year_2026 - 1h), 3u + 65'536u);
}

TEST(RestoredStore, HasAnotherIdAndAHigherEpochOnTheDisk) {
  storage::memory_store store;

  auto given = give_to(store, 5);
  store.cut_power();

  ASSERT_TRUE(given);
  auto read = storage::read_identity(store);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->store_id, 9u);
  EXPECT_EQ(read->epoch, 5u + 65'536u);
  EXPECT_EQ(read->shard_count, 4u);
}

TEST(RestoredStore, NextStartRaisesTheEpochOnceMore) {
  storage::memory_store store;
  ASSERT_TRUE(give_to(store, 5));

  auto opened = storage::open_identity(store, 0, 1);

  ASSERT_TRUE(opened);
  EXPECT_EQ(opened->epoch, 5u + 65'537u);
}

TEST(RestoredStore, IsRefusedWhenItsEpochsRanOut) {
  storage::memory_store store;

  auto given = give_to(store, tuning::epoch_max - 65'536);

  ASSERT_FALSE(given);
  EXPECT_EQ(given.error().code, errc::incompatible_store);
}

} // namespace
} // namespace codeq::maintenance
