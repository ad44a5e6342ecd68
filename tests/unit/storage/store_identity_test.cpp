// SPDX-License-Identifier: Apache-2.0

#include "base/tuning.hpp"
#include "storage/keys/keyspace.hpp"
#include "storage/memory/memory_store.hpp"
#include "storage/recovery/recovery.hpp"
#include "support/write_sets.hpp"

#include <gtest/gtest.h>

#include <string>

namespace codeq::storage {
namespace {

using namespace test;

constexpr std::uint64_t fresh_id = 7;

class StoreIdentity : public testing::Test {
protected:
  store_record open(std::size_t shards = 0) {
    auto record = open_identity(store_, shards, fresh_id);
    EXPECT_TRUE(record) << to_string(record.error());
    return record ? *record : store_record{};
  }

  error refusal(std::size_t shards = 0) {
    auto record = open_identity(store_, shards, fresh_id);
    return record ? error{} : record.error();
  }

  void put(const store_record& record) {
    write_group group{puts({{store_key{}.encode(), encode(record)}})};
    ASSERT_TRUE(store_.commit(group, durability::sync));
  }

  memory_store store_;
};

TEST_F(StoreIdentity, EveryOpeningRaisesTheEpochAndKeepsTheRest) {
  auto first = open();
  auto second = open();

  EXPECT_EQ(second.epoch, first.epoch + 1);
  EXPECT_EQ(second.store_id, fresh_id);
  EXPECT_EQ(second.shard_count, first.shard_count);
}

TEST_F(StoreIdentity, RaisedEpochIsOnTheDiskBeforeTheStoreServes) {
  auto first = open();

  store_.cut_power();

  EXPECT_EQ(open().epoch, first.epoch + 1);
}

TEST_F(StoreIdentity, NumberOfShardsIsFixedWhenTheStoreIsMade) {
  open(3);

  EXPECT_EQ(refusal(4).code, errc::incompatible_store);
  EXPECT_EQ(open(3).shard_count, 3);
  EXPECT_EQ(open().shard_count, 3);
}

TEST_F(StoreIdentity, StoreWithoutEpochsLeftIsRefused) {
  auto record = open();
  record.epoch = tuning::epoch_max - 1;
  put(record);

  EXPECT_EQ(open().epoch, tuning::epoch_max);
  EXPECT_EQ(refusal().code, errc::incompatible_store);
}

TEST_F(StoreIdentity, StoreOfANewerFormatIsRefused) {
  auto record = open();
  ++record.version;
  put(record);

  EXPECT_EQ(refusal().code, errc::incompatible_store);
}

TEST_F(StoreIdentity, StoreOfAnOlderFormatIsOpenToNoOlderVersionAnyMore) {
  auto record = open();
  record.version = 1;
  put(record);

  EXPECT_EQ(open().version, format_version);
  EXPECT_EQ(read_identity(store_)->version, format_version);
}

TEST(BlockVersion, IsOneThatEveryReaderOfTheFormatReads) {
  EXPECT_EQ(block_version_of(4), core::block_version_oldest);
  EXPECT_EQ(block_version_of(format_version), core::block_version_newest);
}

} // namespace
} // namespace codeq::storage
