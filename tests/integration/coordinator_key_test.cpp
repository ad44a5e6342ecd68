// SPDX-License-Identifier: Apache-2.0
#include "core/state/task_keys.hpp"
#include "integration/coordinator_fixture.hpp"
#include "storage/keys/keyspace.hpp"
#include "support/task_builder.hpp"

#include <gmock/gmock.h>

#include <atomic>

namespace codeq::coordinator {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

/// Keys of closed tasks, whose records are only in the store.
class StoredKey : public test::coordinator_fixture {
protected:
  void SetUp() override { begin(false); }

  void begin(bool held) {
    store_ = std::make_shared<storage::memory_store>(horizons_);
    start(held);
    producer_ = attach("");
    worker_ = attach("w");
  }

  /// Sends an enqueue without waiting for its answer.
  void post(std::uint64_t number, const std::string& key) {
    core::enqueue c;
    c.peer = producer_;
    c.request = {{1, 2}, number, 1};
    auto& run = c.runs.emplace_back();
    run.queue = {"default", "q"};
    run.key = key;
    run.settings.retention = 1h;
    run.tasks = test::encode_bodies(1, 16);
    caf::anon_send(shard_, shard_command{std::move(c)});
  }

  std::vector<std::string> enqueue(std::uint64_t number, const std::string& key) {
    post(number, key);
    system_.run();
    return take(producer_);
  }

  /// Gives the first task the key, completes it and closes its segment.
  void close_first(const std::string& key) {
    enqueue(1, key);
    add_credits(worker_, 1);
    complete(worker_, 1, 1);
    advance(10s);
  }

  core::peer_id producer_ = 0;
  core::peer_id worker_ = 0;
};

TEST_F(StoredKey, TakesNoMemory) {
  close_first("x");

  EXPECT_TRUE(state_->keys.holders.empty());
  EXPECT_TRUE(state_->keys.retained.empty());
}

TEST_F(StoredKey, IsFoundByADuplicate) {
  close_first("x");

  EXPECT_THAT(enqueue(2, "x"), ElementsAre("enqueued 2 existing"));
  EXPECT_THAT(enqueue(3, "y"), ElementsAre("enqueued 3"));
}

TEST_F(StoredKey, IsFoundOnceForDuplicatesThatComeTogether) {
  close_first("x");
  advance(2h);

  post(2, "x");
  post(3, "x");
  system_.run();

  EXPECT_THAT(take(producer_), ElementsAre("enqueued 2", "enqueued 3 existing"));
}

TEST_F(StoredKey, IsFreeWhenItsTaskHadToMakeRoom) {
  close_first("x");
  horizons_->evict_before(timestamp::max());
  std::atomic<bool> cancelled = false;
  for (const auto& range : {storage::all_outcomes(), storage::all_fates()})
    ASSERT_TRUE(store_->compact(range.begin, range.end, cancelled));

  EXPECT_THAT(enqueue(2, "x"), ElementsAre("enqueued 2"));
}

TEST_F(StoredKey, IsFoundWhileItsSegmentIsBeingClosed) {
  // The look-up begins in the turn that the snapshot ends.
  enqueue(1, "x");
  add_credits(worker_, 1);
  complete(worker_, 1, 1);
  advance(4900ms);
  caf::anon_send(shard_, shard_command{core::take_snapshot{}});
  post(2, "x");
  system_.run();

  EXPECT_THAT(take(producer_), ElementsAre("enqueued 2 existing"));
}

/// Decisions are not committed to the store yet.
class StoredKeyBeforeItsCommit : public StoredKey {
protected:
  void SetUp() override { begin(true); }
};

TEST_F(StoredKeyBeforeItsCommit, IsFoundBehindTheSnapshotThatClosesItsSegment) {
  enqueue(1, "x");
  add_credits(worker_, 1);
  commit_all();
  complete(worker_, 1, 1);
  advance(10s);
  post(2, "x");
  system_.run();

  commit_all();

  EXPECT_THAT(take(producer_), ElementsAre("enqueued 1", "enqueued 2 existing"));
}

} // namespace
} // namespace codeq::coordinator
