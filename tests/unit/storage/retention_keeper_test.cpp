// SPDX-License-Identifier: Apache-2.0
#include "storage/keyspace.hpp"
#include "storage/memory_store.hpp"
#include "storage/record_codec.hpp"
#include "storage/retention_keeper.hpp"
#include "support/write_sets.hpp"

#include <gtest/gtest.h>

namespace codeq::storage {
namespace {

using namespace std::chrono_literals;

constexpr shard_id shard{1};
constexpr std::uint64_t bytes_max = 100'000;

/// Outcomes of about a hundred bytes each, one a minute, that are kept for a day.
class RetentionKeeper : public testing::Test {
protected:
  void add(std::size_t outcomes) {
    auto writes = std::make_shared<write_set>();
    for (std::size_t i = 0; i < outcomes; ++i) {
      now_ += 1min;
      core::leases_ended e{++position_, now_, {}, 24h};
      writes->put(outcome_key{shard, position_}.encode(), encode(e));
    }
    std::shared_ptr<const write_set> set = writes;
    ASSERT_TRUE(store_->commit({&set, 1}, durability::sync));
    horizons_->publish(std::make_shared<shard_horizon>(shard_horizon{shard, position_, now_, {}}));
  }

  void look() { ASSERT_TRUE(keeper_.look(cancelled_)); }

  std::uint64_t bytes() {
    auto range = all_outcomes();
    return store_->approximate_bytes(range.begin, range.end);
  }

  std::size_t count() {
    auto range = all_outcomes();
    return test::read_all(*store_, range.begin, range.end)->size();
  }

  std::shared_ptr<retention_horizons> horizons_ = std::make_shared<retention_horizons>();
  std::shared_ptr<memory_store> store_ = std::make_shared<memory_store>(horizons_);
  retention_keeper keeper_{{store_, horizons_, bytes_max, 10'000}};
  std::atomic<bool> cancelled_{false};
  core::log_position position_ = 0;
  timestamp now_{};
};

TEST_F(RetentionKeeper, LeavesALittleGrowthAlone) {
  add(10);
  now_ += 48h;
  add(1);

  look();

  EXPECT_EQ(count(), 11u);
}

TEST_F(RetentionKeeper, DropsWhatIsPastItsRetentionAfterSomeGrowth) {
  add(200);
  now_ += 48h;
  add(1);

  look();

  EXPECT_EQ(count(), 1u);
  EXPECT_EQ(horizons_->evicted(), 0u);
}

TEST_F(RetentionKeeper, DropsTheOldestBeyondItsLimit) {
  add(1'300);
  ASSERT_GT(bytes(), bytes_max);

  look();

  EXPECT_LE(bytes(), bytes_max);
  EXPECT_GT(bytes(), bytes_max / 2);
  EXPECT_EQ(horizons_->evicted(), 1'300 - count());
  EXPECT_TRUE(store_->read(outcome_key{shard, position_}.encode())->has_value());
}

TEST_F(RetentionKeeper, GetsBelowItsLimitAlsoWhenRecordsCameUnevenly) {
  add(1);
  now_ += 20h;
  add(1'300);

  for (int looks = 0; looks < 50 && bytes() > bytes_max; ++looks)
    look();

  EXPECT_LE(bytes(), bytes_max);
  EXPECT_GT(bytes(), bytes_max / 4);
}

TEST_F(RetentionKeeper, EndsEarlyWhenItIsCancelled) {
  add(200);
  now_ += 48h;
  add(1);
  cancelled_ = true;

  look();

  EXPECT_EQ(count(), 201u);
}

} // namespace
} // namespace codeq::storage
