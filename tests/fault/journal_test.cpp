// SPDX-License-Identifier: Apache-2.0

#include "base/tuning.hpp"
#include "coordinator/actors/journal_driver.hpp"
#include "coordinator/actors/log_syncer.hpp"
#include "storage/rocksdb/rocksdb_store.hpp"
#include "support/deterministic_system.hpp"
#include "support/fault_file_system.hpp"
#include "support/random_writes.hpp"
#include "support/seed.hpp"
#include "support/temporary_directory.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace codeq::test {
namespace {

using storage::durability;

/// Number of requests that wait for the journal at the same time.
constexpr std::size_t waiting = 64;

/// The production journal on a disk with faults, between fake shards; instead of ending the process
/// it records how the process would have ended.
class JournalOnABadDisk : public testing::Test {
protected:
  void start(durability mode) {
    storage::rocksdb_store_options options;
    options.directory = directory_.path() / "store";
    options.mode = mode;
    options.environment = disk_.environment();
    auto opened = storage::open_rocksdb_store(options);
    ASSERT_TRUE(opened);
    coordinator::journal_driver_options made;
    made.store = std::shared_ptr<storage::task_store>(std::move(*opened));
    made.journal.mode = mode;
    made.on_failure = [this](const error& why) { failures_.push_back(to_string(why)); };
    made.meter = meter_;
    made.horizons = horizons_;
    made.syncer = spawn_syncer(made.store);
    journal_ = system_.own(system_.get().spawn(coordinator::drive_journal, made));
    auto shard = system_.get().spawn([this](caf::event_based_actor*) -> caf::behavior {
      return {[this](const coordinator::batch_committed& told) { told_.push_back(told.number); }};
    });
    shard_ = caf::actor_cast<coordinator::shard_internal_actor>(system_.own(shard));
  }

  /// The production syncer, or one whose syncs end when the test says so.
  coordinator::log_syncer_actor spawn_syncer(const std::shared_ptr<storage::task_store>& store) {
    if (!holds_syncs_)
      return system_.own(system_.get().spawn(coordinator::log_syncer, store));
    held_syncer_ =
      system_.own(system_.get().spawn([this](caf::event_based_actor* self) -> caf::behavior {
        return {
          [this, self](coordinator::sync_log) {
            ++syncs_;
            sync_ = self->make_response_promise();
            return sync_;
          },
          [this](const coordinator::log_synced& done) { sync_.deliver(done); },
        };
      }));
    return caf::actor_cast<coordinator::log_syncer_actor>(held_syncer_);
  }

  void start_with_a_sync_under_way() {
    holds_syncs_ = true;
    start(durability::os);
    commit_many();
    ASSERT_EQ(syncs_, 0);
    system_.advance(tuning::os_sync_interval);
    ASSERT_EQ(syncs_, 1);
  }

  void finish_sync(const result<void>& how = {}) {
    caf::anon_send(held_syncer_, coordinator::log_synced{how});
    system_.run();
  }

  /// As `commit_many`, with a shard's snapshot up to this position.
  void commit_snapshot(core::log_position through) {
    storage::shard_horizon horizon{shard_id{}, through, timestamp{}, {}};
    for (auto& set : writes_.next())
      caf::anon_send(
        journal_,
        coordinator::commit_request{
          shard_,
          {shard_id{},
           ++sent_,
           std::move(set),
           std::make_shared<const storage::shard_horizon>(horizon)}});
    system_.run();
  }

  void expect_told(std::uint64_t all) {
    EXPECT_EQ(told_.size(), all);
    EXPECT_TRUE(std::is_sorted(told_.begin(), told_.end()));
  }

  /// Sends `waiting` commits to the journal, each in a message of its own, and runs it.
  void commit_many() {
    for (std::size_t i = 0; i < waiting; ++i)
      for (auto& set : writes_.next())
        caf::anon_send(
          journal_, coordinator::commit_request{shard_, {shard_id{}, ++sent_, std::move(set)}});
    system_.run();
  }

  void expect_stop() {
    auto told_before = told_;
    commit_many();

    EXPECT_EQ(told_, told_before) << "a shard was told of a commit that failed";
    ASSERT_FALSE(failures_.empty());
    EXPECT_NE(failures_.front().find("io_error"), std::string::npos) << failures_.front();

    disk_.heal();
    commit_many();
    EXPECT_EQ(told_, told_before) << "a shard was told of a commit behind one that failed";
  }

