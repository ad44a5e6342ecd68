// SPDX-License-Identifier: Apache-2.0
#include "support/shard_fixture.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace codeq::test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

class WorkerSession : public shard_fixture {
protected:
  /// Two tasks, leased to `w` as 1/t1 and 2/t2.
  void lease_two() {
    attach("w", {"q"});
    claim("w", 2);
    enqueue("q", 2, {.settings = {.lease = 10s}});
  }
};

TEST_F(WorkerSession, LostConnectionChangesNothing) {
  lease_two();

  EXPECT_EQ(detach("w"), "");

  EXPECT_EQ(state_of(1), "leased");
  EXPECT_TRUE(events().empty());
}

TEST_F(WorkerSession, ResumeWithAllHoldingsIsSilent) {
  lease_two();
  detach("w");
  attach("w", {"q"});

  EXPECT_EQ(resume("w", {held(1, 1), held(2, 2)}), "w: resumed");
}

TEST_F(WorkerSession, LeasesThatTheWorkerForgotAreDeliveredAgainUnderTheSameToken) {
  lease_two();
  detach("w");
  attach("w", {"q"});

  EXPECT_EQ(resume("w", {held(2, 2)}), "w: got again 1/t1; w: resumed");
  EXPECT_EQ(complete("w", held(1, 1)), "w: answered 1/t1 ok");
}

TEST_F(WorkerSession, HoldingsThatTheShardDoesNotKnowAreLost) {
  lease_two();

  EXPECT_EQ(resume("w", {held(1, 1), held(2, 2), held(2, 7)}), "w: lost 2/t7; w: resumed");
}

TEST_F(WorkerSession, LeasesOfAnotherWorkerAreLost) {
  lease_two();
  attach("b", {"q"});

  EXPECT_EQ(resume("b", {held(1, 1)}), "b: lost 1/t1; b: resumed");
  EXPECT_EQ(state_of(1), "leased");
}

TEST_F(WorkerSession, TasksGrantedSinceTheWorkerAttachedAreNotDeliveredAgain) {
  lease_two();
  restart();
  attach("w", {"q"});
  claim("w", 1);
  enqueue("q");

  // It resumes before the task that was just granted has arrived.
  EXPECT_EQ(resume("w", {}), "w: got again 1/t1 2/t2; w: resumed");
}

TEST_F(WorkerSession, SecondResumeDeliversNothingAgain) {
  lease_two();
  restart();
  attach("w", {"q"});
  resume("w", {});

  // It was sent before the tasks had arrived that the first one brings.
  EXPECT_EQ(resume("w", {}), "w: resumed");

  attach("w", {"q"});
  EXPECT_EQ(resume("w", {held(2, 2)}), "w: got again 1/t1; w: resumed");
}

TEST_F(WorkerSession, ResumeAfterARestartFindsTheLeases) {
  lease_two();
  restart();
  attach("w", {"q"});

  EXPECT_EQ(resume("w", {held(1, 1)}), "w: got again 2/t2; w: resumed");
}

TEST_F(WorkerSession, RedeliveryUsesNoCreditsAndTellsTheAttempt) {
  lease_two();
  nack("w", held(1, 1), 0s);
  claim("w", 1);
  attach("w", {"q"});
  claim("w", 1);

  EXPECT_EQ(resume("w", {}), "w: got again 2/t2 1/t3@2; w: resumed");
  EXPECT_EQ(enqueue("q"), "p: enqueued 3; w: got 3/t4");
}

TEST_F(WorkerSession, ResumeDeliversABoundedSizeAndGivesTheRestBackUncharged) {
  attach("w", {"q"});
  claim("w", 20);
  for (int i = 0; i < 20; ++i)
    enqueue("q", 1, {.body_size = 1u << 20});
  detach("w");
  attach("w", {"q"});

  auto said = resume("w", {});

  EXPECT_THAT(said, HasSubstr("w: got again 1/t1"));
  EXPECT_THAT(said, HasSubstr("w: resumed"));
  int kept = 0;
  for (sequence seq = 1; seq <= 20; ++seq) {
    bool is_kept = state_of(seq) == "leased";
    kept += is_kept ? 1 : 0;
    EXPECT_EQ(entry_of(seq).attempt, is_kept ? 1 : 0) << seq;
    EXPECT_EQ(is_kept, said.find(" " + std::to_string(seq) + "/t") != said.npos) << seq;
  }
  EXPECT_LE(kept, 8);
  EXPECT_GE(kept, 7);
}

TEST_F(WorkerSession, GoodbyeGivesBackAtOnceAndUncharged) {
  lease_two();

  together([&] {
    release("w");
    detach("w");
  });

  EXPECT_EQ(state_of(1), "ready");
  EXPECT_EQ(entry_of(1).attempt, 0);
  EXPECT_EQ(state_of(2), "ready");
}

TEST_F(WorkerSession, NewIncarnationEndsTheLeasesOfTheOldAsLost) {
  lease_two();
  beat("w", held(2, 2), true);

  replace("w");

  EXPECT_EQ(state_of(1), "ready");
  EXPECT_EQ(entry_of(1).last_end, core::lease_end_kind::expired);
  EXPECT_EQ(entry_of(1).attempt, 1);
  EXPECT_EQ(entry_of(2).attempt, 0) << "it was not started";
}

TEST_F(WorkerSession, NewIncarnationKeepsItsOwnLeases) {
  attach("w", {"q"});
  replace("w");
  attach("w", {"q"});
  claim("w", 1);
  enqueue("q");

  replace_again("w");

  EXPECT_EQ(state_of(1), "leased");
}

TEST_F(WorkerSession, NewIncarnationLeavesOtherWorkersAlone) {
  lease_two();
  attach("b", {"q"});

  replace("b");

  EXPECT_EQ(state_of(1), "leased");
}

class WorkerQueues : public shard_fixture {};

TEST_F(WorkerQueues, TakeNoneOfTheQueuesOfATenant) {
  for (std::size_t i = 0; i < 11; ++i) {
    std::vector<std::string> queues;
    for (std::size_t k = 0; k < 1000; ++k)
      queues.push_back("q" + std::to_string(i * 1000 + k));
    attach("w" + std::to_string(i), queues);
  }

  EXPECT_TRUE(state().queues.empty());
  EXPECT_EQ(enqueue("another", 1), "p: enqueued 1");
}

TEST_F(WorkerQueues, ChangeLeavesTheCredits) {
  attach("w", {"a", "b"});
  claim("w", 2);

  change_queues("w", {"b", "c"});

  EXPECT_THAT(enqueue("a"), Not(HasSubstr("got")));
  EXPECT_THAT(enqueue("b"), HasSubstr("w: got 2/t1"));
  EXPECT_THAT(enqueue("c"), HasSubstr("w: got 3/t2"));
}

TEST_F(WorkerQueues, CreditsMeetWhatWaitsInTheNewOnes) {
  enqueue("c");
  attach("w", {"a"});
  claim("w", 1);

  EXPECT_THAT(change_queues("w", {"a", "c"}), HasSubstr("w: got 1/t1"));
}

TEST_F(WorkerQueues, WorkerWithoutCreditsHearsOfWorkInTheNewOnes) {
  enqueue("c");
  attach("w", {"a"});

  EXPECT_THAT(change_queues("w", {"c"}), HasSubstr("w: work"));
}

} // namespace
} // namespace codeq::test
