// SPDX-License-Identifier: Apache-2.0
#include "storage/keys/keyspace.hpp"
#include "storage/memory/memory_store.hpp"
#include "storage/records/record_codec.hpp"
#include "storage/retention/retention_keeper.hpp"
#include "support/write_sets.hpp"

#include <gtest/gtest.h>

namespace codeq::storage {
namespace {

using namespace std::chrono_literals;

constexpr shard_id shard{1};
constexpr std::uint64_t bytes_max = 100'000;

/// Outcome records of about 100 bytes each, one per minute, with a retention of one day.
class RetentionKeeper : public testing::Test {
protected:
  void add(std::size_t outcomes) {
    write(outcomes);
    publish();
  }

  void write(std::size_t outcomes) {
    write_set writes;
    for (std::size_t i = 0; i < outcomes; ++i) {
      now_ += 1min;
      core::leases_ended e{++position_, now_, {}, 24h};
      writes.put(outcome_key{shard, position_}.encode(), encode(e));
    }
    commit(std::move(writes));
  }

  /// One per minute; the task that was enqueued first ended last.
  void add_fates(std::size_t fates) {
    now_ += fates * 1min;
    write_set writes;
    for (std::size_t i = 0; i < fates; ++i) {
      core::segment_fate fate;
      fate.first = ++position_;
      fate.closed_at = now_ - i * 1min;
      fate.retention = 24h;
      fate.entries.resize(10);
      writes.put(fate_key{shard, fate.first}.encode(), encode(fate, position_));
    }
    commit(std::move(writes));
    publish();
  }

  /// One command per minute.
  void add_commands(std::size_t commands) {
    write_set writes;
    for (std::size_t i = 0; i < commands; ++i) {
      now_ += 1min;
      core::audit_entry entry;
      entry.by = std::make_shared<const core::command_origin>(core::command_origin{now_, i});
      entry.tenant = "t";
      entry.position = ++position_;
      auto ms = static_cast<std::uint64_t>(now_.time_since_epoch().count());
      writes.put(audit_key{shard, ms, i, position_}.encode(), encode(entry));
    }
    commit(std::move(writes));
    publish();
  }

  void commit(write_set writes) {
    std::shared_ptr<const write_set> set = std::make_shared<write_set>(std::move(writes));
    ASSERT_TRUE(store_->commit({&set, 1}, durability::sync));
  }

  void publish() {
    horizons_->publish(std::make_shared<shard_horizon>(shard_horizon{shard, position_, now_, {}}));
  }

  void look() { ASSERT_TRUE(keeper_.look(cancelled_)); }

  std::uint64_t bytes(const key_range& range = all_outcomes()) {
    return *store_->approximate_bytes(range.begin, range.end);
  }

  std::size_t count(const key_range& range = all_outcomes()) {
    return test::read_all(*store_, range.begin, range.end)->size();
  }

  std::shared_ptr<retention_horizons> horizons_ = std::make_shared<retention_horizons>();
  std::shared_ptr<memory_store> store_ = std::make_shared<memory_store>(horizons_);
  retention_keeper keeper_{{store_, horizons_, bytes_max, bytes_max, 10'000}};
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

TEST_F(RetentionKeeper, DropsNothingOfAShardForTheRecordsOfOneWithoutAHorizon) {
  write_set others;
  for (core::log_position position = 1; position <= 2'000; ++position) {
    core::leases_ended e{position, now_, {}, 24h};
    others.put(outcome_key{shard_id{9}, position}.encode(), encode(e));
  }
  commit(std::move(others));
  add(300);
  ASSERT_GT(bytes(), bytes_max);

  for (int looks = 0; looks < 10; ++looks)
    look();
  EXPECT_EQ(count(), 2'300u);

  add(1'300);
  look();
  EXPECT_LT(count(), 3'600u);
  EXPECT_GT(count(), 2'000u + 800u);
}

TEST_F(RetentionKeeper, DropsTheOldestFatesWhereThereAreNoOutcomes) {
  add_fates(1'300);
  auto first = fate_key{shard, 1}.encode();
  ASSERT_GT(bytes(all_fates()), bytes_max);

  look();

  EXPECT_LE(bytes(all_fates()), bytes_max);
  EXPECT_GT(bytes(all_fates()), bytes_max / 2);
  EXPECT_TRUE(store_->read(first)->has_value());
}

TEST_F(RetentionKeeper, DropsTheOldestCommandsOfALogThatIsTooLong) {
  add_commands(2'000);
  ASSERT_GT(bytes(all_audits()), bytes_max);
  add(10);

  look();

  EXPECT_LE(bytes(all_audits()), bytes_max);
  EXPECT_GT(bytes(all_audits()), bytes_max / 2);
  EXPECT_EQ(count(), 10u);
  EXPECT_GT(horizons_->evicted(), 0u);
}

TEST_F(RetentionKeeper, DropsCommandsAfterThirtyDays) {
  add_commands(200);
  now_ += limits::audit_retention;
  add_commands(1);

  look();

  EXPECT_EQ(count(all_audits()), 1u);
  EXPECT_EQ(horizons_->evicted(), 0u);
}

TEST_F(RetentionKeeper, RewritesNothingUntilItWouldJudgeOtherwise) {
  add(1);
  horizons_->evict_before(now_);
  // Exceeds the limit, but no snapshot covers the records yet.
  write(1'300);
  look();
  auto long_ended = outcome_key{shard, 1}.encode();
  write_set writes;
  writes.put(long_ended, encode(core::leases_ended{1, timestamp{}, {}, 1ms}));
  commit(std::move(writes));

  look();

  EXPECT_TRUE(store_->read(long_ended)->has_value());

  publish();
  look();

  EXPECT_FALSE(store_->read(long_ended)->has_value());
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
