// SPDX-License-Identifier: Apache-2.0
#include "integration/worker_fixture.hpp"
#include "worker/host/dispatcher_sink.hpp"

#include <caf/error.hpp>
#include <caf/sec.hpp>
#include <caf/typed_response_promise.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <map>
#include <ranges>
#include <stdexcept>

namespace codeq::test {
namespace {

using namespace std::chrono_literals;
using schema::Disposition;
using testing::ElementsAre;
using testing::HasSubstr;

/// Handlers report their start, and wait until they are released or cancelled.
class Dispatcher : public worker_fixture {
protected:
  ~Dispatcher() override {
    // Releases handlers that a failed test may have left waiting.
    for (int i = 0; i < 16; ++i)
      gate->push("let go");
  }

  /// Queue `q`: completes with its payload.
  void echo() {
    handlers.handle("q", [](const task& attempt) {
      return outcome::completed(std::string(attempt.payload.view()));
    });
  }

  /// Queue `q`: reports its start, then completes with the value that the test pushes to the gate,
  /// or fails when it is cancelled.
  void wait_at_gate() {
    handlers.handle("q", [started = started, stopped = stopped, gate = gate](const task& attempt) {
      attempt.cancel->on_request([gate] { gate->push("stop"); });
      started->push(attempt.id.seq);
      auto word = gate->pop(60s);
      if (word == "stop")
        stopped->push(attempt.id.seq);
      return word == "stop" ? outcome::failed("stopped")
                            : outcome::completed(word.value_or("late"));
    });
  }

