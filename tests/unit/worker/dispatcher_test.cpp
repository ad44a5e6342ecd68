// SPDX-License-Identifier: Apache-2.0
#include "base/tuning.hpp"
#include "unit/worker/dispatcher_fixture.hpp"

#include <string>

namespace codeq::worker::test {
namespace {

TEST_F(DispatcherAlone, AnswerFromBeforeALossFreesTheSlotOfTheTaskThatCameAgain) {
  start(one_at_a_time());
  grant(7);
  lose(7);
  // A power cut of the coordinator undid the loss.
  grant(7, "a", true);
  EXPECT_EQ(said(), "run 7 by 1\n");

  complete(1);

  EXPECT_EQ(said(), "results 7\nclaim 1\n");
}

TEST_F(DispatcherAlone, LinkIsNotUsedAfterAnAckWithoutAUsableShardCount) {
  start(one_at_a_time());
  grant(7);
  dispatcher_->take_link_down(link, {errc::disconnected, "lost"}, false);
  said();

  dispatcher_->take_link_up(link, protocol::hello_ack::build([](auto) {}), now);
  EXPECT_EQ(said(), "break hello ack without a usable shard count\n");
  EXPECT_EQ(dispatcher_->counts().links_up, 0u);
  complete(1);

  EXPECT_EQ(said(), "");
}

TEST_F(DispatcherAlone, RefusalThatMayEndForgetsNoLease) {
  auto options = one_at_a_time();
  options.coordinators = {"a:4000", "b:4000"};
  start(options);
  dispatcher_->take_links(2);
  grant(1);

  dispatcher_->take_link_down(link, {errc::unauthorized, "not known yet"}, true);
  go_up();
  grant(1, "a", true);
  said();
  complete(1);

  EXPECT_EQ(port.starts[1], 1);
  EXPECT_TRUE(said().starts_with("results 1\n"));
}

TEST_F(DispatcherAlone, QueueThatHoldsItsQuotaIsClosedUntilItHasLess) {
  dispatcher_options options;
  options.queues = {{"a", 1}, {"b"}};
  options.slots = 2;
  options.prefetch = 0;
  start(options);

  grant(1);
  EXPECT_EQ(said(), "run 1 by 1\nqueues a b without a\n");
  grant(2);
  EXPECT_EQ(said(), "results 2 unstarted\nclaim 1\n") << "what comes meanwhile goes back";
  complete(1);
  EXPECT_EQ(said(), "queues a b\nresults 1\nclaim 1\n");
}

TEST_F(DispatcherAlone, FailedAttemptIsNotedWithItsReasonAndDuration) {
  start(one_at_a_time());
  grant(1);
  said();

  now += duration{250};
  end(1, outcome::failed("no paper"));

  EXPECT_EQ(
    said(), "attempt 1 of a fails after 250 ms: no paper\nresults 1\nclaim 1\n");
}

TEST_F(DispatcherAlone, LastAttemptOfATaskIsNotedAsSuch) {
  start(one_at_a_time());
  grant(1, "a", false, 5);
  end(1, outcome::nack("later"));
  EXPECT_TRUE(said().find("last attempt 5 of a fails after 0 ms: later\n") != std::string::npos);

  grant(2);
  end(1, outcome::failed_permanently("never"));
  EXPECT_TRUE(said().find("last attempt 1 of a fails after 0 ms: never\n") != std::string::npos);

  grant(3);
  dispatcher_->take_handler_end(1, outcome::failed("crashed"), now + duration{7});
  EXPECT_TRUE(said().find("attempt 1 of a fails after 7 ms: crashed\n") != std::string::npos);
}

TEST_F(DispatcherAlone, CompletionThatIsRefusedIsNotedAsAFailedAttempt) {
  start(one_at_a_time());
  grant(1, "a", false, 5);
  now += duration{30};
  end(1, outcome::completed().then({.queue = "b"}));
  said();

  answer(1, schema::ErrorCode::INVALID_ARGUMENT, "no such tenant");

  EXPECT_EQ(
    said(),
    "last attempt 5 of a fails after 30 ms: completed, but its follow-ups were refused: no such "
    "tenant\nresults 1\n");
}

TEST_F(DispatcherAlone, FollowUpBelongsToTheTenantOfItsTaskUnlessItNamesOne) {
  tenant = "shop";
  auto options = one_at_a_time();
  options.tenant = tenant;
  start(options);
  grant(1);
  said();

  end(
    1,
    outcome::completed().then({.queue = "mail"}).then({.tenant = "default", .queue = "mail"}));

  EXPECT_EQ(said(), "results 1 then shop/mail then default/mail\nclaim 1\n");
}

TEST_F(DispatcherAlone, CountsHowAttemptsEnd) {
  start(one_at_a_time());
  for (std::uint64_t token = 1; token <= 3; ++token) {
    grant(token);
    now += duration{20};
    end(1, token == 1 ? outcome::completed() : outcome::failed("x"));
  }
  grant(4);
  lose(4);

  auto counts = dispatcher_->counts();
  EXPECT_EQ(counts.slots, 1u);
  EXPECT_EQ(counts.running, 1u) << "the handler of the lost lease runs on";
  EXPECT_EQ(counts.links_up, 1u);
  EXPECT_EQ(counts.unanswered, 3u);
  const auto& of_queue = counts.queues.at("a");
  EXPECT_EQ(of_queue.ended[static_cast<std::size_t>(disposition::completed)], 1u);
  EXPECT_EQ(of_queue.ended[static_cast<std::size_t>(disposition::failed)], 2u);
  EXPECT_EQ(of_queue.lost, 1u);
  EXPECT_EQ(of_queue.run.sum_ms, 60);
}

TEST_F(DispatcherAlone, QueueOfAPatternIsServedByItsHandlerWithItsOptions) {
  dispatcher_options options;
  options.queues = {{"mail"}, {"print-*", 1}, {"*"}};
  options.slots = 3;
  options.prefetch = 0;
  start(options);

  grant(1, "print-a4");
  EXPECT_EQ(said(), "run 1 by 1\nqueues mail print-* * without print-a4\n");
  grant(2, "mail");
  grant(3, "other");
  EXPECT_EQ(port.handlers, "print-*\nmail\n*\n");
  said();

  complete(1);
  EXPECT_EQ(said(), "queues mail print-* *\nresults 1\nclaim 1\n");
  grant(4, "print-a3");
  EXPECT_EQ(said(), "run 4 by 1\nqueues mail print-* * without print-a3\n")
    << "the handlers of a pattern serve all of its queues";
}

TEST_F(DispatcherAlone, ClosedQueueIsLeftOutOfThePatternsThatMatchItsName) {
  dispatcher_options options;
  options.queues = {{"mail", 1}, {"m*"}};
  options.slots = 2;
  options.prefetch = 0;
  start(options);

  grant(1, "mail");

  EXPECT_EQ(said(), "run 1 by 1\nqueues mail m* without mail\n");
}

TEST_F(DispatcherAlone, TaskOfAQueueThatNoPatternMatchesIsGivenBack) {
  dispatcher_options options;
  options.queues = {{"print-*"}};
  options.slots = 1;
  options.prefetch = 0;
  start(options);

  grant(1, "mail");

  EXPECT_EQ(said(), "results 1 unstarted\nclaim 1\n");
}

TEST_F(DispatcherAlone, QueuesOfPatternsAreForgottenBeyondTheirLimit) {
  dispatcher_options options;
  options.queues = {{"*"}};
  options.slots = 1;
  options.prefetch = 0;
  start(options);
  for (std::uint64_t token = 1; token <= limits::queues_per_tenant_max + 5; ++token) {
    grant(token, "q" + std::to_string(token));
    complete(1);
    answer(token);
  }

  EXPECT_LE(dispatcher_->adopted_queues(), limits::queues_per_tenant_max);
  EXPECT_EQ(port.handlers, "*\n");
}

TEST_F(DispatcherAlone, IdleHandlerIsStoppedWhenTheIsolationOfItsQueueChanges) {
  auto options = one_at_a_time();
  start(options);
  grant(1);
  complete(1);
  said();

  options.queues[0].run_in = isolation::process;
  dispatcher_->reconfigure(options.queues, 1, 0, now);
  settle();
  EXPECT_EQ(said(), "stop 1\nqueues a\n");
  grant(2);

  EXPECT_EQ(said(), "run 2 by 2\n");
}

TEST_F(DispatcherAlone, HandlerThatRunsWhenTheIsolationChangesGetsNoFurtherTask) {
  auto options = one_at_a_time();
  options.prefetch = 1;
  start(options);
  grant(1);
  grant(2);
  options.queues[0].run_in = isolation::process;
  dispatcher_->reconfigure(options.queues, 1, 1, now);
  settle();
  said();

  complete(1);

  EXPECT_EQ(said(), "stop 1\nrun 2 by 2\nresults 1\nclaim 1\n");
}

TEST_F(DispatcherAlone, DrainEndsOnceAllReportsAreAnsweredAndTheLinkIsClosed) {
  auto options = one_at_a_time();
  options.prefetch = 1;
  start(options);
  grant(1);
  grant(2);
  said();

  dispatcher_->drain(duration{5'000}, now);
  settle();
  EXPECT_EQ(said(), "claim 0\nresults 2 unstarted\n");
  complete(1);
  EXPECT_EQ(said(), "results 1\n");
  answer(2);
  answer(1);
  EXPECT_EQ(said(), "close\n");
  dispatcher_->take_link_end(link);
  EXPECT_EQ(said(), "stop 1\nended\n");
}

TEST_F(DispatcherAlone, DrainGivesBackWhatItsHandlersDoNotStop) {
  start(one_at_a_time());
  grant(1);
  said();

  dispatcher_->drain(duration{5'000}, now);
  auto draining = port.last_wake;
  dispatcher_->wake(draining, now);
  dispatcher_->wake(draining, now);
  EXPECT_EQ(said(), "claim 0\n") << "a step that is over ends nothing";
  dispatcher_->wake(port.last_wake, now);
  settle();

  EXPECT_EQ(said(), "abandoned\nresults 1\n");
}

TEST_F(DispatcherAlone, DrainSendsReportsAgainToACoordinatorThatComesBackBeforeTheLimit) {
  start(one_at_a_time());
  grant(1);
  go_down();
  dispatcher_->drain(duration{30'000}, now);
  pass(duration{500});
  complete(1);
  said();

  pass(duration{25'000});
  EXPECT_EQ(said(), "awaits 1 answers for 27500 ms\n");
  go_up();
  EXPECT_EQ(said(), "results 1\nresume\n");
  answer(1);

  EXPECT_EQ(said(), "close\n");
}

TEST_F(DispatcherAlone, DrainEndsWithUnansweredReportsAtItsLimit) {
  start(one_at_a_time());
  grant(1);
  dispatcher_->drain(duration{30'000}, now);
  pass(duration{500});
  complete(1);
  said();

  pass(duration{29'499});
  EXPECT_EQ(said(), "awaits 1 answers for 27500 ms\n");
  pass(duration{1});

  EXPECT_EQ(said(), "close\n");
}

TEST_F(DispatcherAlone, DrainThatWaitsLongForAnswersIsNotedOnceWithHowLongItGoesOn) {
  auto options = one_at_a_time();
  options.slots = 2;
  start(options);
  grant(1);
  grant(2);
  dispatcher_->drain(duration{30'000}, now);
  complete(1);
  pass(duration{4'000});
  complete(2);
  said();

  pass(tuning::shutdown_max - duration{1});
  EXPECT_EQ(said(), "") << "answers may take a moment";
  pass(duration{1});
  EXPECT_EQ(said(), "awaits 2 answers for 24000 ms\n");
  pass(duration{20'000});

  EXPECT_EQ(said(), "");
}

TEST_F(DispatcherAlone, ReportsOfHandlersThatUseTheWholeDrainStillHaveTimeToBeAnswered) {
  start(one_at_a_time());
  grant(1);
  dispatcher_->drain(duration{2'000}, now);
  pass(duration{1'900});
  complete(1);
  said();

  pass(tuning::shutdown_max - duration{1});
  EXPECT_EQ(said(), "");
  pass(duration{1});

  EXPECT_EQ(said(), "close\n");
}

TEST_F(DispatcherAlone, SecondDrainEndsTheWaitForAnswersAsWell) {
  start(one_at_a_time());
  grant(1);
  dispatcher_->drain(duration{30'000}, now);
  complete(1);
  said();
  pass(duration{5'000});
  EXPECT_EQ(said(), "awaits 1 answers for 28000 ms\n");

  dispatcher_->drain(duration{30'000}, now);

  EXPECT_EQ(said(), "close\n");
}

TEST_F(DispatcherAlone, ReportsThatFollowASecondDrainDoNotWaitForItsLimit) {
  start(one_at_a_time());
  grant(1);
  dispatcher_->drain(duration{30'000}, now);
  dispatcher_->drain(duration{30'000}, now);
  complete(1);
  said();

  pass(tuning::shutdown_max);

  EXPECT_EQ(said(), "close\n");
}

TEST_F(DispatcherAlone, LeaseIsBeatenWhenItsLookIsDueAndNotBefore) {
  start(one_at_a_time());
  grant(1);
  said();

  dispatcher_->wake(port.last_wake, now + duration{2'499});
  EXPECT_EQ(said(), "");
  dispatcher_->wake(port.last_wake, now + duration{5'000});
  EXPECT_EQ(said(), "beat\n");
  EXPECT_EQ(port.heartbeat, 0u) << "this coordinator answers none";
}

TEST_F(DispatcherAlone, TaskThatWaitedWhenItsLeaseEndedStartsOnceWhenItComesAgain) {
  auto options = one_at_a_time();
  options.slots = 2;
  options.prefetch = 2;
  start(options);
  grant(1);
  grant(2);
  grant(7);
  go_down();
  // Without a connection the leases run out: the tasks that run are stopped, the one that waits is
  // lost.
  now += duration{10'000};
  dispatcher_->wake(port.last_wake, now);
  go_up();

  // The restarted coordinator still has the lease.
  grant(7, "a", true);
  complete(1);
  complete(2);

  EXPECT_EQ(port.starts[7], 1);
}

TEST_F(DispatcherAlone, TaskWhoseReportWasSentAgainIsNotRunWhenItComesAfterTheAnswer) {
  start(one_at_a_time());
  report_over_two_connections(7);

  // The shard decided the resume before the report, and its reader was slow.
  grant(7, "a", true);

  EXPECT_EQ(port.starts[7], 1);
}

TEST_F(DispatcherAlone, TaskIsRunAgainWhenAPowerCutUndidItsAnsweredReport) {
  start(one_at_a_time());
  report_over_two_connections(7);
  go_down();
  go_up();

  grant(7, "a", true);

  EXPECT_EQ(port.starts[7], 2);
}

} // namespace
} // namespace codeq::worker::test
