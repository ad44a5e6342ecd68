// SPDX-License-Identifier: Apache-2.0
#include "codeq/actor_handler.hpp"
#include "codeq/testing.hpp"

#include <caf/all.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

namespace codeq::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using kind = disposition;

/// Handlers that a test adds, and a testbed that runs them.
class Testbed : public ::testing::Test {
protected:
  /// Handles queue `q` with a function that counts its calls.
  void handle(handler_function function) {
    handlers.handle("q", [this, function](const task& attempt) {
      ++calls;
      return function(attempt);
    });
  }

  testbed& bed() {
    if (!bed_)
      bed_.emplace(handlers);
    return *bed_;
  }

  task_id enqueue(task_spec spec = {.queue = "q", .payload = {}}) {
    return bed().enqueue(spec).value().id;
  }

  task_status status(task_id task) { return bed().status(task).value(); }

  handler_registry handlers;
  int calls = 0;

private:
  std::optional<testbed> bed_;
};

TEST_F(Testbed, HandlerRunsAtOnceAndItsResultIsStored) {
  handle([](const task& attempt) {
    return outcome::completed("got " + std::string(attempt.payload.view()));
  });

  auto task = enqueue({.queue = "q", .payload = "it"});

  EXPECT_EQ(status(task).state, task_state::completed);
  EXPECT_EQ(status(task).result, "got it");
}

TEST_F(Testbed, QueueWithoutAHandlerIsNamedOnceWithTheRegisteredOnes) {
  handle([](const task&) { return outcome::completed(); });
  handlers.handle("mail-*", [](const task&) { return outcome::completed(); });
  bed();

  ::testing::internal::CaptureStderr();
  auto task = enqueue({.queue = "helo", .payload = {}});
  enqueue({.queue = "helo", .payload = {}});
  enqueue({.queue = "mail-a", .payload = {}});
  auto said = ::testing::internal::GetCapturedStderr();

  EXPECT_EQ(status(task).state, task_state::ready);
  EXPECT_THAT(said, HasSubstr("queue=helo registered=\"mail-*, q\"\n"));
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
}

TEST_F(Testbed, TaskOfAnotherTenantStaysReadyAndIsNamed) {
  handle([](const task&) { return outcome::completed(); });
  bed();

  ::testing::internal::CaptureStderr();
  auto task = enqueue({.tenant = "shop", .queue = "q", .payload = {}});
  auto said = ::testing::internal::GetCapturedStderr();
  bed().advance(1min);

  EXPECT_EQ(status(task).state, task_state::ready);
  EXPECT_THAT(said, HasSubstr("tenant=shop queue=q runs=default\n"));
}

TEST_F(Testbed, RunsTheTasksOfItsTenant) {
  handle([](const task& attempt) { return outcome::completed(attempt.tenant); });
  testbed shop(handlers, {.tenant = "shop"});
  ASSERT_TRUE(shop.set_limit("stripe", {.concurrency = 1}));

  task_spec spec{.tenant = "shop", .queue = "q", .payload = {}, .limits = {{.name = "stripe"}}};

  ::testing::internal::CaptureStderr();
  auto named = shop.enqueue(spec);
  spec.tenant.clear();
  auto unnamed = shop.enqueue(spec);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");

  EXPECT_EQ(shop.status(named.value().id).value().result, "shop");
  EXPECT_EQ(shop.status(unnamed.value().id).value().result, "shop");
}

