// SPDX-License-Identifier: Apache-2.0
#include "support/queue_slots.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

/// Keys that are closed while other shards have permits of them.
namespace codeq::core {
namespace {

using namespace std::chrono_literals;

const limit_address closed_limit{"default", "api"};
const task_limit closed_use{"api", "k", 1};

/// Two tasks of one limit key may run at once. Another shard than its owner has them.
class ClosedLimitKeys : public QueueSlots {
protected:
  ClosedLimitKeys() {
    for (std::size_t i = 0; i < slot_shards; ++i)
      decide(i, set_limit{2, ++requests_, closed_limit, limit_definition{.concurrency = 2}});
    // Then the owner knows what the others have.
    for (auto shard : {holder(), other()}) {
      add_task(shard);
      pass(50ms);
      EXPECT_TRUE(complete_one(shard));
    }
    pass(50ms);
    limit_answers_.clear();
  }

  [[nodiscard]] static std::size_t key_owner() {
    return value(shard_of_limit_key("default", closed_use, slot_shards));
  }

  [[nodiscard]] static std::size_t holder() { return (key_owner() + 1) % slot_shards; }

  [[nodiscard]] static std::size_t other() { return (key_owner() + 2) % slot_shards; }

  void add_task(std::size_t shard) {
    enqueue_run run;
    run.queue = slot_queue;
    run.limits = {closed_use};
    run.settings.lease = 1h;
    run.tasks = test::encode_bodies(1, 8);
    const auto producer = make_producer_id(now_.shard, 0, nodes_[shard].epoch);
    decide(shard, enqueue{2, {producer, ++requests_, 0}, {std::move(run)}});
  }

  /// The shard gets one permit more while its worker is busy.
  void hold_permit() {
    const auto before = permits_of_holder();
    add_task(holder());
    decide(holder(), revoke_credits{slot_worker, slot_credits});
    pass(10ms);
    EXPECT_EQ(permits_of_holder(), before + 1);
  }

  [[nodiscard]] std::size_t permits_of_holder() {
    return nodes_[key_owner()].state->lent.of(nodes_[holder()].state->id).booked.size();
  }

  /// The worker becomes free; returns how many tasks of the shard it has then, and 50 ms later.
  std::pair<std::uint64_t, std::uint64_t> free_worker() {
    decide(holder(), claim{slot_worker, slot_credits});
    const auto at_once = leased(holder());
    pass(50ms);
    return {at_once, leased(holder())};
  }

  void close_key(duration wait) {
    decide(key_owner(), close_limit_key{2, ++requests_, closed_limit, closed_use.key, wait});
  }

  /// The first task that runs on the shard is limited.
  void report_limited(std::size_t shard) {
    auto& running = nodes_[shard].running;
    ASSERT_FALSE(running.empty());
    auto done = running.back();
    running.pop_back();
    done.how = disposition::limited;
    done.delay = 1h;
    decide(shard, report{slot_worker, {done}});
  }

  using two_counts = std::pair<std::uint64_t, std::uint64_t>;
};

TEST_F(ClosedLimitKeys, PermitIsSpentWhenAWorkerBecomesFree) {
  hold_permit();

  EXPECT_EQ(free_worker(), (two_counts{1, 1})) << "the key is open";
}

TEST_F(ClosedLimitKeys, OperatorIsAnsweredWhenOtherShardsHaveReturnedTheirPermits) {
  hold_permit();

  close_key(1h);

  EXPECT_TRUE(limit_answers_.empty());
  pass(10ms);
  ASSERT_EQ(limit_answers_.size(), 1u);
  EXPECT_TRUE(limit_answers_.front().allowed);
  EXPECT_EQ(limit_answers_.front().number, requests_);
  EXPECT_EQ(limit_answers_.front().keys.at(0).leased, 0u);
  EXPECT_EQ(free_worker(), (two_counts{0, 0}));
}

TEST_F(ClosedLimitKeys, TasksGoOnAfterTheEnd) {
  hold_permit();
  close_key(100ms);
  pass(10ms);
  EXPECT_EQ(free_worker(), (two_counts{0, 0}));

  pass(100ms);

  EXPECT_EQ(leased(holder()), 1u);
}

TEST_F(ClosedLimitKeys, OperatorIsAnsweredAtOnceWhenNoShardHasPermits) {
  close_key(1h);
  close_key(0s);

  EXPECT_EQ(limit_answers_.size(), 2u);
}

TEST_F(ClosedLimitKeys, OperatorWaitsForALostRecall) {
  hold_permit();
  close_key(1h);
  letters_.clear();

  pass(permit_recalls::say_again - 10ms);
  EXPECT_TRUE(limit_answers_.empty());
  pass(30ms);

  EXPECT_EQ(limit_answers_.size(), 1u);
}

TEST_F(ClosedLimitKeys, OperatorDoesNotWaitForeverForAShardThatIsSilent) {
  hold_permit();
  nodes_[holder()].is_reachable = false;
  close_key(1h);

  pass(permit_recalls::wait_max - 10ms);
  EXPECT_TRUE(limit_answers_.empty());
  pass(20ms);

  ASSERT_EQ(limit_answers_.size(), 1u);
  EXPECT_EQ(limit_answers_[0].allowed.error().code, errc::timeout);
  EXPECT_EQ(free_worker(), (two_counts{0, 0})) << "its permit has ended";
}

TEST_F(ClosedLimitKeys, ShardThatIsServedAnewHasNothingToReturn) {
  hold_permit();
  nodes_[holder()].is_reachable = false;
  close_key(1h);
  start(holder());
  nodes_[holder()].is_reachable = true;

  pass(100ms);

  EXPECT_EQ(limit_answers_.size(), 1u);
}

TEST_F(ClosedLimitKeys, TenantMayHaveSoManyClosesThatWait) {
  hold_permit();
  nodes_[holder()].is_reachable = false;
  for (std::size_t i = 0; i < permit_recalls::waiting_max; ++i)
    close_key(1h);
  EXPECT_TRUE(limit_answers_.empty());

  close_key(1h);

  ASSERT_EQ(limit_answers_.size(), 1u);
  EXPECT_EQ(limit_answers_.front().allowed.error().code, errc::overloaded);
}

TEST_F(ClosedLimitKeys, ReportStopsTheOtherTasksOfItsShardAtOnce) {
  add_task(holder());
  pass(50ms);
  hold_permit();

  report_limited(holder());

  EXPECT_EQ(free_worker(), (two_counts{0, 0}));
}

TEST_F(ClosedLimitKeys, ReportStopsTheTasksOfOtherShardsWhenTheyHearOfIt) {
  add_task(other());
  pass(50ms);
  hold_permit();

  report_limited(other());
  pass(10ms);

  EXPECT_EQ(free_worker(), (two_counts{0, 0}));
}

} // namespace
} // namespace codeq::core
