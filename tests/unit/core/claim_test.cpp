// SPDX-License-Identifier: Apache-2.0
#include "base/tuning.hpp"
#include "support/shard_fixture.hpp"

#include <gtest/gtest.h>

namespace codeq::test {
namespace {

using namespace std::chrono_literals;

class Claim : public shard_fixture {};

TEST_F(Claim, HigherPriorityFirstThenEnqueueOrder) {
  enqueue("q", 2);
  enqueue("q", 2, {.priority = 9});
  enqueue("q", 1, {.priority = 5});
  attach("w", {"q"});

  EXPECT_EQ(claim("w", 5), "w: got 3/t1 4/t2 5/t3 1/t4 2/t5");
}

TEST_F(Claim, NeverExceedsItsCredits) {
  enqueue("q", 5);
  attach("w", {"q"});

  EXPECT_EQ(claim("w", 2), "w: got 1/t1 2/t2 and there is more");
  EXPECT_EQ(claim("w", 2), "w: got 3/t3 4/t4 and there is more");
}

TEST_F(Claim, ParkedCreditsAreMatchedInTheTurnThatEnqueues) {
  attach("w", {"q"});

  EXPECT_EQ(claim("w", 3), "w: parked");
  EXPECT_EQ(enqueue("q", 2), "p: enqueued 1 2; w: got 1/t1 2/t2");
  EXPECT_EQ(enqueue("q", 2), "p: enqueued 3 4; w: got 3/t3 and there is more");
}

TEST_F(Claim, QueueThatIsNamedTwiceIsServedFromTheCreditsOnce) {
  enqueue("q", 4);
  attach("w", {"q", "q"});

  EXPECT_EQ(claim("w", 2), "w: got 1/t1 2/t2 and there is more");
  EXPECT_EQ(state().attached.begin()->second.credits, 0u);

  change_queues("w", {"q", "q", "r"});

  EXPECT_EQ(claim("w", 1), "w: got 3/t3 and there is more");
  EXPECT_EQ(state().attached.begin()->second.queues.size(), 1u);
  EXPECT_EQ(state().attached.begin()->second.wanted.size(), 1u);
}

TEST_F(Claim, ClaimThatIsPartlyUsedIsParkedWithTheRest) {
  enqueue("q");
  attach("w", {"q"});

  EXPECT_EQ(claim("w", 2), "w: parked; w: got 1/t1");
}

TEST_F(Claim, CreatesNoQueue) {
  attach("w", {"q", "r", "r"});
  claim("w", 2);

  EXPECT_TRUE(state().queues.empty());
  EXPECT_EQ(enqueue("r", 2), "p: enqueued 1 2; w: got 1/t1 2/t2");
  EXPECT_EQ(state().queues.size(), 1u);
}

TEST_F(Claim, WorkerThatLeftWaitsForNoQueue) {
  attach("w", {"q", "r"});
  change_queues("w", {"r"});
  claim("w", 2);

  EXPECT_EQ(enqueue("q", 1), "p: enqueued 1");
  detach("w");
  EXPECT_EQ(enqueue("r", 1), "p: enqueued 2");
  EXPECT_TRUE(state().wanted_queues.empty());
}

TEST_F(Claim, GrantsWhileThereIsRoomForBytes) {
  enqueue("q", 4, {.body_size = 100});
  attach("w", {"q"});
  auto each = static_cast<std::int64_t>(state().segments.find(task(1))->body_bytes / 4);

  EXPECT_EQ(claim_within("w", 4, each + 1), "w: got 1/t1 2/t2 and there is more");
  EXPECT_EQ(claim_within("w", 0, each - 2), "w: work available");
  EXPECT_EQ(claim_within("w", 0, 2), "w: got 3/t3 and there is more");
  EXPECT_EQ(claim_within("w", 0, 2 * each), "w: got 4/t4");
}

TEST_F(Claim, WorkThatComesWhileThereIsNoRoomIsAnnounced) {
  enqueue("q", 1, {.body_size = 100});
  attach("w", {"q"});
  claim_within("w", 2, 1);

  EXPECT_EQ(enqueue("q", 1), "p: enqueued 2; w: work available");
  EXPECT_EQ(claim_within("w", 0, 1000), "w: got 2/t2");
}

TEST_F(Claim, RevokedCreditsAreNotUsed) {
  attach("w", {"q"});
  claim("w", 3);

  EXPECT_EQ(revoke("w", 2), "w: revoked 2");
  EXPECT_EQ(enqueue("q", 2), "p: enqueued 1 2; w: got 1/t1 and there is more");
}

TEST_F(Claim, NoMoreCreditsAreRevokedThanThereAre) {
  attach("w", {"q"});
  claim("w", 1);

  EXPECT_EQ(revoke("w", 5), "w: revoked 1");
}

TEST_F(Claim, CreditsGoWithTheSession) {
  attach("w", {"q"});
  claim("w", 3);

  detach("w");

  EXPECT_EQ(enqueue("q"), "p: enqueued 1");
}

TEST_F(Claim, OnlyQueuesOfTheWorkerAreGranted) {
  attach("w", {"q"});
  claim("w", 3);

  EXPECT_EQ(enqueue("r"), "p: enqueued 1");
}

TEST_F(Claim, LeastLoadedWorkerFirst) {
  attach("busy", {"q"});
  attach("idle", {"q"});
  claim("busy", 1);
  claim("idle", 4);

  EXPECT_EQ(enqueue("q"), "p: enqueued 1; idle: got 1/t1");
}

TEST_F(Claim, WorkIsSharedAmongWaitingWorkers) {
  attach("a", {"q"});
  attach("b", {"q"});
  claim("a", 4);
  claim("b", 4);

  EXPECT_EQ(enqueue("q", 4), "p: enqueued 1 2 3 4; a: got 1/t1 2/t2; b: got 3/t3 4/t4");
}

TEST_F(Claim, WhatOneWorkerCannotTakeGoesToAnother) {
  attach("a", {"q"});
  attach("b", {"q"});
  claim("a", 1);
  claim("b", 3);

  EXPECT_EQ(enqueue("q", 4), "p: enqueued 1 2 3 4; b: got 1/t1 2/t2 4/t4; a: got 3/t3");
}

TEST_F(Claim, WorkerWithOneCreditServesAllItsQueues) {
  enqueue("a", 3);
  enqueue("b", 3);
  enqueue("c", 3);
  attach("w", {"a", "b", "c"});
  auto complete_and_claim = [&](int number, int token) {
    return together([&] {
      complete("w", held(number, token));
      claim("w", 1);
    });
  };

  EXPECT_EQ(claim("w", 1), "w: got 1/t1 and there is more");
  EXPECT_EQ(complete_and_claim(1, 1), "w: answered 1/t1 ok; w: got 4/t2 and there is more");
  EXPECT_EQ(complete_and_claim(4, 2), "w: answered 4/t2 ok; w: got 7/t3 and there is more");
  EXPECT_EQ(complete_and_claim(7, 3), "w: answered 7/t3 ok; w: got 2/t4 and there is more");
}

TEST_F(Claim, QueueThatOthersStirDoesNotKeepAWorkerFromItsOwn) {
  enqueue("a", 3);
  enqueue("b", 3);
  attach("w", {"a", "b"});
  attach("v", {"c"});
  claim("w", 1);
  claim("v", 1);
  enqueue("c");

  EXPECT_EQ(
    together([&] {
      complete("w", held(1, 1));
      claim("w", 1);
    }),
    "w: answered 1/t1 ok; w: got 4/t3 and there is more");
}

TEST_F(Claim, WorkAvailableIsToldOnceUntilTheNextClaim) {
  attach("w", {"q"});

  EXPECT_EQ(enqueue("q"), "p: enqueued 1; w: work available");
  EXPECT_EQ(enqueue("q"), "p: enqueued 2");
  EXPECT_EQ(claim("w", 2), "w: got 1/t1 2/t2");
  EXPECT_EQ(enqueue("q"), "p: enqueued 3; w: work available");
}

TEST_F(Claim, ClaimersAreApartByWhatTheyWaitFor) {
  auto waiting_for = [&](core::claimer_need need) {
    return state().queues.front()->claimers.waiting_for(need).size();
  };
  enqueue("q");
  for (const auto* name : {"a", "b", "c"})
    attach(name, {"q"});
  EXPECT_EQ(waiting_for(core::claimer_need::nothing), 3u);

  EXPECT_EQ(claim("a", 2), "a: parked; a: got 1/t1");
  EXPECT_EQ(claim("b", 0), "");
  EXPECT_EQ(waiting_for(core::claimer_need::tasks), 1u);
  EXPECT_EQ(waiting_for(core::claimer_need::news), 1u);
  EXPECT_EQ(waiting_for(core::claimer_need::nothing), 1u);

  EXPECT_EQ(enqueue("q", 2), "p: enqueued 2 3; b: work available; a: got 2/t2 and there is more");
  EXPECT_EQ(waiting_for(core::claimer_need::nothing), 3u);

  change_queues("c", {"r"});
  detach("b");
  EXPECT_EQ(state().queues.front()->claimers.size(), 1u);
}

TEST_F(Claim, AttachingWorkerHearsOfWaitingWork) {
  enqueue("q");

  EXPECT_EQ(attach("w", {"q"}), "w: work available");
}

TEST_F(Claim, TokensAscendStrictlyAlsoOverARestart) {
  enqueue("q", 3);
  attach("w", {"q"});
  claim("w", 2);

  restart();
  attach("w", {"q"});

  EXPECT_EQ(claim("w", 1), "w: got 3/t2.1");
}

TEST_F(Claim, CountersNeverReachTheNextEpochOrTheSign) {
  constexpr auto last = core::first_of_epoch(tuning::epoch_max) - 1 + tuning::token_counter_max;
  static_assert(last < std::uint64_t{1} << 63);
  enqueue("q", 2);
  attach("w", {"q"});
  state().tokens.next = core::first_of_epoch(2) - 3;

  EXPECT_EQ(claim("w", 1).substr(0, 7), "w: got ");
  EXPECT_DEATH(claim("w", 1), "");
}

TEST_F(Claim, WishedLeaseWinsOverTheTasksWithinTheLimits) {
  enqueue("q", 3, {.settings = {.lease = 30s}});
  attach("w", {"q"});
  claim("w", 1);
  claim("w", 1, 5s);
  claim("w", 1, 1ms);

  auto granted_for = [&](int task, int token) {
    auto* l = state().leases.find(held(task, token).token);
    return l->deadline - state().steady;
  };
  EXPECT_EQ(granted_for(1, 1), 30s);
  EXPECT_EQ(granted_for(2, 2), 5s);
  EXPECT_EQ(granted_for(3, 3), 1s);
}

TEST_F(Claim, GrantOfManyBytesIsSplitAtItsLimit) {
  for (int i = 0; i < 40; ++i)
    enqueue("q", 1, {.body_size = tuning::segment_bytes_max});
  attach("w", {"q"});

  auto said = claim("w", 40);

  EXPECT_NE(said.find("; w: got 33/t33"), std::string::npos) << said;
}

TEST_F(Claim, TasksAreGrantedTogetherAsFarAsTheWorkerWishes) {
  for (int i = 0; i < 5; ++i)
    enqueue("q");
  attach("w", {"q"});

  EXPECT_EQ(claim("w", 5, {}, 2), "w: got 1/t1 2/t2; w: got 3/t3 4/t4; w: got 5/t5");
}

} // namespace
} // namespace codeq::test
