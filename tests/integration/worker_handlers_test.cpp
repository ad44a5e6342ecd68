// SPDX-License-Identifier: Apache-2.0
#include "base/tuning.hpp"
#include "integration/worker_fixture.hpp"

#include <caf/send.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <thread>

namespace codeq::test {
namespace {

using namespace std::chrono_literals;
using schema::Disposition;
using testing::ElementsAre;
using testing::HasSubstr;

/// Handlers of every kind, run by the production dispatcher.
class Handlers : public worker_fixture {
protected:
  ~Handlers() override {
    // Releases handlers that a failed test may have left waiting.
    for (int i = 0; i < 16; ++i)
      gate->push("let go");
  }

  /// Queue `queue`: reports its start and completes with the value that the test pushes to the
  /// gate.
  void wait_at_gate(const std::string& queue, queue_options options = {}) {
    handlers.handle(
      queue,
      [started = started, gate = gate](const task& attempt) {
        started->push(attempt.id.seq);
        return outcome::completed(gate->pop(60s).value_or("late"));
      },
      options);
  }

  /// Queue `k`, keyed: completes with the number of tasks that the group's actor has handled.
  void count_by_group(duration idle) {
    auto behavior = [](handler_actor::pointer, const std::string& group) {
      auto count = std::make_shared<int>(0);
      return handler_actor::behavior_type{[count, group](const task&) {
        return outcome::completed(group + std::to_string(++*count));
      }};
    };
    handlers.handle_keyed("k", behavior, idle);
  }

  std::string answer_to(const grant& task) {
    send_grant(task);
    auto report = await_report();
    send_answer(task);
    return report.text;
  }

