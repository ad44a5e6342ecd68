// SPDX-License-Identifier: Apache-2.0
#include "coordinator/store/journal.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace codeq::coordinator {
namespace {

using namespace std::chrono_literals;
using storage::durability;

/// Writes the groups in words, and ends a write when it is told to.
class JournalTest : public testing::Test, public journal_port {
protected:
  void begin_write(const commit_group& group) override {
    story_ += group.mode == durability::sync ? "sync" : "os";
    for (const auto& turn : group.turns)
      story_ += " " + std::to_string(turn.number);
    story_ += "\n";
  }

  void begin_sync() override {}

  void committed(shard_id, std::uint64_t number) override { committed_.push_back(number); }

  void epoch_raised(shard_id, std::uint32_t) override {}

  void publish_horizon(std::shared_ptr<const storage::shard_horizon> horizon) override {
    horizons_ += "published " + std::to_string(horizon->through) + "\n";
  }

  void forget_horizon(shard_id) override { horizons_ += "forgotten\n"; }

  void write_soon() override { ++wished_; }

  void sync_after(time_point::duration) override {}

  void fail(const error& reason) override { failure_ = reason.code; }

  void TearDown() override { EXPECT_EQ(failure_, expected_failure_); }

  static turn_commit turn(std::uint64_t number) {
    return {shard_id{1}, number, std::make_shared<const storage::write_set>()};
  }

  static turn_commit turn_with_horizon(std::uint64_t number, core::log_position through) {
    auto made = turn(number);
    made.horizon = std::make_shared<const storage::shard_horizon>(
      storage::shard_horizon{shard_id{1}, through, timestamp{}, {}});
    return made;
  }

  static turn_commit synced_turn(std::uint64_t number) {
    auto made = turn(number);
    made.is_synced = true;
    return made;
  }

  static turn_commit clearing_turn(std::uint64_t number) {
    auto made = synced_turn(number);
    made.forgets_horizon = true;
    return made;
  }

  void end_sync() {
    journal_.sync();
    journal_.synced({}, now_);
  }

  void end_write() { journal_.written({}, now_); }

  time_point now_{1s};
  std::string story_;
  std::string horizons_;
  std::vector<std::uint64_t> committed_;
  int wished_ = 0;
  errc failure_ = errc::none;
  errc expected_failure_ = errc::none;
  journal journal_{{durability::os, {}}, *this};
};

TEST_F(JournalTest, GroupWithASyncedTurnIsSyncedInBothModes) {
  journal_.gather(turn(1), now_);
  journal_.gather(synced_turn(2), now_);
  journal_.gather(turn(3), now_);
  EXPECT_EQ(story_, "") << "turns that are already queued can join";
  EXPECT_EQ(wished_, 1);

  journal_.write(now_);
  journal_.gather(turn(4), now_);
  end_write();
  end_write();
  EXPECT_EQ(story_, "sync 1 2 3\nos 4\n");
  EXPECT_EQ(committed_, (std::vector<std::uint64_t>{1, 2, 3, 4}));
}

TEST_F(JournalTest, HorizonsOfDataThatIsClearedAreNeverPublished) {
  // Committed and in a sync; committed; being written; waiting to be written.
  journal_.gather(turn_with_horizon(1, 10), now_);
  journal_.write(now_);
  end_write();
  journal_.sync();
  journal_.gather(turn_with_horizon(2, 20), now_);
  journal_.write(now_);
  end_write();
  journal_.gather(turn_with_horizon(3, 30), now_);
  journal_.write(now_);
  journal_.gather(turn_with_horizon(4, 40), now_);

  journal_.gather(clearing_turn(5), now_);
  end_write();
  end_write();
  journal_.synced({}, now_);
  end_sync();
  EXPECT_EQ(horizons_, "forgotten\n");

  journal_.gather(turn_with_horizon(6, 60), now_);
  journal_.write(now_);
  end_write();
  end_sync();
  EXPECT_EQ(horizons_, "forgotten\npublished 60\n");
}

TEST_F(JournalTest, NothingIsConfirmedAfterAFailedWrite) {
  expected_failure_ = errc::io_error;
  journal_.gather(synced_turn(1), now_);
  journal_.write(now_);

  journal_.written(error{errc::io_error, "the disk is broken"}, now_);

  EXPECT_TRUE(committed_.empty());
}

TEST_F(JournalTest, NoHorizonIsPublishedAfterAFailedSync) {
  expected_failure_ = errc::io_error;
  journal_.gather(turn_with_horizon(1, 10), now_);
  journal_.write(now_);
  end_write();
  journal_.sync();

  journal_.synced(error{errc::io_error, "the disk is broken"}, now_);

  EXPECT_EQ(horizons_, "");
}

} // namespace
} // namespace codeq::coordinator
