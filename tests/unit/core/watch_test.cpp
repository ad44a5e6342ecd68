// SPDX-License-Identifier: Apache-2.0
#include "support/shard_fixture.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace codeq::test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

/// A task leased by worker w, and the peers that watch it.
class Watch : public shard_fixture {
protected:
  void lease_one(duration lease = 10s) {
    enqueue("q", 1, {.settings = {.lease = lease}});
    attach("w", {"q"});
    claim("w", 1);
  }
};

TEST_F(Watch, ProgressIsToldToThoseWhoWatchAndToNobodyElse) {
  lease_one();
  watch("a", 1);
  await("b", {1});

  EXPECT_EQ(tell_progress("w", held(1, 1), 40, "halfway"), "a: 1 at 40% 'halfway' in attempt 1");
}

TEST_F(Watch, ProgressUnderAnotherTokenIsNotTold) {
  lease_one();
  watch("a", 1);

  EXPECT_EQ(tell_progress("w", held(1, 2), 40, "zombie"), "");
}

TEST_F(Watch, WatcherIsToldTheEndToo) {
  lease_one();
  watch("a", 1);

  EXPECT_THAT(complete("w", held(1, 1), "done"), HasSubstr("a: 1 is completed 'done'"));
  EXPECT_TRUE(state().watched.empty());
}

TEST_F(Watch, WatcherThatLeavesIsForgotten) {
  lease_one();
  watch("a", 1);

  detach("a");

  EXPECT_EQ(tell_progress("w", held(1, 1), 1, ""), "");
  EXPECT_TRUE(state().watched.empty());
}

TEST_F(Watch, WhoStopsAwaitingIsForgottenAndOthersAreTold) {
  lease_one();
  watch("a", 1);
  await("b", {1});

  stop_awaiting("a", {1, 2});
  stop_awaiting("nobody", {1});

  EXPECT_EQ(state().awaiting.size(), 1u);
  EXPECT_TRUE(state().watched.empty());
  auto told = complete("w", held(1, 1), "done");
  EXPECT_THAT(told, HasSubstr("b: 1 is completed 'done'"));
  EXPECT_THAT(told, Not(HasSubstr("a: 1 is")));
  EXPECT_TRUE(state().awaited.empty());
}

TEST_F(Watch, LeaseIsExtendedForAsLongAsItsHandlerAsks) {
  lease_one(10s);

  extend("w", held(1, 1), 60s);
  advance(59s);
  EXPECT_EQ(state_of(1), "leased");
  EXPECT_THAT(expire(held(1, 1)), HasSubstr("timer"));
  advance(1s);
  expire(held(1, 1));

  EXPECT_EQ(state_of(1), "ready");
}

TEST_F(Watch, ExtensionDoesNotOutliveTheRunTimeout) {
  enqueue("q", 1, {.settings = {.lease = 10s, .run_timeout = 20s}});
  attach("w", {"q"});
  claim("w", 1);

  extend("w", held(1, 1), 60s);
  advance(20s);
  expire(held(1, 1));

  EXPECT_NE(state_of(1), "leased");
}

TEST_F(Watch, WorkerThatChangesItsQueuesKeepsItsCredits) {
  attach("w", {"a", "b"});
  claim("w", 2);

  change_queues("w", {"b", "c"});

  EXPECT_THAT(enqueue("a"), Not(HasSubstr("got")));
  EXPECT_THAT(enqueue("b"), HasSubstr("w: got 2/t1"));
  EXPECT_THAT(enqueue("c"), HasSubstr("w: got 3/t2"));
}

TEST_F(Watch, CreditsMeetWhatWaitsInTheNewQueues) {
  enqueue("c");
  attach("w", {"a"});
  claim("w", 1);

  EXPECT_THAT(change_queues("w", {"a", "c"}), HasSubstr("w: got 1/t1"));
}

TEST_F(Watch, WorkerWithoutCreditsHearsOfWorkInTheNewQueues) {
  enqueue("c");
  attach("w", {"a"});

  EXPECT_THAT(change_queues("w", {"c"}), HasSubstr("w: work"));
}

} // namespace
} // namespace codeq::test
