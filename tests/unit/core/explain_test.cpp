// SPDX-License-Identifier: Apache-2.0
#include "support/shard_fixture.hpp"

#include <gtest/gtest.h>

namespace codeq::test {
namespace {

using namespace std::chrono_literals;

class Explain : public shard_fixture {
protected:
  /// One task, leased to `w` as 1/t1.
  void lease_one(const task_settings& settings = {}) {
    attach("w", {"q"});
    claim("w", 1);
    enqueue("q", 1, {.settings = settings});
  }
};

TEST_F(Explain, DeferredTaskWaitsForItsProducersTime) {
  enqueue("q", 1, {.delay = 1h});

  EXPECT_EQ(explain(1), "o: 1 deferred until 3600000");
}

TEST_F(Explain, FailedTaskWaitsForItsRetry) {
  lease_one({.retry = {retry_kind::fixed, 7s, 7s}});
  advance(1s);
  fail("w", held(1, 1));

  EXPECT_EQ(explain(1), "o: 1 retry waiting until 8000");
}

TEST_F(Explain, TaskOfAGroupIsBehindTheOneThatIsOpen) {
  enqueue("q", 1, {.delay = 1h, .group = "g"});
  enqueue("q", 1, {.delay = 2h, .group = "g"});
  enqueue("q", 1, {.group = "g"});

  EXPECT_EQ(explain(1), "o: 1 deferred until 3600000");
  EXPECT_EQ(explain(2), "o: 2 gated behind 1 scheduled until 7200000");
  EXPECT_EQ(explain(3), "o: 3 gated behind 1 scheduled");
}

TEST_F(Explain, TaskOfAGroupIsBlockedByADeadOne) {
  attach("w", {"q"});
  claim("w", 1);
  enqueue("q", 2, {.settings = {.when_dead = on_dead::block}, .group = "g"});
  EXPECT_EQ(explain(2), "o: 2 gated behind 1 leased");
  fail_permanently("w", held(1, 1));

  EXPECT_EQ(explain(2), "o: 2 blocked behind 1 dead");
}

TEST_F(Explain, PausedQueueHoldsAReadyTask) {
  lease_one();
  enqueue("q");
  pause("q");

  EXPECT_EQ(explain(2), "o: 2 queue paused");
}

TEST_F(Explain, QueueWithoutWorkersHoldsAReadyTask) {
  attach("w", {"other"});
  enqueue("q");

  EXPECT_EQ(explain(1), "o: 1 no worker");
}

TEST_F(Explain, QueueAtItsLimitHoldsAReadyTask) {
  configure("q", {.max_leased = 1});
  lease_one();
  claim("w", 1);
  enqueue("q");

  EXPECT_EQ(explain(2), "o: 2 queue at max leased");
}

TEST_F(Explain, BusyWorkersHoldAReadyTask) {
  lease_one();
  enqueue("q");

  EXPECT_EQ(explain(2), "o: 2 no free slots");
}

TEST_F(Explain, TaskThatMeetsAFreeWorkerIsNext) {
  attach("w", {"q"});
  claim("w", 1);

  auto said = together([&] {
    enqueue("q");
    explain(1);
  });

  EXPECT_EQ(said, "p: enqueued 1; o: 1 next; w: got 1/t1");
}

TEST_F(Explain, TaskWhoseTimeHasComeIsNext) {
  attach("w", {"q"});
  claim("w", 1);
  enqueue("q", 1, {.delay = 1s});

  auto said = together([&] {
    advance(1s);
    explain(1);
  });

  EXPECT_EQ(said, "o: 1 next; w: got 1/t1");
}

TEST_F(Explain, LeasedTaskIsAtAWorkerForSoLong) {
  lease_one({.lease = 20s});
  advance(5s);

  EXPECT_EQ(explain(1), "o: 1 leased by w for 15000");
  beat("w", held(1, 1));
  EXPECT_EQ(explain(1), "o: 1 leased by w for 20000");
  advance(30s);
  EXPECT_EQ(explain(1), "o: 1 leased by w for 0");
}

TEST_F(Explain, LeasedTaskWaitsAtItsWorkerUntilAHeartbeatSaysThatItRuns) {
  lease_one({.lease = 20s});
  beat("w", held(1, 1), true);
  EXPECT_EQ(explain(1), "o: 1 leased and waits, by w for 20000");

  beat("w", held(1, 1));

  EXPECT_EQ(explain(1), "o: 1 leased by w for 20000");
}

TEST_F(Explain, CompletedTaskIsSaidToBe) {
  lease_one();
  complete("w", held(1, 1));

  EXPECT_EQ(explain(1), "o: 1 completed");
}

TEST_F(Explain, DeadTaskIsSaidToBe) {
  lease_one();
  fail_permanently("w", held(1, 1));

  EXPECT_EQ(explain(1), "o: 1 dead");
}

TEST_F(Explain, CancelledTaskIsSaidToBe) {
  enqueue("q", 1, {.delay = 1h});
  cancel(1);

  EXPECT_EQ(explain(1), "o: 1 cancelled");
}

TEST_F(Explain, TaskThatLeftTheMemoryIsLookedForOnDisk) {
  lease_one();
  complete("w", held(1, 1));
  take_snapshot();

  EXPECT_EQ(explain(1), "o: 1 is not here");
}

} // namespace
} // namespace codeq::test
