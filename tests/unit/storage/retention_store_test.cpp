// SPDX-License-Identifier: Apache-2.0
#include "storage/keys/keyspace.hpp"
#include "storage/records/projection.hpp"
#include "storage/rocksdb/rocksdb_store.hpp"
#include "support/key_ranges.hpp"
#include "support/temporary_directory.hpp"
#include "support/write_sets.hpp"

#include <gtest/gtest.h>

namespace codeq::storage {
namespace {

using namespace std::chrono_literals;

constexpr shard_id shard{2};
constexpr duration retention = 1h;
constexpr duration per_turn = 1min;
constexpr std::size_t turns_kept = retention / per_turn;

/// A store under steady load: every turn takes a minute, completes ten tasks and closes their
/// segment.
class RetentionInRocksdb : public testing::Test {
protected:
  void open(std::shared_ptr<retention_horizons> horizons) {
    rocksdb_store_options options;
    options.directory = directory_.path() / "store";
    options.mode = durability::os;
    options.write_buffer_bytes = 256u << 10;
    options.horizons = std::move(horizons);
    auto opened = open_rocksdb_store(options);
    ASSERT_TRUE(opened) << opened.error().context;
    store_ = std::move(*opened);
  }

  void run_turn() {
    now_ += per_turn;
    core::leases_ended ended{++position_, now_, {}, retention_};
    core::segment_fate fate;
    fate.first = next_task_;
    fate.closed_at = now_;
    fate.retention = retention_;
    for (std::uint32_t i = 0; i < 10; ++i) {
      auto text = bytes("result " + std::to_string(next_task_));
      ended.ends.push_back(
        {next_task_++, fencing_token{1}, {}, true, task_state::completed, {}, text});
      fate.entries.emplace_back().outcome = position_;
    }
    // One of the tasks has a history.
    core::task_note note;
    note.seq = note.segment = fate.first;
    note.event.at = now_;
    ended.notes.push_back(note);
    core::snapshot_taken snapshot;
    snapshot.position = ++position_;
    snapshot.at = now_;
    snapshot.closed.push_back(fate);
    snapshot.closed_keys.push_back(key_of("key " + std::to_string(position_), now_ + retention_));
    auto writes = std::make_shared<write_set>();
    project(shard, ended, *writes);
    project(shard, snapshot, *writes);
    std::shared_ptr<const write_set> set = writes;
    ASSERT_TRUE(store_->commit({&set, 1}, durability::os));
  }

  [[nodiscard]] core::closed_key key_of(const std::string& name, timestamp expires_at) const {
    return {{{"default", "q"}, {}, name}, {next_task_ - 1, position_, expires_at}};
  }

  /// Closes a later task of the key and compacts everything into the last level.
  void settle_key(const std::string& name, timestamp expires_at) {
    core::snapshot_taken snapshot;
    snapshot.position = ++position_;
    snapshot.at = now_;
    snapshot.closed_keys.push_back(key_of(name, expires_at));
    auto writes = std::make_shared<write_set>();
    project(shard, snapshot, *writes);
    std::shared_ptr<const write_set> set = writes;
    ASSERT_TRUE(store_->commit({&set, 1}, durability::os));
    compact(all_keys());
  }

  void publish(retention_horizons& to) {
    to.publish(std::make_shared<shard_horizon>(shard_horizon{shard, position_, now_, {}}));
  }

  void compact(const key_range& range) {
    std::atomic<bool> cancelled{false};
    EXPECT_TRUE(store_->compact(range.begin, range.end, cancelled));
  }

  std::size_t outcomes() {
    auto range = outcomes_of(shard);
    return test::read_all(*store_, range.begin, range.end)->size();
  }

  std::size_t fates() {
    auto range = fates_of(shard);
    return test::read_all(*store_, range.begin, range.end)->size();
  }

  std::size_t histories() {
    auto range = test::keys_of_kind(key_tag::history, shard);
    return test::read_all(*store_, range.begin, range.end)->size();
  }

  std::size_t keys() {
    auto range = keys_of(shard);
    return test::read_all(*store_, range.begin, range.end)->size();
  }

