// SPDX-License-Identifier: Apache-2.0
#include "support/shard_fixture.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace codeq::test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

/// A task leased by worker w.
class leased_task : public shard_fixture {
protected:
  void lease_one(const task_settings& settings = {}) {
    attach("w", {"q"});
    claim("w", 1);
    enqueue("q", 1, {.settings = settings});
  }
};

class Watch : public leased_task {};

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

class Await : public leased_task {};

TEST_F(Await, WhoAwaitsATaskIsToldOfItsEnd) {
  lease_one();

  EXPECT_EQ(await("p", {1}), "");
  EXPECT_EQ(complete("w", held(1, 1), "done"), "p: 1 is completed 'done'; w: answered 1/t1 ok");
}

TEST_F(Await, WhoAwaitsAnEndedTaskIsToldAtOnce) {
  lease_one();
  complete("w", held(1, 1), "done");

  EXPECT_EQ(await("p", {1}), "p: 1 is completed");
}

TEST_F(Await, RetryIsNoEnd) {
  lease_one();
  await("p", {1});

  EXPECT_EQ(nack("w", held(1, 1), 1s), "w: answered 1/t1 ok");
}

TEST_F(Await, DeathIsAnEnd) {
  lease_one();
  await("p", {1});

  EXPECT_EQ(fail_permanently("w", held(1, 1)), "p: 1 is dead; w: answered 1/t1 ok");
}

TEST_F(Await, WhoAwaitsTwiceIsToldOnce) {
  lease_one();
  await("p", {1, 1});
  await("p", {1});

  EXPECT_EQ(complete("w", held(1, 1)), "p: 1 is completed; w: answered 1/t1 ok");
}

TEST_F(Await, WhoLeftIsNotTold) {
  lease_one();
  await("p", {1});
  await("o", {1});
  detach("p");

  EXPECT_EQ(complete("w", held(1, 1)), "o: 1 is completed; w: answered 1/t1 ok");
}

TEST_F(Await, TaskNotInMemoryIsLeftToTheStore) {
  EXPECT_EQ(await("p", {3}), "p: 3 is not here");
}

class Description : public leased_task {};

TEST_F(Description, NamesTheHolder) {
  lease_one();

  EXPECT_EQ(describe("o", 1), "o: 1 is leased by w");
}

TEST_F(Description, InTheTurnOfTheEndHasItsText) {
  lease_one();

  auto said = together([&] {
    complete("w", held(1, 1), "done");
    describe("o", 1);
  });

  EXPECT_EQ(said, "w: answered 1/t1 ok; o: 1 is completed 'done'");
}

} // namespace
} // namespace codeq::test
