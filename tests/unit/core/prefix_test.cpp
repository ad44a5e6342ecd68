// SPDX-License-Identifier: Apache-2.0
#include "support/shard_fixture.hpp"

#include <gtest/gtest.h>

namespace codeq::test {
namespace {

using namespace std::chrono_literals;

/// Workers that claim from all queues whose names begin with a prefix. The fixture checks the
/// invariants of the claims at the end of each test.
class Prefix : public shard_fixture {};

TEST_F(Prefix, QueuesThatExistAndThoseThatComeLaterAreServed) {
  enqueue("print-a3");
  enqueue("mail");
  attach("w", {"print-*"});

  EXPECT_EQ(claim("w", 2), "w: parked; w: got 1/t1");
  EXPECT_EQ(enqueue("print-a4"), "p: enqueued 3; w: got 3/t2");
  EXPECT_EQ(enqueue("printer"), "p: enqueued 4");
}

TEST_F(Prefix, EmptyOneMatchesEveryQueueOfItsTenant) {
  attach("w", {"*"});
  claim("w", 9);

  EXPECT_EQ(enqueue("a"), "p: enqueued 1; w: got 1/t1");
  EXPECT_EQ(enqueue("b", 1, {.tenant = "other"}), "p: enqueued 2");
}

TEST_F(Prefix, QueueThatANameAndPrefixesMatchIsServedFromTheCreditsOnce) {
  attach("w", {"print-a4", "print-*", "*"});
  claim("w", 2);

  EXPECT_EQ(enqueue("print-a4", 3), "p: enqueued 1 2 3; w: got 1/t1 2/t2 and there is more");
}

TEST_F(Prefix, WorkerWithFewCreditsServesTheQueueThatWaitsForTheLongestTime) {
  for (const char* queue : {"q-1", "q-2", "q-3"})
    enqueue(queue, 2);
  attach("w", {"q-*"});

  EXPECT_EQ(claim("w", 1), "w: got 1/t1 and there is more");
  EXPECT_EQ(claim("w", 1), "w: got 3/t2 and there is more");
  EXPECT_EQ(claim("w", 1), "w: got 5/t3 and there is more");
  EXPECT_EQ(claim("w", 3), "w: got 2/t4 4/t5 6/t6");
}

TEST_F(Prefix, CreditsThatAnotherWorkerLeavesGoToOtherQueues) {
  attach("v", {"q-1"});
  claim("v", 5);
  attach("w", {"q-*"});
  EXPECT_EQ(enqueue("q-2"), "p: enqueued 1; w: work available");

  auto said = together([&] {
    enqueue("q-1");
    enqueue("q-3");
    claim("w", 3);
  });

  EXPECT_NE(said.find("w: parked"), std::string::npos) << said;
  EXPECT_EQ(state().leases.size(), 3u) << said;
}

TEST_F(Prefix, WorkerWhoseFirstChoiceAnotherOneGotIsServedFromTheNextQueue) {
  enqueue("q-1");
  enqueue("q-2");
  attach("v", {"q-1*"});
  attach("w", {"q-*"});

  auto said = together([&] {
    claim("v", 5);
    claim("w", 1);
  });

  EXPECT_NE(said.find("w: got 2/"), std::string::npos) << said;
}

TEST_F(Prefix, PausedQueueHoldsUpNoOther) {
  enqueue("q-1");
  enqueue("q-2");
  pause("q-1");
  attach("w", {"q-*"});

  EXPECT_EQ(claim("w", 2), "w: parked; w: got 2/t1");
  EXPECT_EQ(unpause("q-1").find("w: got 1/t2") != std::string::npos, true);
}

TEST_F(Prefix, QueueThatIsLeftOutIsNotGranted) {
  attach("w", {"q-*"});
  claim("w", 5);

  change_queues("w", {"q-*"}, {"q-1"});
  EXPECT_EQ(enqueue("q-1"), "p: enqueued 1");
  EXPECT_EQ(enqueue("q-2"), "p: enqueued 2; w: got 2/t1");

  EXPECT_EQ(change_queues("w", {"q-*"}).find("w: got 1/t2") != std::string::npos, true);
}

TEST_F(Prefix, LastWorkerThatLeavesRemovesIt) {
  enqueue("q-1");
  attach("v", {"q-*"});
  attach("w", {"q-*", "r"});
  EXPECT_EQ(state().queues.front()->prefixes.size(), 1u);

  change_queues("w", {"r"});
  EXPECT_EQ(state().prefixes.size(), 1u);
  detach("v");

  EXPECT_TRUE(state().prefixes.empty());
  EXPECT_TRUE(state().queues.front()->prefixes.empty());
  EXPECT_EQ(claim("w", 1), "w: parked");
}

TEST_F(Prefix, WorkThatComesWithoutCreditsIsAnnounced) {
  attach("w", {"q-*"});

  EXPECT_EQ(enqueue("q-1"), "p: enqueued 1; w: work available");
  EXPECT_EQ(claim("w", 1), "w: got 1/t1");
}

TEST_F(Prefix, WorkerCountsForWhyATaskWaits) {
  enqueue("q-1");
  auto without = explain(1);
  attach("w", {"q-*"});

  EXPECT_NE(explain(1), without);
}

TEST_F(Prefix, RemovedQueueIsServedAgainWhenItComesBack) {
  attach("w", {"q-*"});
  claim("w", 2);
  enqueue("q-1");
  complete("w", held(1, 1));
  take_snapshot();
  advance(limits::retention_completed_default);
  take_snapshot();
  EXPECT_EQ(state().find_queue({"default", "q-1"}), nullptr);

  auto said = enqueue("q-1", 1, {.session = make_producer_id(now(), 7, 7)});
  EXPECT_NE(said.find("w: got"), std::string::npos) << said;
}

TEST_F(Prefix, TenThousandQueuesCostAClaimNoMoreThanItsCredits) {
  attach("w", {"*"});
  for (int i = 0; i < 10'000; ++i)
    enqueue("q-" + std::to_string(i));

  EXPECT_EQ(claim("w", 3), "w: got 1/t1 2/t2 3/t3 and there is more");
  EXPECT_TRUE(state().stirred.empty());
  EXPECT_EQ(state().attached.begin()->second.queues.size(), 0u);
}

} // namespace
} // namespace codeq::test