  test::temporary_directory directory_;
  std::unique_ptr<task_store> store_;
  core::log_position position_ = 0;
  sequence next_task_ = 1;
  timestamp now_{};
  duration retention_ = retention;
};

TEST_F(RetentionInRocksdb, SteadyLoadKeepsTheNumberOfRecordsBounded) {
  auto horizons = std::make_shared<retention_horizons>();
  open(horizons);
  std::size_t most = 0;

  for (int turn = 1; turn <= 20'000; ++turn) {
    run_turn();
    publish(*horizons);
    if (turn % 500 == 0)
      most = std::max({most, outcomes(), fates()});
  }

  EXPECT_LT(most, 2'500u);
  EXPECT_GE(outcomes(), turns_kept);
  EXPECT_GE(fates(), turns_kept);
  EXPECT_GE(histories(), turns_kept);
  EXPECT_LT(histories(), 10'000u);
  EXPECT_GE(keys(), turns_kept);
  EXPECT_LT(keys(), 10'000u);
}

TEST_F(RetentionInRocksdb, DroppedKeyLetsNoOlderOneComeToLight) {
  auto horizons = std::make_shared<retention_horizons>();
  open(horizons);
  settle_key("x", now_ + 10h);
  settle_key("x", now_ + 1h);
  now_ += 2h;
  publish(*horizons);

  compact(all_keys());
  EXPECT_EQ(keys(), 0u);
  compact(all_keys());
  EXPECT_EQ(keys(), 0u);
}

TEST_F(RetentionInRocksdb, HistoriesGoAfterTheirFates) {
  auto horizons = std::make_shared<retention_horizons>();
  open(horizons);
  for (int turn = 0; turn < 1'000; ++turn)
    run_turn();
  publish(*horizons);

  compact(all_fates());
  compact(all_histories());

  EXPECT_EQ(fates(), turns_kept);
  EXPECT_EQ(histories(), turns_kept);
}

TEST_F(RetentionInRocksdb, HistoriesStayWithTheirFates) {
  retention_ = 24h;
  auto horizons = std::make_shared<retention_horizons>();
  open(horizons);
  for (int turn = 0; turn < 1'000; ++turn)
    run_turn();
  publish(*horizons);

  compact(all_fates());
  compact(all_histories());

  EXPECT_EQ(histories(), 1'000u);
}

TEST_F(RetentionInRocksdb, CompactionDropsWhatIsPastOrEvicted) {
  auto horizons = std::make_shared<retention_horizons>();
  open(horizons);
  for (int turn = 0; turn < 1'000; ++turn)
    run_turn();
  std::atomic<bool> cancelled{false};
  EXPECT_GT(*store_->approximate_bytes(all_outcomes().begin, all_outcomes().end), 10'000u);

  publish(*horizons);
  EXPECT_TRUE(store_->compact(all_outcomes().begin, all_outcomes().end, cancelled));
  EXPECT_EQ(outcomes(), turns_kept);
  EXPECT_EQ(horizons->evicted(), 0u);

  horizons->evict_before(now_ - 9 * per_turn);
  EXPECT_TRUE(store_->compact(all_outcomes().begin, all_outcomes().end, cancelled));
  EXPECT_EQ(outcomes(), 10u);
  EXPECT_GE(horizons->evicted(), turns_kept - 10);
}

TEST_F(RetentionInRocksdb, NothingIsDroppedBehindTheLastSyncedSnapshot) {
  auto horizons = std::make_shared<retention_horizons>();
  open(horizons);
  run_turn();
  publish(*horizons);

  for (int turn = 1; turn < 5'000; ++turn)
    run_turn();

  EXPECT_GE(outcomes(), 4'999u);
  EXPECT_GE(fates(), 4'999u);
}

TEST_F(RetentionInRocksdb, NothingIsDroppedByAStoreThatIsNotTold) {
  open(nullptr);

  for (int turn = 0; turn < 5'000; ++turn)
    run_turn();

  EXPECT_EQ(outcomes(), 5'000u);
  EXPECT_EQ(fates(), 5'000u);
}

} // namespace
} // namespace codeq::storage
