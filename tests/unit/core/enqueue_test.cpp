// SPDX-License-Identifier: Apache-2.0
#include "base/tuning.hpp"
#include "support/shard_fixture.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace codeq::test {
namespace {

using namespace std::chrono_literals;

class Enqueue : public shard_fixture {};

TEST_F(Enqueue, IsAnsweredOnlyByAnEffectOfTheSealedTurn) {
  core::turn open(state());
  auto now = base::manual_clock().now();
  core::enqueue c{1, {make_producer_id(now.shard, 1, 2), 1, 0}, {}};
  core::enqueue_run r;
  r.queue = {"default", "q"};
  r.tasks = {bytes("body"), {4}};
  c.runs.push_back(r);

  open.decide(c, now);
  auto sealed = open.seal(now);

  ASSERT_EQ(sealed.events.size(), 1u);
  EXPECT_TRUE(std::holds_alternative<core::segment_appended>(sealed.events[0]));
  ASSERT_EQ(sealed.effects.size(), 1u);
  EXPECT_TRUE(std::holds_alternative<core::enqueue_answered>(sealed.effects[0]));
}

/// A request for two tasks, or for one with a key, whose answer shows what it creates.
core::enqueue request_to_show(std::uint64_t number, const std::string& key = {}) {
  auto now = base::manual_clock().now();
  core::enqueue c{1, {make_producer_id(now.shard, 1, 2), number, 0}, {}};
  core::enqueue_run r;
  r.queue = {"default", "q"};
  r.priority = 3;
  r.key = key;
  r.tasks = key.empty() ? core::encoded_tasks{bytes("body"), {2, 2}}
                        : core::encoded_tasks{bytes("body"), {4}};
  c.runs.push_back(std::move(r));
  c.shows_tasks = true;
  return c;
}

/// Decides the request in a turn of its own.
core::enqueue_answered answer_to(core::shard_state& state, const core::enqueue& c) {
  core::turn open(state);
  auto now = base::manual_clock().now();
  open.decide(c, now);
  auto sealed = open.seal(now);
  return std::get<core::enqueue_answered>(sealed.effects.at(0));
}

TEST_F(Enqueue, ShowsTheTasksThatItCreatesWhenAsked) {
  auto answer = answer_to(state(), request_to_show(1));

  ASSERT_EQ(answer.tasks.size(), 1u);
  ASSERT_EQ(answer.shown.size(), 2u);
  EXPECT_EQ(answer.shown[0].seq, answer.tasks[0].first);
  EXPECT_EQ(answer.shown[1].seq, answer.tasks[0].first + 1);
  EXPECT_EQ(answer.shown[1].queue.queue, "q");
  EXPECT_EQ(answer.shown[1].priority, 3);
  EXPECT_EQ(answer.shown[1].entry.state, task_state::ready);
  EXPECT_EQ(answer.shown[1].enqueued_at, base::manual_clock().now().shard);
}

TEST_F(Enqueue, ShowsATaskAsItWasBeforeAWorkerGotIt) {
  attach("w", {"q"});
  claim("w", 2);

  auto answer = answer_to(state(), request_to_show(1));

  EXPECT_EQ(state_of(1), "leased");
  ASSERT_EQ(answer.shown.size(), 2u);
  EXPECT_EQ(answer.shown[0].entry.state, task_state::ready);
  EXPECT_EQ(answer.shown[0].worker, "");
}

TEST_F(Enqueue, ShowsNothingOfARepeatedRequestAndOfADuplicate) {
  EXPECT_EQ(answer_to(state(), request_to_show(1)).shown.size(), 2u);
  EXPECT_TRUE(answer_to(state(), request_to_show(1)).shown.empty());
  EXPECT_EQ(answer_to(state(), request_to_show(2, "k")).shown.size(), 1u);

  auto again = answer_to(state(), request_to_show(3, "k"));

  EXPECT_EQ(again.kinds, std::vector{enqueue_kind::existing});
  EXPECT_TRUE(again.shown.empty());
}

TEST_F(Enqueue, NumbersTasksInTheOrderOfTheRequests) {
  EXPECT_EQ(enqueue("q", 2), "p: enqueued 1 2");
  EXPECT_EQ(enqueue("r", 3), "p: enqueued 3 4 5");
}

TEST_F(Enqueue, RepeatedRequestIsAnsweredAlikeAndAddsNothing) {
  enqueue("q", 2, {.request = 7});

  EXPECT_EQ(enqueue("q", 2, {.request = 7}), "p: enqueued 1 2");

  EXPECT_TRUE(events().empty());
  EXPECT_EQ(enqueue("q"), "p: enqueued 3");
}

TEST_F(Enqueue, RequestRepeatedInItsOwnTurnAddsNothing) {
  auto said = together([&] {
    enqueue("q", 2, {.request = 7});
    enqueue("q", 2, {.request = 7});
  });

  EXPECT_EQ(said, "p: enqueued 1 2; p: enqueued 1 2");
}

TEST_F(Enqueue, RepeatedRequestIsAnsweredAlikeAfterARestart) {
  enqueue("q", 2, {.request = 7});

  restart();

  EXPECT_EQ(enqueue("q", 2, {.request = 7}), "p: enqueued 1 2");
}

TEST_F(Enqueue, SequencesOfANewEpochAreNew) {
  enqueue("q", 2);

  restart();

  EXPECT_EQ(enqueue("q", 1), "p: enqueued 2.1");
}

TEST_F(Enqueue, RequestWhoseAnswerWasAcknowledgedIsRefused) {
  enqueue("q", 1, {.request = 7});
  enqueue("q", 1, {.request = 8, .answered_below = 8});

  EXPECT_EQ(enqueue("q", 1, {.request = 7, .answered_below = 8}), "p: refused session_expired");
}

TEST_F(Enqueue, WithoutRoomOnTheDiskOnlyNewRequestsAreRefused) {
  enqueue("q", 1, {.request = 7});
  error full{errc::disk_full, "full"};

  EXPECT_EQ(enqueue("q", 1, {.request = 8, .allowed = full}), "p: refused disk_full");
  EXPECT_EQ(enqueue("q", 1, {.request = 7, .allowed = full}), "p: enqueued 1");
}

TEST_F(Enqueue, ProducerThatAcknowledgesNothingIsRefusedAtTheLimit) {
  for (std::uint64_t n = 0; n < limits::producer_requests_max; ++n)
    enqueue("q", 1, {.request = n});

  EXPECT_EQ(enqueue("q", 1, {.request = 5000}), "p: refused overloaded");

  EXPECT_EQ(enqueue("q", 1, {.request = 5000, .answered_below = 1}), "p: enqueued 1025");
}

TEST_F(Enqueue, TasksOfOneTurnAndLaneShareASegment) {
  together([&] {
    enqueue("q", 2);
    enqueue("q", 3);
  });

  ASSERT_EQ(events().size(), 1u);
  EXPECT_EQ(std::get<core::segment_appended>(events()[0]).count, 5u);
}

TEST_F(Enqueue, TasksOfLanesThatComeInTurnShareASegmentOfEach) {
  together([&] {
    for (int i = 0; i < 3; ++i) {
      enqueue("q");
      enqueue("r");
      enqueue("q", 1, {.priority = 1});
    }
  });
  ASSERT_EQ(events().size(), 3u);
  for (const auto& e : events())
    EXPECT_EQ(std::get<core::segment_appended>(e).count, 3u);

  // No number was reserved for the third lane, because nothing followed it.
  EXPECT_EQ(enqueue("q"), "p: enqueued 36");
}

TEST_F(Enqueue, ASegmentThatAnotherOneFollowsHoldsNoMoreThanWasKeptForIt) {
  auto said = together([&] {
    enqueue("q", 10);
    enqueue("r");
    enqueue("q", 10);
  });

  EXPECT_EQ(
    said,
    "p: enqueued 1 2 3 4 5 6 7 8 9 10; p: enqueued 17; "
    "p: enqueued 11 12 13 14 15 16 33 34 35 36");
  attach("w", {"q"});
  EXPECT_THAT(claim("w", 20), testing::HasSubstr("16/t16 33/t17"));
}

TEST_F(Enqueue, TasksOfALaneKeepTheirOrderWhateverComesBetween) {
  auto said = together([&] {
    enqueue("q");
    enqueue("q", 1, {.settings = {.max_attempts = 9}});
    enqueue("q");
    enqueue("q", 1, {.group = "g"});
    enqueue("q");
  });

  EXPECT_EQ(said, "p: enqueued 1; p: enqueued 2; p: enqueued 3; p: enqueued 4; p: enqueued 5");
}

TEST_F(Enqueue, RequestOfManyLanesIsAnsweredAlikeAfterARestart) {
  std::vector<enqueue_options> tasks{{.request = 7}, {.priority = 1}, {}, {.priority = 1}};
  auto said = together([&] {
    enqueue("q");
    enqueue("q", 1, {.priority = 1});
    enqueue_all("q", tasks);
  });
  ASSERT_THAT(said, testing::HasSubstr("p: enqueued 2 18 33 49"));

  restart();

  EXPECT_EQ(enqueue_all("q", tasks), "p: enqueued 2 18 33 49");
}

TEST_F(Enqueue, WhatComesBehindAPurgeOfTheQueueLiesBehindItsMark) {
  core::task_part all;
  all.filter.queue = "q";
  together([&] {
    enqueue("q");
    enqueue("r");
    change_many(core::bulk_kind::purge_all, all);
    enqueue("q");
  });

  EXPECT_EQ(state_of(18), "ready");
}

TEST_F(Enqueue, TasksOfOtherSettingsHaveASegmentOfTheirOwn) {
  together([&] {
    enqueue("q");
    enqueue("q", 1, {.settings = {.max_attempts = 9}});
    enqueue("q", 1, {.priority = 1, .settings = {.max_attempts = 9}});
  });

  EXPECT_EQ(events().size(), 3u);
}

TEST_F(Enqueue, SegmentIsClosedAtItsLimitAndALargeTaskIsAlone) {
  enqueue("q", 3, {.body_size = tuning::segment_bytes_max / 2});

  ASSERT_EQ(events().size(), 2u);
  EXPECT_EQ(std::get<core::segment_appended>(events()[0]).count, 2u);
  enqueue("q", 2, {.body_size = tuning::segment_bytes_max + 1});
  EXPECT_EQ(events().size(), 2u);
}

TEST_F(Enqueue, TaskThatSaysNothingHasTheUsualSettings) {
  task_settings usual;

  EXPECT_EQ(usual.max_attempts, 5);
  EXPECT_EQ(usual.retry, (retry_policy{retry_kind::exponential_jitter, 1s, 15min}));
  EXPECT_EQ(usual.lease, 10s);
  EXPECT_EQ(usual.run_timeout, 0s);
  EXPECT_EQ(usual.progress_timeout, 0s);
  EXPECT_EQ(usual.retention, 24h);
  EXPECT_EQ(usual.dead_retention, 0s) << "for ever";
  EXPECT_EQ(usual.when_dead, on_dead::skip);
}

TEST_F(Enqueue, DeferredTaskIsNeverEarlyAndReadyAtItsTime) {
  together([&] {
    attach("w", {"q"});
    claim("w", 1);
    enqueue("q", 1, {.delay = 5s});
  });

  EXPECT_EQ(advance(4999ms), "");
  EXPECT_EQ(advance(1ms), "w: got 1/t1");
}

TEST_F(Enqueue, NextWakeupIsTheNextDueTime) {
  enqueue("q", 1, {.delay = 5s});
  advance(2s);

  // Shard time may run 5 % fast toward the wall clock; waking up too early does no harm.
  EXPECT_EQ(core::next_wakeup(state(), base::manual_clock(clock()).now()), 2850ms);
}

TEST_F(Enqueue, ManyTasksThatComeDueTogetherLetTheNextOnesWaitForEachOther) {
  enqueue_all("q", std::vector<enqueue_options>(64, {.delay = 1000ms}));
  enqueue("q", 1, {.delay = 1005ms});
  enqueue("q", 1, {.delay = 1035ms});
  attach("w", {"q"});
  claim("w", 100);
  advance(1000ms);
  ASSERT_EQ(state().leases.size(), 64u);

  EXPECT_EQ(advance(5ms), "");
  EXPECT_EQ(core::next_wakeup(state(), base::manual_clock(clock()).now()), 35ms);
  EXPECT_EQ(advance(35ms), "w: got 65/t65 66/t66");
}

TEST_F(Enqueue, FewTasksThatComeDueDoNotWait) {
  enqueue_all("q", std::vector<enqueue_options>(63, {.delay = 1000ms}));
  enqueue("q", 1, {.delay = 1001ms});
  attach("w", {"q"});
  claim("w", 100);
  advance(1000ms);

  EXPECT_EQ(advance(1ms), "w: got 64/t64");
}

TEST_F(Enqueue, DeferredTaskHasItsPlaceByItsEnqueue) {
  enqueue("q", 1, {.delay = 5s});
  enqueue("q", 2);
  attach("w", {"q"});
  advance(5s);

  EXPECT_EQ(claim("w", 3), "w: got 1/t1 2/t2 3/t3");
}

TEST_F(Enqueue, TimeInThePastIsNow) {
  enqueue("q", 1, {.delay = -5s});

  EXPECT_EQ(state_of(1), "ready");
}

} // namespace
} // namespace codeq::test