TEST_F(Testbed, RefusedTaskSaysNothingOfHandlers) {
  handle([](const task&) { return outcome::completed(); });
  bed();

  ::testing::internal::CaptureStderr();
  EXPECT_FALSE(bed().enqueue({.queue = "no such", .payload = {}}));

  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

TEST_F(Testbed, ClockBeginsWhenTheTestSaysSo) {
  timestamp begin{std::chrono::sys_days(std::chrono::year(2031) / 3 / 30).time_since_epoch()};
  handle([](const task&) { return outcome::completed(); });

  testbed spring(handlers, {.start = begin});
  auto task = spring.enqueue({.queue = "q", .payload = {}}).value();

  EXPECT_EQ(spring.now(), begin);
  EXPECT_EQ(spring.status(task.id).value().enqueued_at, begin);
  EXPECT_EQ(bed().now(), testbed_options().start);
}

TEST_F(Testbed, BadOptionsAreAnException) {
  EXPECT_THAT(
    [this] { testbed(handlers, {.tenant = "no such"}); },
    ::testing::ThrowsMessage<std::invalid_argument>(HasSubstr("tenant is `no such`")));
  EXPECT_THAT(
    [this] { testbed(handlers, {.start = timestamp{}}); },
    ::testing::ThrowsMessage<std::invalid_argument>(HasSubstr("start is 0 ms since 1970")));
}

TEST_F(Testbed, FailureIsRetriedByItsPolicyUntilTheTaskIsDead) {
  handle([](const task&) { return outcome::failed("no"); });
  task_spec spec{.queue = "q", .payload = {}, .max_attempts = 3};
  spec.retry = retry_policy{retry_kind::fixed, 10s, 10s};

  auto task = enqueue(spec);
  bed().advance(9s);
  EXPECT_EQ(calls, 1);
  bed().advance(1s);
  EXPECT_EQ(calls, 2);
  bed().advance(1h);

  EXPECT_EQ(calls, 3);
  EXPECT_EQ(status(task).state, task_state::dead);
  EXPECT_EQ(status(task).error_text, "no");
}

TEST_F(Testbed, DelayIsNeverCutShort) {
  handle([](const task&) { return outcome::completed(); });

  enqueue({.queue = "q", .payload = {}, .delay = 1h});
  bed().advance(1h - 1ms);
  EXPECT_EQ(calls, 0);
  bed().advance(1ms);

  EXPECT_EQ(calls, 1);
}

TEST_F(Testbed, ExceptionIsAFailureWithItsText) {
  handle([](const task&) -> outcome { throw std::runtime_error("oh"); });

  auto task = enqueue();

  EXPECT_EQ(status(task).error_text, "exception: oh");
}

TEST_F(Testbed, FollowUpsAreTasksOfTheirQueue) {
  handle(
    [](const task&) { return outcome::completed().then({.queue = "later", .payload = "next"}); });

  enqueue();

  ASSERT_EQ(bed().tasks("later").size(), 1u);
  EXPECT_EQ(bed().tasks("later").front().state, task_state::ready);
}

TEST_F(Testbed, FollowUpOutOfBoundsFailsTheAttempt) {
  handle([](const task&) {
    return outcome::completed().then({.queue = "later", .payload = {}, .priority = 10});
  });

  auto task = enqueue();

  EXPECT_THAT(status(task).error_text, HasSubstr("priority is 10"));
  EXPECT_TRUE(bed().tasks("later").empty());
}

TEST_F(Testbed, TaskOutOfBoundsIsRefusedAsAProducerWouldBe) {
  handle([](const task&) { return outcome::completed(); });

  auto refused = bed().enqueue({.queue = "q", .payload = {}, .priority = 10});

  EXPECT_THAT(refused.error().context, HasSubstr("priority is 10"));
}

TEST_F(Testbed, TasksAreAddedAfterDaysWithoutOne) {
  handle([](const task&) { return outcome::completed(); });

  bed().advance(48h);
  enqueue();
  bed().advance(25h);
  enqueue();
  enqueue();

  EXPECT_EQ(calls, 3);
}

TEST_F(Testbed, LostLeaseIsDeliveredAgainUnderALaterTokenAndTheZombieIsRefused) {
  handle([](const task& attempt) { return outcome::completed(std::to_string(attempt.attempt)); });
  bed().inject("q", mishap::lost_lease);

  auto task = enqueue();

  const auto& attempts = bed().attempts();
  ASSERT_EQ(attempts.size(), 2u);
  EXPECT_FALSE(attempts[0].accepted);
  EXPECT_TRUE(attempts[1].accepted);
  EXPECT_LT(attempts[0].token, attempts[1].token);
  EXPECT_EQ(status(task).result, "2");
}

TEST_F(Testbed, CrashIsChargedAndTheTaskIsRunByTheNextProcess) {
  handle([](const task& attempt) { return outcome::completed(std::to_string(attempt.attempt)); });
  bed().inject("q", mishap::crash);

  auto task = enqueue();

  EXPECT_EQ(calls, 2);
  EXPECT_EQ(status(task).result, "2");
}

TEST_F(Testbed, HandlerThatCrashesItsNodeAlwaysEndsDead) {
  handle([](const task&) { return outcome::completed(); });
  for (int i = 0; i < 3; ++i)
    bed().inject("q", mishap::crash);

  auto task = enqueue({.queue = "q", .payload = {}, .max_attempts = 3});
  bed().advance(1h);

  EXPECT_EQ(status(task).state, task_state::dead);
  EXPECT_THAT(status(task).error_text, HasSubstr("lease_expired"));
}

TEST_F(Testbed, CancelledHandlerIsToldAndItsTaskIsCancelled) {
  handle([](const task& attempt) {
    return attempt.cancel->requested() ? outcome::failed("stopped") : outcome::completed();
  });
  bed().inject("q", mishap::cancel);

  auto task = enqueue();

  EXPECT_EQ(status(task).state, task_state::cancelled);
}

TEST_F(Testbed, BatchTakesTasksTogether) {
  std::vector<std::size_t> sizes;
  handlers.handle_batch("b", 4, [&](std::span<const task> tasks) {
    sizes.push_back(tasks.size());
    return std::vector<outcome>(tasks.size(), outcome::completed());
  });
  for (int i = 0; i < 3; ++i)
    enqueue({.queue = "b", .payload = {}, .delay = 1s});

  bed().advance(1s);

  EXPECT_THAT(sizes, ElementsAre(3));
}

/// Never answers.
handler_actor::behavior_type stay_silent(handler_actor::pointer self) {
  return {
    [self](const task&) -> caf::result<outcome> { return self->make_response_promise<outcome>(); }};
}

TEST_F(Testbed, ActorThatNeverAnswersKeepsItsLeaseUntilItsRunTimeout) {
  handlers.handle_actor("slow", stay_silent);

  auto task =
    enqueue({.queue = "slow", .payload = {}, .max_attempts = 1, .lease = 1s, .run_timeout = 1min});
  bed().advance(59s);
  EXPECT_EQ(status(task).state, task_state::leased);
  bed().advance(1s);

  EXPECT_EQ(status(task).state, task_state::dead);
  EXPECT_THAT(status(task).error_text, HasSubstr("run_timeout"));
}

TEST_F(Testbed, RunTimeoutEndsAnAttemptToTheMillisecond) {
  handlers.handle_actor("slow", stay_silent);

  auto task = enqueue({.queue = "slow", .payload = {}, .max_attempts = 1, .run_timeout = 12'345ms});
  bed().advance(12'344ms);
  EXPECT_EQ(status(task).state, task_state::leased);
  bed().advance(1ms);

  EXPECT_EQ(status(task).state, task_state::dead);
}

TEST_F(Testbed, EndOfAnActorFailsItsAttempt) {
  handlers.handle_actor("q", [](handler_actor::pointer self) -> handler_actor::behavior_type {
    return {[self](const task&) -> caf::result<outcome> {
      self->quit(caf::exit_reason::user_shutdown);
      return self->make_response_promise<outcome>();
    }};
  });

  auto task = enqueue({.queue = "q", .payload = {}, .max_attempts = 2});
  bed().advance(1h);

  EXPECT_EQ(status(task).state, task_state::dead);
  EXPECT_EQ(bed().attempts().size(), 2u);
  EXPECT_THAT(status(task).error_text, HasSubstr("handler actor ended"));
}

TEST_F(Testbed, ErrorThatAnActorAnswersFailsItsAttempt) {
  handlers.handle_actor("q", [](handler_actor::pointer) -> handler_actor::behavior_type {
    return {[](const task&) -> caf::result<outcome> {
      return caf::make_error(caf::sec::runtime_error, std::string("no such image"));
    }};
  });

  auto task = enqueue({.queue = "q", .payload = {}, .max_attempts = 2});
  bed().advance(1h);

  EXPECT_EQ(status(task).state, task_state::dead);
  EXPECT_EQ(bed().attempts().size(), 2u);
  EXPECT_EQ(status(task).error_text, "handler actor answered with an error: no such image");
}

/// Reports progress and saves a checkpoint, and never answers.
handler_actor::behavior_type save_and_wait(handler_actor::pointer self) {
  return {[self](const task& attempt) -> caf::result<outcome> {
    attempt.progress(50, "half");
    attempt.save_checkpoint("50");
    return self->make_response_promise<outcome>();
  }};
}

TEST_F(Testbed, AttemptShowsWhatItsHandlerSaidWhileItRunsAndAfterACrash) {
  handlers.handle_actor("q", save_and_wait);
  enqueue();

  EXPECT_THAT(
    bed().attempts().front().said.progress, ElementsAre(std::pair(50, std::string("half"))));
  bed().crash();

  EXPECT_EQ(bed().attempts().size(), 2u);
  EXPECT_THAT(bed().attempts().front().said.checkpoints, ElementsAre("50"));
}

TEST_F(Testbed, HandlersThatANodeRefusesAreAnException) {
  handle([](const task&) { return outcome::completed(); });
  handle([](const task&) { return outcome::completed(); });

  EXPECT_THAT(
    [this] { bed(); },
    ::testing::ThrowsMessage<std::invalid_argument>(
      HasSubstr("queue `q` has two handlers, both from this process; it must have one")));
}

TEST_F(Testbed, HandlersOfEveryIsolationRunInTheTest) {
  handlers.handle(
    "q", [](const task&) { return outcome::completed("here"); }, {.run_in = isolation::process});

  EXPECT_EQ(status(enqueue()).result, "here");
}

TEST(TestNames, StatesAndIdsAreShownByName) {
  using ::testing::PrintToString;

  EXPECT_EQ(PrintToString(task_state::scheduled), "scheduled");
  EXPECT_EQ(PrintToString(enqueue_kind::existing), "existing");
  EXPECT_EQ(PrintToString(disposition::failed_permanently), "failed_permanently");
  EXPECT_EQ(PrintToString(task_id{}), to_string(task_id{}));
}

TEST_F(Testbed, QueueRunsNoMoreTasksTogetherThanItsOptionsSay) {
  handlers.handle_actor("slow", stay_silent, {.slots = 1});

  enqueue({.queue = "slow", .payload = {}});
  enqueue({.queue = "slow", .payload = {}});

  EXPECT_EQ(bed().attempts().size(), 1u);
}

TEST_F(Testbed, EndedTaskIsKnownAfterItsRetention) {
  handle([](const task&) { return outcome::completed("kept"); });

  auto task = enqueue({.queue = "q", .payload = {}, .retention = 1h, .group = "g", .key = "k"});
  bed().advance(30 * 24h);

  EXPECT_EQ(status(task).result, "kept");
  EXPECT_EQ(status(task).group, "g");
  EXPECT_EQ(status(task).key, "k");
}

TEST_F(Testbed, KeyIsFreeWhenItsRetentionIsOver) {
  handle([](const task&) { return outcome::completed("kept"); });
  task_spec spec{.queue = "q", .payload = {}, .retention = 24h, .key = "k"};
  auto first = enqueue(spec);

  bed().advance(24h - 1ms);
  auto early = bed().enqueue(spec).value();
  EXPECT_EQ(early.kind, enqueue_kind::existing);
  EXPECT_EQ(early.id, first);
  bed().advance(1ms);
  auto late = bed().enqueue(spec).value();

  EXPECT_EQ(late.kind, enqueue_kind::created);
  EXPECT_NE(late.id, first);
  EXPECT_EQ(status(first).result, "kept");
  EXPECT_EQ(status(first).key, "k");
}

TEST_F(Testbed, ActorsLeaseCanBeLostAndItsNodeCanCrash) {
  handlers.handle_actor("slow", stay_silent);
  auto task = enqueue({.queue = "slow", .payload = {}});

  EXPECT_TRUE(bed().lose_lease(task));
  EXPECT_EQ(status(task).attempt, 2u);
  bed().crash();
  // From the second loss in a row on, the retry delay applies.
  EXPECT_EQ(status(task).state, task_state::scheduled);
  bed().advance(1min);

  EXPECT_EQ(bed().attempts().size(), 3u);
  EXPECT_EQ(status(task).state, task_state::leased);
}

TEST_F(Testbed, OrderlyRestartChargesNothing) {
  handlers.handle_actor("slow", stay_silent);
  auto task = enqueue({.queue = "slow", .payload = {}});

  bed().restart_worker();

  EXPECT_EQ(status(task).attempt, 1u);
  EXPECT_EQ(bed().attempts().size(), 2u);
}

TEST_F(Testbed, RunningTaskCanBeCancelled) {
  handlers.handle_actor("slow", stay_silent);
  auto task = enqueue({.queue = "slow", .payload = {}});

  EXPECT_TRUE(bed().cancel(task));
  bed().advance(1min);

  EXPECT_EQ(status(task).state, task_state::cancelled);
}

TEST(RunOnce, TellsWhatTheHandlerSaid) {
  auto ran = run_once(
    [](const task& attempt) {
      attempt.progress(50, "half");
      attempt.log("a line");
      attempt.extend(5min);
      return outcome::completed(std::to_string(attempt.attempt));
    },
    {.queue = "q", .payload = {}},
    {.attempt = 3});

  EXPECT_EQ(ran.outcome.text(), "3");
  EXPECT_THAT(ran.said.progress, ElementsAre(std::pair(50, std::string("half"))));
  EXPECT_THAT(ran.said.log, ElementsAre("a line"));
  EXPECT_THAT(ran.said.extensions, ElementsAre(duration(5min)));
}

TEST(RunOnce, WrongPercentIsAnException) {
  auto ran = run_once(
    [](const task& attempt) {
      attempt.progress(101);
      return outcome::completed();
    },
    {.queue = "q", .payload = {}});

  EXPECT_EQ(ran.outcome.what(), kind::failed);
  EXPECT_THAT(ran.outcome.text(), HasSubstr("percent is 101; it must be 0..100"));
}

TEST_F(Testbed, LeaseThatRunsOutTakesNoOtherWithIt) {
  handlers.handle_actor("short", stay_silent);
  handlers.handle_actor("long", stay_silent);
  auto short_one = enqueue({.queue = "short", .payload = {}, .lease = 1s});
  auto long_one = enqueue({.queue = "long", .payload = {}, .lease = 1min});

  EXPECT_TRUE(bed().lose_lease(long_one));

  EXPECT_EQ(status(short_one).attempt, 1u);
  EXPECT_EQ(status(long_one).attempt, 2u);
}

TEST_F(Testbed, LeaseRemainingIsWhatTheShardSays) {
  std::vector<duration> left;
  handle([&](const task& attempt) {
    left.push_back(attempt.lease_remaining());
    attempt.extend(1h);
    left.push_back(attempt.lease_remaining());
    return outcome::completed();
  });

  enqueue();

  EXPECT_THAT(left, ElementsAre(10s, 1h));
}

TEST_F(Testbed, TaskThatWaitsForABusyActorKeepsItsLeaseUntilItIsCancelled) {
  handlers.handle_keyed(
    "k", [](handler_actor::pointer self, const std::string&) { return stay_silent(self); });
  auto task = enqueue({.queue = "k", .payload = {}, .group = "g"});
  // The group's actor is still busy with the attempt that lost its lease.
  EXPECT_TRUE(bed().lose_lease(task));

  bed().advance(10min);
  EXPECT_EQ(bed().attempts().size(), 1u);
  EXPECT_EQ(status(task).state, task_state::leased);
  EXPECT_EQ(status(task).attempt, 2u);
  EXPECT_TRUE(bed().cancel(task));

  EXPECT_EQ(status(task).state, task_state::cancelled);
}

TEST_F(Testbed, NextAttemptGoesOnFromTheCheckpoint) {
  std::vector<std::string> begun;
  std::vector<bool> told;
  handle([&](const task& attempt) {
    begun.emplace_back(attempt.checkpoint.view());
    attempt.save_checkpoint(begun.back() + "x", [&](bool saved) { told.push_back(saved); });
    return begun.size() < 3 ? outcome::abandon() : outcome::completed();
  });
  bed().inject("q", mishap::crash);

  auto task = enqueue();

  EXPECT_THAT(begun, ElementsAre("", "x", "xx"));
  EXPECT_THAT(told, ElementsAre(true, true, true));
  EXPECT_THAT(bed().attempts().front().said.checkpoints, ElementsAre("x"));
  EXPECT_EQ(status(task).state, task_state::completed);
}

TEST_F(Testbed, CheckpointIsRefusedWhenTheLeaseIsOver) {
  std::vector<std::string> begun;
  std::vector<task> kept;
  handle([&](const task& attempt) {
    begun.emplace_back(attempt.checkpoint.view());
    attempt.save_checkpoint("good");
    kept.push_back(attempt);
    if (kept.size() == 1)
      return outcome::abandon();
    kept.front().save_checkpoint("stale", [&](bool saved) { EXPECT_FALSE(saved); });
    return kept.size() == 2 ? outcome::abandon() : outcome::completed();
  });

  enqueue();

  EXPECT_THAT(begun, ElementsAre("", "good", "good"));
}

TEST_F(Testbed, OnceBeginsWhereItIsTold) {
  auto count = [](const task& attempt) {
    attempt.save_checkpoint(std::string(attempt.checkpoint.view()) + "b");
    return outcome::completed();
  };

  auto ran = run_once(count, {.queue = "q", .payload = {}}, {.checkpoint = "a"});

  EXPECT_THAT(ran.said.checkpoints, ElementsAre("ab"));
}

} // namespace
} // namespace codeq::testing