  std::shared_ptr<channel<sequence>> started = std::make_shared<channel<sequence>>();
  std::shared_ptr<channel<sequence>> stopped = std::make_shared<channel<sequence>>();
  std::shared_ptr<channel<std::string>> gate = std::make_shared<channel<std::string>>();
};

TEST_F(Dispatcher, DeliveredTaskIsRunAndItsOutcomeReported) {
  echo();
  start();
  connect();

  send_grant({.seq = 7, .token = 70, .payload = "hello"});

  auto report = await_report();
  EXPECT_EQ(report.seq, 7u);
  EXPECT_EQ(report.token, 70u);
  EXPECT_EQ(report.what, Disposition::COMPLETED);
  EXPECT_EQ(report.text, "hello");
}

TEST_F(Dispatcher, ConnectionStartsWithHoldingsAndThenCredits) {
  echo();
  start(2, 3);

  connect(false);
  EXPECT_THAT(
    await_types_until(protocol::frame_type<schema::ResumeRequest>),
    ElementsAre(protocol::frame_type<schema::ResumeRequest>));
  EXPECT_FALSE(frames->pop(50ms)) << "credits before the resume was answered";
  send_resumed();

  EXPECT_EQ(await_credits(), 5u);
}

TEST_F(Dispatcher, UnansweredReportIsSentAgainFirstAfterAReconnect) {
  echo();
  start();
  connect();
  grant task{.seq = 1, .token = 10, .payload = "kept"};
  send_grant(task);
  EXPECT_EQ(await_report().text, "kept");

  disconnect();
  connect();
  EXPECT_THAT(
    await_types_until(protocol::frame_type<schema::ResumeRequest>),
    ElementsAre(
      protocol::frame_type<schema::ResultRequest>, protocol::frame_type<schema::ResumeRequest>));
  send_answer(task, schema::ErrorCode::ALREADY);
  disconnect();
  connect();

  EXPECT_THAT(
    await_types_until(protocol::frame_type<schema::ResumeRequest>),
    testing::Not(testing::Contains(protocol::frame_type<schema::ResultRequest>)));
}

TEST_F(Dispatcher, ReportMadeWithoutAConnectionIsKept) {
  wait_at_gate();
  start();
  connect();
  send_grant({.seq = 1, .token = 10});
  EXPECT_EQ(started->pop(), 1u);

  disconnect();
  gate->push("done");
  connect();

  EXPECT_EQ(await_report().text, "done");
}

TEST_F(Dispatcher, HeldLeaseThatIsDeliveredAgainRunsOnce) {
  wait_at_gate();
  start();
  connect();
  grant task{.seq = 1, .token = 10};
  send_grant(task);
  EXPECT_EQ(started->pop(), 1u);

  task.redelivered = true;
  send_grant(task);
  send_grant({.seq = 2, .token = 11});

  EXPECT_EQ(started->pop(), 2u);
}

TEST_F(Dispatcher, LeaseThatTheReplyLostIsRunWhenDeliveredAgain) {
  echo();
  start();
  connect(false);

  send_grant({.seq = 1, .token = 10, .payload = "late", .redelivered = true});
  send_resumed();

  EXPECT_EQ(await_report().text, "late");
}

TEST_F(Dispatcher, LostLeaseStopsItsHandlerAndReportsNothing) {
  wait_at_gate();
  start(1, 0);
  connect();
  grant lost{.seq = 1, .token = 10};
  send_grant(lost);
  EXPECT_EQ(started->pop(), 1u);

  send_lost(lost);
  send_grant({.seq = 2, .token = 11});
  EXPECT_EQ(started->pop(), 2u);
  gate->push("second");

  EXPECT_EQ(await_report().seq, 2u);
}

TEST_F(Dispatcher, WaitingTaskThatLosesItsLeaseIsNeverStarted) {
  wait_at_gate();
  start(1, 2);
  connect();
  grant waiting{.seq = 2, .token = 11};
  send_grant({.seq = 1, .token = 10});
  send_grant(waiting);
  send_grant({.seq = 3, .token = 12});
  EXPECT_EQ(started->pop(), 1u);

  send_lost(waiting);
  gate->push("first");
  EXPECT_EQ(await_report().seq, 1u);

  EXPECT_EQ(started->pop(), 3u);
}

TEST_F(Dispatcher, CancelledTaskIsReportedCancelledWhateverItAnswers) {
  wait_at_gate();
  start();
  connect();
  grant task{.seq = 1, .token = 10};
  send_grant(task);
  EXPECT_EQ(started->pop(), 1u);

  send_cancel(task);

  auto report = await_report();
  EXPECT_EQ(report.what, Disposition::CANCELLED);
  EXPECT_EQ(report.text, "stopped");
}

TEST_F(Dispatcher, CancelOfAWaitingTaskIsAnsweredAtOnce) {
  wait_at_gate();
  start(1, 1);
  connect();
  grant waiting{.seq = 2, .token = 11};
  send_grant({.seq = 1, .token = 10});
  send_grant(waiting);
  EXPECT_EQ(started->pop(), 1u);

  send_cancel(waiting);

  auto report = await_report();
  EXPECT_EQ(report.seq, 2u);
  EXPECT_EQ(report.what, Disposition::CANCELLED);
  EXPECT_FALSE(report.started);
}

TEST_F(Dispatcher, ExceptionOfAFunctionIsAFailureWithItsText) {
  handlers.handle("q", [](const task& attempt) -> outcome {
    if (attempt.attempt > 0)
      throw std::runtime_error("no such image");
    return outcome::abandon();
  });
  start();
  connect();

  send_grant({});

  auto report = await_report();
  EXPECT_EQ(report.what, Disposition::FAILED);
  EXPECT_EQ(report.text, "exception: no such image");
}

TEST_F(Dispatcher, ExceptionOfAnActorIsAFailureAndTheActorIsReplaced) {
  handlers.handle_actor("q", [](handler_actor::pointer) {
    return handler_actor::behavior_type{[](const task& attempt) {
      if (attempt.payload.view() == "bad")
        throw std::runtime_error("no such image");
      return outcome::completed("fine");
    }};
  });
  start(1, 0);
  connect();

  send_grant({.seq = 1, .token = 10, .payload = "bad"});
  auto failed = await_report();
  send_grant({.seq = 2, .token = 11, .payload = "good"});
  auto completed = await_report();

  EXPECT_EQ(failed.what, Disposition::FAILED);
  EXPECT_EQ(failed.text, "exception: no such image");
  EXPECT_EQ(completed.text, "fine");
}

TEST_F(Dispatcher, ActorThatEndsWithoutAnAnswerIsAFailure) {
  handlers.handle_actor("q", [](handler_actor::pointer self) {
    return handler_actor::behavior_type{[self](const task&) {
      self->quit();
      return self->make_response_promise<outcome>();
    }};
  });
  start();
  connect();

  send_grant({});

  auto report = await_report();
  EXPECT_EQ(report.what, Disposition::FAILED);
  EXPECT_THAT(report.text, HasSubstr("handler actor ended"));
}

TEST_F(Dispatcher, ErrorThatAnActorAnswersIsAFailureAndTheActorGoesOn) {
  auto begun = std::make_shared<std::atomic<int>>(0);
  handlers.handle_actor("q", [begun](handler_actor::pointer self) {
    ++*begun;
    return handler_actor::behavior_type{[self](const task& attempt) -> caf::result<outcome> {
      if (attempt.payload == "text")
        return caf::make_error(caf::sec::runtime_error, std::string("no such image"));
      auto promise = self->make_response_promise<outcome>();
      if (attempt.payload == "code")
        promise.deliver(caf::make_error(caf::sec::request_timeout));
      else
        promise.deliver(outcome::completed("fine"));
      return promise;
    }};
  });
  start(1, 0);
  connect();

  send_grant({.seq = 1, .token = 10, .payload = "text"});
  auto with_text = await_report();
  send_grant({.seq = 2, .token = 11, .payload = "code"});
  auto with_code = await_report();
  send_grant({.seq = 3, .token = 12, .payload = "good"});
  auto completed = await_report();

  EXPECT_EQ(with_text.what, Disposition::FAILED);
  EXPECT_EQ(with_text.text, "handler actor answered with an error: no such image");
  EXPECT_EQ(with_code.what, Disposition::FAILED);
  EXPECT_THAT(with_code.text, HasSubstr("answered with an error: system_error(request_timeout"));
  EXPECT_EQ(completed.text, "fine");
  EXPECT_EQ(*begun, 1);
}

TEST_F(Dispatcher, HandlerMayAnswerByAPromise) {
  auto promises = std::make_shared<channel<caf::typed_response_promise<outcome>>>();
  handlers.handle_actor("q", [promises](handler_actor::pointer self) {
    return handler_actor::behavior_type{[self, promises](const task&) {
      auto promise = self->make_response_promise<outcome>();
      promises->push(promise);
      return promise;
    }};
  });
  start();
  connect();

  send_grant({});
  auto promise = promises->pop();
  ASSERT_TRUE(promise);
  promise->deliver(outcome::completed("later"));

  EXPECT_EQ(await_report().text, "later");
}

TEST_F(Dispatcher, BlockedHandlersInAllSlotsDoNotStopBeats) {
  wait_at_gate();
  start(2, 1);
  connect();
  for (std::uint64_t i = 1; i <= 3; ++i)
    send_grant({.seq = i, .token = 10 + i, .lease = 1s});

  // Leases that arrived at different moments may have their heartbeats in different messages.
  std::map<std::uint64_t, int> beats;
  while (beats.size() < 3 || std::ranges::min(beats | std::views::values) < 3) {
    auto known = await<schema::HeartbeatRequest>().read(
      [&](schema::HeartbeatRequest::Reader reader) -> result<void> {
        for (auto line : reader.getLeases()) {
          bool is_queued = line.getPhase() == schema::LeasePhase::QUEUED;
          EXPECT_EQ(is_queued, line.getSeq() == 3) << "lease " << line.getSeq();
          ++beats[line.getSeq()];
        }
        return {};
      });
    ASSERT_TRUE(known);
  }
}

TEST_F(Dispatcher, LeaseThatRunsOutWithoutAConnectionStopsItsHandler) {
  wait_at_gate();
  start();
  connect();
  send_grant({.seq = 1, .token = 10, .lease = 1s});
  EXPECT_EQ(started->pop(), 1u);
  disconnect();
  EXPECT_EQ(stopped->pop(), 1u);

  connect();

  // The task is not at fault, so it is given back unharmed.
  EXPECT_EQ(await_report().what, Disposition::ABANDON);
}

TEST_F(Dispatcher, DrainGivesWaitingTasksBackAndLetsRunningOnesFinish) {
  wait_at_gate();
  start(1, 1);
  connect();
  grant running{.seq = 1, .token = 10};
  grant waiting{.seq = 2, .token = 11};
  send_grant(running);
  send_grant(waiting);
  EXPECT_EQ(started->pop(), 1u);

  drain(60s);
  auto given_back = await_report();
  EXPECT_EQ(given_back.seq, 2u);
  EXPECT_EQ(given_back.what, Disposition::ABANDON);
  EXPECT_FALSE(given_back.started);
  gate->push("done");
  EXPECT_EQ(await_report().text, "done");
  send_answer(running);
  send_answer(waiting);

  auto end = ends->pop();
  ASSERT_TRUE(end);
  EXPECT_TRUE(*end);
}

TEST_F(Dispatcher, SecondDrainStopsTheHandlers) {
  wait_at_gate();
  start();
  connect();
  send_grant({.seq = 1, .token = 10});
  EXPECT_EQ(started->pop(), 1u);

  drain(60s);
  drain(60s);

  auto report = await_report();
  EXPECT_EQ(report.what, Disposition::ABANDON);
  EXPECT_TRUE(report.started);
}

TEST_F(Dispatcher, HandlerThatDoesNotStopIsGivenUpAfterTheDrain) {
  handlers.handle("q", [gate = gate](const task&) {
    return outcome::completed(gate->pop(60s).value_or("late"));
  });
  start();
  connect();
  send_grant({.seq = 1, .token = 10});

  drain(0s);

  auto report = await_report();
  EXPECT_EQ(report.what, Disposition::ABANDON);
  EXPECT_TRUE(report.started);
}

TEST_F(Dispatcher, TaskOfAnUnknownQueueIsGivenBackUnstarted) {
  echo();
  start();
  connect();

  send_grant({.queue = "other"});

  auto report = await_report();
  EXPECT_EQ(report.what, Disposition::ABANDON);
  EXPECT_FALSE(report.started);
}

TEST_F(Dispatcher, CompletionRefusedForWhatItCarriesIsReportedAsAFailure) {
  echo();
  start();
  connect();
  grant task{.seq = 7, .token = 70, .payload = "hello"};
  send_grant(task);
  EXPECT_EQ(await_report().what, Disposition::COMPLETED);

  send_answer(task, schema::ErrorCode::INVALID_ARGUMENT, "follow-up 1: priority is 10");

  auto report = await_report();
  EXPECT_EQ(report.token, 70u);
  EXPECT_EQ(report.what, Disposition::FAILED);
  EXPECT_THAT(report.text, HasSubstr("follow-up 1: priority is 10"));
  // A failure that is refused is not resent for ever.
  send_answer(task, schema::ErrorCode::INVALID_ARGUMENT, "again");
  send_grant({.seq = 8, .token = 80});
  EXPECT_EQ(await_report().token, 80u);
}

TEST_F(Dispatcher, RefusalByTheOnlyCoordinatorEndsTheNodeWithItsReason) {
  wait_at_gate();
  start();
  connect();
  send_grant({.seq = 1, .token = 10});
  EXPECT_EQ(started->pop(), 1u);

  disconnect(true, {errc::superseded, "a newer one came"});

  auto end = ends->pop();
  ASSERT_TRUE(end);
  ASSERT_FALSE(*end);
  EXPECT_EQ(end->error().code, errc::superseded);
}

TEST_F(Dispatcher, SinkTakesAGoodbyeAndRefusesWhatACoordinatorDoesNotSend) {
  echo();
  start();
  auto sink = worker::dispatcher_sink(dispatcher, 0);

  auto goodbye = sink(protocol::goodbye::build([](auto) {}).to_wire());
  auto hello = sink(protocol::hello::build([](auto) {}).to_wire());

  EXPECT_TRUE(goodbye);
  ASSERT_FALSE(hello);
  EXPECT_EQ(hello.error().code, errc::protocol_error);
}

} // namespace
} // namespace codeq::test