  std::shared_ptr<channel<sequence>> started = std::make_shared<channel<sequence>>();
  std::shared_ptr<channel<std::string>> gate = std::make_shared<channel<std::string>>();
};

TEST_F(Handlers, BatchTakesWhatWaitsAsFarAsThereAreSlots) {
  auto sizes = std::make_shared<channel<std::size_t>>();
  handlers.handle_batch("b", 3, [sizes, gate = gate](std::span<const task> tasks) {
    sizes->push(tasks.size());
    static_cast<void>(gate->pop(60s));
    std::vector<outcome> answers;
    for (const auto& each : tasks)
      answers.push_back(outcome::completed(std::string(each.payload.view())));
    return answers;
  });
  start(4, 8);
  connect();

  std::vector<grant> tasks;
  for (std::uint64_t i = 1; i <= 5; ++i)
    tasks.push_back({.seq = i, .token = i, .queue = "b", .payload = std::to_string(i)});
  send_grants(tasks);
  // Each task takes a slot, so one is left for the fourth, and the fifth waits. Their threads start
  // in any order.
  std::multiset<std::size_t> begun{sizes->pop().value_or(0), sizes->pop().value_or(0)};
  EXPECT_THAT(begun, ElementsAre(1u, 3u));
  EXPECT_FALSE(sizes->pop(50ms)) << "more tasks at once than slots";
  for (int i = 0; i < 3; ++i)
    gate->push("go");

  std::set<std::string> texts;
  for (int i = 0; i < 5; ++i)
    texts.insert(await_report().text);
  EXPECT_THAT(texts, ElementsAre("1", "2", "3", "4", "5"));
  EXPECT_EQ(sizes->pop(), 1u);
}

TEST_F(Handlers, KeyedActorKeepsItsStateBetweenTasksOfItsGroup) {
  count_by_group(1h);
  start();
  connect();

  EXPECT_EQ(answer_to({.seq = 1, .token = 1, .queue = "k", .group = "a"}), "a1");
  EXPECT_EQ(answer_to({.seq = 2, .token = 2, .queue = "k", .group = "b"}), "b1");
  EXPECT_EQ(answer_to({.seq = 3, .token = 3, .queue = "k", .group = "a"}), "a2");
}

TEST_F(Handlers, KeyedActorThatWasIdleStartsAfresh) {
  count_by_group(20ms);
  start();
  connect();
  EXPECT_EQ(answer_to({.seq = 1, .token = 1, .queue = "k", .group = "a"}), "a1");

  // However slow the machine is, the actor ends after its idle time.
  std::string text = "a2";
  for (std::uint64_t i = 2; i < 200 && text != "a1"; ++i) {
    std::this_thread::sleep_for(50ms);
    text = answer_to({.seq = i, .token = i, .queue = "k", .group = "a"});
  }

  EXPECT_EQ(text, "a1");
}

TEST_F(Handlers, ProgressGoesOutWithABeat) {
  handlers.handle("q", [gate = gate](const task& attempt) {
    attempt.progress(40, "halfway");
    static_cast<void>(gate->pop(60s));
    return outcome::completed();
  });
  start();
  connect();

  send_grant({.seq = 5, .token = 50});

  auto told = await<schema::HeartbeatRequest>();
  EXPECT_TRUE(told.read([](schema::HeartbeatRequest::Reader root) -> result<void> {
    EXPECT_EQ(root.getLeases()[0].getToken(), 50u);
    EXPECT_TRUE(root.getLeases()[0].getProgressed());
    EXPECT_EQ(root.getProgress()[0].getSeq(), 5u);
    EXPECT_EQ(root.getProgress()[0].getPercent(), 40);
    EXPECT_STREQ(root.getProgress()[0].getNote().cStr(), "halfway");
    return {};
  }));
}

TEST_F(Handlers, ExtensionGoesOutAtOnceAndIsSeenByTheHandler) {
  auto left = std::make_shared<channel<duration>>();
  handlers.handle("q", [gate = gate, left](const task& attempt) {
    left->push(attempt.lease_remaining());
    attempt.extend(1h);
    static_cast<void>(gate->pop(60s));
    left->push(attempt.lease_remaining());
    return outcome::completed();
  });
  start();
  connect();

  send_grant({.seq = 5, .token = 50});

  EXPECT_LE(left->pop(), 10s);
  auto beat = await<schema::HeartbeatRequest>();
  EXPECT_TRUE(beat.read([](schema::HeartbeatRequest::Reader root) -> result<void> {
    EXPECT_EQ(root.getLeases()[0].getExtendMs(), 3'600'000u);
    return {};
  }));
  gate->push("go");
  EXPECT_GT(left->pop(), 30min);
}

TEST_F(Handlers, WhatIsSaidWithoutAConnectionWaitsForIt) {
  auto left = std::make_shared<channel<duration>>();
  handlers.handle("q", [gate = gate, started = started, left](const task& attempt) {
    started->push(attempt.id.seq);
    static_cast<void>(gate->pop(60s));
    attempt.progress(40, "while it was cut");
    attempt.extend(1h);
    started->push(attempt.id.seq);
    static_cast<void>(gate->pop(60s));
    left->push(attempt.lease_remaining());
    static_cast<void>(gate->pop(60s));
    return outcome::completed();
  });
  start();
  connect();
  send_grant({.seq = 5, .token = 50});
  static_cast<void>(started->pop());

  disconnect();
  gate->push("speak");
  static_cast<void>(started->pop());
  // Longer than progress reports are held back.
  std::this_thread::sleep_for(10 * tuning::progress_interval);
  gate->push("look");
  EXPECT_LE(left->pop(), 10s) << "nobody knows of the extension";
  connect();

  for (bool heard = false; !heard;) {
    auto told = await<schema::HeartbeatRequest>();
    ASSERT_FALSE(HasFailure());
    static_cast<void>(told.read([&](schema::HeartbeatRequest::Reader root) -> result<void> {
      heard = root.getProgress().size() == 1 && root.getLeases()[0].getExtendMs() == 3'600'000u;
      return {};
    }));
  }
  gate->push("end");
}

TEST_F(Handlers, QueueWithSlotsOfItsOwnLeavesTheOthersToOthers) {
  wait_at_gate("slow", {.slots = 1});
  wait_at_gate("q");
  start(2, 2);
  connect();

  send_grant({.seq = 1, .token = 1, .queue = "slow"});
  send_grant({.seq = 2, .token = 2, .queue = "slow"});
  EXPECT_EQ(started->pop(), 1u);
  send_grant({.seq = 3, .token = 3, .queue = "q"});

  EXPECT_EQ(started->pop(), 3u);
}

TEST_F(Handlers, QueueThatHoldsItsShareIsNotWantedUntilItHasRoom) {
  wait_at_gate("slow", {.slots = 1});
  wait_at_gate("q");
  start(2, 2);
  connect();

  grant first{.seq = 1, .token = 1, .queue = "slow"};
  send_grant(first);
  send_grant({.seq = 2, .token = 2, .queue = "slow"});

  EXPECT_THAT(await_queues(), ElementsAre("q"));
  // A further task of the queue, granted before the coordinator knew of the change, is given back.
  send_grant({.seq = 3, .token = 3, .queue = "slow"});
  auto back = await_report();
  EXPECT_EQ(back.seq, 3u);
  EXPECT_EQ(back.what, Disposition::ABANDON);
  EXPECT_FALSE(back.started);

  gate->push("done");
  EXPECT_THAT(await_queues(), ElementsAre("q", "slow"));
}

TEST_F(Handlers, NewSettingsAddAndTakeAwayQueuesWhileTasksRun) {
  wait_at_gate("q");
  start(1, 1);
  connect();
  send_grant({.seq = 1, .token = 1});
  send_grant({.seq = 2, .token = 2});
  EXPECT_EQ(started->pop(), 1u);

  handlers = {};
  handlers.handle("other", [](const task&) { return outcome::completed("by the new handler"); });
  caf::anon_send(dispatcher, actors::reconfigure_worker{handlers.entries(), 2, 2});

  EXPECT_THAT(await_queues(), ElementsAre("other"));
  EXPECT_EQ(await_report().seq, 2u) << "what waited for the queue that is gone goes back";
  send_grant({.seq = 3, .token = 3, .queue = "other"});
  EXPECT_EQ(await_report().text, "by the new handler");
  gate->push("old one ends in peace");
  EXPECT_EQ(await_report().text, "old one ends in peace");
}

TEST_F(Handlers, ActorThatAnswersWithAnErrorFailsTheAttemptAtOnce) {
  auto fail_first = [](handler_actor::pointer) {
    return handler_actor::behavior_type{[](const task& attempt) -> caf::result<outcome> {
      if (attempt.id.seq == 1)
        return caf::make_error(caf::sec::runtime_error, std::string("out of paper"));
      return outcome::completed("printed");
    }};
  };
  handlers.handle_actor("p", fail_first);
  start(1, 0);
  connect();

  send_grants({{.seq = 1, .token = 1, .queue = "p"}});
  auto failed = await_report();
  EXPECT_EQ(failed.what, Disposition::FAILED);
  EXPECT_THAT(failed.text, HasSubstr("handler actor answered with an error"));
  EXPECT_THAT(failed.text, HasSubstr("out of paper"));
  send_grants({{.seq = 2, .token = 2, .queue = "p"}});

  EXPECT_EQ(await_report().text, "printed") << "the actor and its slot serve the next task";
}

TEST_F(Handlers, TaskOfAGroupWaitsForTheActorThatLostItsLease) {
  auto begun = started;
  handlers.handle_keyed(
    "k",
    [begun, gate = gate](handler_actor::pointer, const std::string&) {
      return handler_actor::behavior_type{[begun, gate](const task& attempt) {
        begun->push(attempt.id.seq);
        return outcome::completed(gate->pop(60s).value_or("late"));
      }};
    },
    1h,
    {.run_in = isolation::thread});
  start();
  connect();
  grant first{.seq = 1, .token = 1, .queue = "k", .group = "a"};
  send_grant(first);
  EXPECT_EQ(started->pop(), 1u);

  send_lost(first);
  send_grant({.seq = 1, .token = 2, .queue = "k", .group = "a"});
  EXPECT_FALSE(started->pop(50ms)) << "two tasks of one group ran at once";
  gate->push("zombie");
  gate->push("second");

  auto report = await_report();
  EXPECT_EQ(report.token, 2u);
  EXPECT_EQ(report.text, "second");
}

} // namespace
} // namespace codeq::test