  fault_file_system disk_{choose_seed()};
  temporary_directory directory_{temporary_directory::in_memory()};
  deterministic_system system_;
  random_writes writes_{1, {}};
  coordinator::journal_actor journal_;
  coordinator::shard_internal_actor shard_;
  std::uint64_t sent_ = 0;
  std::vector<std::uint64_t> told_;
  std::vector<std::string> failures_;
  std::shared_ptr<coordinator::journal_meter> meter_ =
    std::make_shared<coordinator::journal_meter>();
  std::shared_ptr<storage::retention_horizons> horizons_ =
    std::make_shared<storage::retention_horizons>();
  bool holds_syncs_ = false;
  int syncs_ = 0;
  caf::actor held_syncer_;
  caf::response_promise sync_;
};

TEST_F(JournalOnABadDisk, TellsShardsWhatIsCommittedInTheirOrder) {
  start(durability::sync);

  commit_many();

  EXPECT_EQ(told_.size(), sent_);
  EXPECT_TRUE(std::is_sorted(told_.begin(), told_.end()));
  EXPECT_EQ(failures_, std::vector<std::string>{});
}

TEST_F(JournalOnABadDisk, StopsAtAFailedAppendAndAnswersNothing) {
  start(durability::sync);
  commit_many();
  disk_.fail_at({file_kind::log, disk_operation::append});

  expect_stop();
}

TEST_F(JournalOnABadDisk, StopsAtAFailedSyncAndAnswersNothing) {
  start(durability::sync);
  commit_many();
  disk_.fail_at({file_kind::log, disk_operation::sync});

  expect_stop();
}

TEST_F(JournalOnABadDisk, StopsWhenTheDiskIsFullAndAnswersNothing) {
  start(durability::os);
  commit_many();
  disk_.limit_space(100);

  expect_stop();
}

TEST_F(JournalOnABadDisk, StopsAtAFailedSyncInTheBackground) {
  start(durability::os);
  commit_many();
  disk_.fail_at({file_kind::log, disk_operation::sync});

  system_.advance(std::chrono::seconds{2});

  ASSERT_FALSE(failures_.empty());
  auto told = told_;
  commit_many();
  EXPECT_EQ(told_, told);
}

TEST_F(JournalOnABadDisk, GoesOnWhileASyncIsUnderWay) {
  ASSERT_NO_FATAL_FAILURE(start_with_a_sync_under_way());
  commit_many();
  expect_told(sent_);

  system_.advance(tuning::os_sync_interval - std::chrono::milliseconds{1});
  commit_many();
  expect_told(sent_);
  EXPECT_EQ(syncs_, 1) << "one sync at a time";
}

TEST_F(JournalOnABadDisk, CommitsNoMoreThanASecondAheadOfTheDisk) {
  ASSERT_NO_FATAL_FAILURE(start_with_a_sync_under_way());
  commit_many();
  auto committed = sent_;
  system_.advance(tuning::os_unsynced_max - tuning::os_sync_interval);

  commit_many();
  expect_told(committed);

  // The commits made during the sync are half a second old and not covered by it.
  finish_sync();
  expect_told(sent_);
  EXPECT_EQ(syncs_, 1);
  system_.advance(std::chrono::milliseconds{1});
  EXPECT_EQ(syncs_, 2);
}

TEST_F(JournalOnABadDisk, WritesWhatWaitedForTheDiskInGroupsOfBoundedSize) {
  ASSERT_NO_FATAL_FAILURE(start_with_a_sync_under_way());
  system_.advance(tuning::os_unsynced_max - tuning::os_sync_interval);
  auto groups = meter_->groups.load();
  auto waiting_since = sent_;
  while (sent_ - waiting_since <= tuning::commit_group_deltas_max)
    commit_many();

  finish_sync();

  expect_told(sent_);
  EXPECT_EQ(meter_->groups - groups, 2u);
}

TEST_F(JournalOnABadDisk, PublishesASnapshotOnceItIsSynced) {
  ASSERT_NO_FATAL_FAILURE(start_with_a_sync_under_way());
  commit_snapshot(7);
  finish_sync();
  EXPECT_TRUE(horizons_->view().horizons.empty()) << "that sync did not cover it";

  system_.advance(tuning::os_sync_interval);
  finish_sync();

  EXPECT_EQ(horizons_->view().horizons.at(shard_id{})->through, 7u);
}

TEST_F(JournalOnABadDisk, PublishesNothingBehindASyncThatFailed) {
  ASSERT_NO_FATAL_FAILURE(start_with_a_sync_under_way());
  commit_snapshot(7);
  finish_sync();
  system_.advance(tuning::os_sync_interval);

  finish_sync(error{errc::io_error, "gone"});

  EXPECT_TRUE(horizons_->view().horizons.empty());
  EXPECT_EQ(failures_.size(), 1u);
}

TEST_F(JournalOnABadDisk, SyncsNothingWhenNothingWasCommitted) {
  ASSERT_NO_FATAL_FAILURE(start_with_a_sync_under_way());
  finish_sync();

  system_.advance(std::chrono::minutes{1});

  EXPECT_EQ(syncs_, 1);
}

} // namespace
} // namespace codeq::test
