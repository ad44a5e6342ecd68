// SPDX-License-Identifier: Apache-2.0
#include "base/queue_maximum.hpp"
#include "core/queues/queue_rules.hpp"
#include "support/queue_slots.hpp"

#include <gtest/gtest.h>

#include <string>

namespace codeq::core {
namespace {

using namespace std::chrono_literals;

/// Four shards with a queue that has a maximum depth, which one of them counts.
class QueueDepths : public QueueSlots {
protected:
  void set_depth(std::uint64_t max_depth) {
    for (std::size_t i = 0; i < slot_shards; ++i)
      configure(i, {.max_depth = max_depth});
    pass(50ms);
  }

  [[nodiscard]] static std::size_t counter() {
    task_limit use{std::string(depth_limit), slot_queue.queue, 1};
    return value(shard_of_limit_key(slot_queue.tenant, use, slot_shards));
  }

  [[nodiscard]] static std::size_t first() { return (counter() + 1) % slot_shards; }

  [[nodiscard]] static std::size_t second() { return (counter() + 2) % slot_shards; }

  /// Enqueues, and waits for the answer.
  errc add(std::size_t index, std::uint32_t tasks = 1) {
    answers_.clear();
    enqueue_tasks(index, tasks);
    pass(600ms);
    if (answers_.empty())
      pass(parked_enqueues::wait_max);
    EXPECT_EQ(answers_.size(), 1u);
    if (answers_.empty())
      return errc::timeout;
    return answers_[0].allowed ? errc::none : answers_[0].allowed.error().code;
  }

  [[nodiscard]] std::uint64_t depth(std::size_t index) const {
    const auto* queue = nodes_[index].state->find_queue(slot_queue);
    return queue ? queue->depth() : 0;
  }

  [[nodiscard]] std::uint64_t depth() const {
    std::uint64_t all = 0;
    for (std::size_t i = 0; i < slot_shards; ++i)
      all += depth(i);
    return all;
  }

  /// Adds tasks as those of completions are added: whatever the depth.
  void add_exempt(std::size_t index, std::uint32_t tasks) {
    enqueue_run run;
    run.queue = slot_queue;
    run.settings.lease = 1h;
    run.tasks = test::encode_bodies(tasks, 8);
    decide(index, take_follow_ups{shard_id{slot_shards}, ++requests_, 0, {std::move(run)}});
    pass(20ms);
  }

  void complete_all(std::size_t index) {
    while (complete_one(index))
      continue;
    pass(20ms);
  }

  [[nodiscard]] std::string reason() const { return answers_.at(0).allowed.error().context; }
};

TEST_F(QueueDepths, QueueHasAsManyTasksOverAllShardsAsItMay) {
  set_depth(10);

  std::uint64_t taken = 0;
  for (std::size_t i = 0; i < 24; ++i)
    taken += add(i % slot_shards) == errc::none ? 1 : 0;

  EXPECT_EQ(taken, 10u);
  EXPECT_EQ(depth(), 10u);
  EXPECT_EQ(answers_[0].allowed.error().code, errc::queue_full);
  EXPECT_TRUE(is_of_max_depth(answers_[0].allowed.error()));
}

TEST_F(QueueDepths, ShardsThatEnqueueAtOnceFillTheQueueExactly) {
  set_depth(10);

  for (int round = 0; round < 20; ++round) {
    for (std::size_t i = 0; i < slot_shards; ++i)
      enqueue_tasks(i, 1);
    pass(50ms);
  }
  pass(1s);

  EXPECT_EQ(depth(), 10u);
  EXPECT_EQ(answers_.size(), 80u);
}

TEST_F(QueueDepths, OneShardMayHaveAllTasks) {
  set_depth(10);

  EXPECT_EQ(add(first(), 10), errc::none);
  EXPECT_EQ(add(second()), errc::queue_full);
  EXPECT_EQ(add(counter()), errc::queue_full);
}

TEST_F(QueueDepths, RoomThatAShardDoesNotUseGoesToAnother) {
  set_depth(100);
  EXPECT_EQ(add(first()), errc::none);
  EXPECT_EQ(add(second()), errc::none);
  EXPECT_GT(nodes_[first()].state->permits.depths().quota(
    nodes_[first()].state->queue_index.at(slot_queue), now_.steady), 1u);

  EXPECT_EQ(add(second(), 98), errc::none);
  EXPECT_EQ(add(first()), errc::queue_full);
}

TEST_F(QueueDepths, RoomOfTasksThatEndedGoesToAnyShard) {
  set_depth(10);
  EXPECT_EQ(add(first(), 10), errc::none);
  for (int i = 0; i < 3; ++i)
    ASSERT_TRUE(complete_one(first()));

  EXPECT_EQ(add(second(), 2), errc::none);
  EXPECT_EQ(add(counter()), errc::none);
  EXPECT_EQ(add(first()), errc::queue_full);
}

TEST_F(QueueDepths, QueueThatStaysBelowItsMaximumSendsNothing) {
  set_depth(1000);
  EXPECT_EQ(add(first()), errc::none);
  pass(1s);
  letters_.clear();

  for (int i = 0; i < 100; ++i) {
    enqueue_tasks(first(), 1);
    EXPECT_TRUE(complete_one(first()));
    EXPECT_TRUE(letters_.empty());
  }
}

TEST_F(QueueDepths, RequestAboveTheMaximumIsRefusedAtOnce) {
  set_depth(10);

  enqueue_tasks(first(), 11);

  ASSERT_EQ(answers_.size(), 1u);
  EXPECT_EQ(
    reason(),
    "queue \"q\" is full: it has no room for 11 more; max_depth, over all shards, is 10");
}

TEST_F(QueueDepths, RequestsThatWaitKeepTheirOrder) {
  set_depth(10);

  enqueue_tasks(first(), 3);
  enqueue_tasks(first(), 1);
  EXPECT_TRUE(answers_.empty());
  pass(100ms);

  ASSERT_EQ(answers_.size(), 2u);
  EXPECT_LT(answers_[0].number, answers_[1].number);
  EXPECT_LT(answers_[0].tasks.at(0).first, answers_[1].tasks.at(0).first);
}

TEST_F(QueueDepths, RequestThatIsSentAgainWhileItWaitsIsAnsweredOnce) {
  set_depth(10);
  enqueue_run run;
  run.queue = slot_queue;
  run.tasks = test::encode_bodies(1, 8);
  enqueue request{2, {make_producer_id(now_.shard, 0, 1), 77, 0}, {run}};

  decide(first(), request);
  request.peer = 3;
  decide(first(), request);
  pass(1s);

  ASSERT_EQ(answers_.size(), 1u);
  EXPECT_EQ(answers_[0].peer, 3u);
  EXPECT_EQ(depth(), 1u);
}

TEST_F(QueueDepths, RequestFailsAfterAWhileWhenTheCounterIsAway) {
  set_depth(10);
  nodes_[counter()].is_reachable = false;

  EXPECT_EQ(add(first()), errc::unavailable);
  EXPECT_TRUE(is_not_answered(answers_[0].allowed.error()));
  nodes_[counter()].is_reachable = true;
  EXPECT_EQ(add(first()), errc::none);
}

TEST_F(QueueDepths, RoomOfAShardThatIsAwayCountsAsUsed) {
  set_depth(100);
  EXPECT_EQ(add(first()), errc::none);
  nodes_[first()].is_reachable = false;

  EXPECT_EQ(add(second(), 99), errc::queue_full);
  EXPECT_NE(reason().find("do not answer"), std::string::npos) << reason();
  nodes_[first()].is_reachable = true;
  pass(100ms);
  EXPECT_EQ(add(second(), 99), errc::none);
}

TEST_F(QueueDepths, EndsAreSyncedBeforeRoomIsReturned) {
  set_depth(100);
  EXPECT_EQ(add(first(), 2), errc::none);
  const auto index = nodes_[first()].state->queue_index.at(slot_queue);
  ASSERT_GT(nodes_[first()].state->permits.depths().quota(index, now_.steady), 2u);
  const auto written = nodes_[first()].log.size();

  give_permits recall{nodes_[counter()].state->id};
  recall.depths.push_back({slot_queue, 0, 0, std::uint64_t{9} << 40});
  decide(first(), recall);

  EXPECT_TRUE(must_sync_);
  EXPECT_EQ(nodes_[first()].log.size(), written + 1) << "there has to be something to sync";
  EXPECT_EQ(nodes_[first()].state->permits.depths().level(index), 2u);
}

TEST_F(QueueDepths, TasksThatAreAddedWithoutAskingCount) {
  set_depth(10);
  EXPECT_EQ(add(second(), 4), errc::none);
  add_exempt(first(), 20);

  EXPECT_EQ(depth(), 24u);
  EXPECT_EQ(add(second()), errc::queue_full);
  EXPECT_EQ(add(first()), errc::queue_full);
  complete_all(first());
  EXPECT_EQ(add(first(), 6), errc::none);
  EXPECT_EQ(add(first()), errc::queue_full);
}

TEST_F(QueueDepths, RestartOfAShardKeepsTheCount) {
  set_depth(10);
  EXPECT_EQ(add(first(), 4), errc::none);
  start(first());
  pass(100ms);

  EXPECT_EQ(add(second(), 6), errc::none);
  EXPECT_EQ(add(first()), errc::queue_full);
  complete_one(first());
  EXPECT_EQ(add(first()), errc::none);
}

TEST_F(QueueDepths, RestartOfTheCounterKeepsTheCount) {
  set_depth(10);
  EXPECT_EQ(add(first(), 4), errc::none);
  start(counter());
  pass(100ms);

  EXPECT_EQ(add(counter(), 6), errc::none);
  EXPECT_EQ(add(first()), errc::queue_full);
  EXPECT_EQ(add(counter()), errc::queue_full);
}

TEST_F(QueueDepths, TasksThatAreThereWhenItIsTurnedOnCount) {
  enqueue_tasks(first(), 8);
  pass(20ms);
  set_depth(10);

  EXPECT_EQ(add(second(), 3), errc::queue_full);
  EXPECT_EQ(add(second(), 2), errc::none);
}

TEST_F(QueueDepths, LowerMaximumHoldsOnceTasksHaveEnded) {
  set_depth(100);
  EXPECT_EQ(add(first(), 10), errc::none);
  EXPECT_EQ(add(second(), 10), errc::none);
  set_depth(5);
  EXPECT_EQ(depth(), 20u);
  complete_all(first());
  complete_all(second());

  EXPECT_EQ(add(first(), 5), errc::none);
  EXPECT_EQ(add(second()), errc::queue_full);
}

TEST_F(QueueDepths, QueueIsCountedAnewAfterItHadNoMaximum) {
  set_depth(10);
  EXPECT_EQ(add(first(), 4), errc::none);
  enqueue_tasks(first(), 7);
  set_depth(0);
  pass(20ms);

  EXPECT_EQ(depth(), 11u);
  set_depth(20);
  EXPECT_EQ(add(second(), 10), errc::queue_full);
  EXPECT_EQ(add(second(), 9), errc::none);
}

TEST_F(QueueDepths, NothingIsBookedOfAQueueThatWasRemoved) {
  set_depth(10);
  EXPECT_EQ(add(first(), 4), errc::none);
  set_depth(0);
  ASSERT_NE(nodes_[counter()].state->depths.find(slot_queue), nullptr);

  decide(counter(), take_snapshot{});
  pass(20ms);

  ASSERT_EQ(nodes_[counter()].state->find_queue(slot_queue), nullptr);
  EXPECT_EQ(nodes_[counter()].state->depths.find(slot_queue), nullptr);
  start(counter());
  EXPECT_EQ(nodes_[counter()].state->depths.find(slot_queue), nullptr);
}

TEST_F(QueueDepths, QueueStaysWhileARequestWaitsForIt) {
  set_depth(10);
  nodes_[counter()].is_reachable = false;
  enqueue_tasks(first(), 1);
  ASSERT_TRUE(answers_.empty());
  enqueue_run big;
  big.queue = free_queue;
  big.tasks = test::encode_bodies(1, 300 << 10);
  {
    turn t(*nodes_[first()].state);
    t.decide(configure_queue{2, ++requests_, slot_queue, {}}, now_);
    t.decide(enqueue{2, {make_producer_id(now_.shard, 0, 1), ++requests_, 0}, {big}}, now_);
    t.decide(take_snapshot{}, now_);
    static_cast<void>(t.seal(now_));
  }
  ASSERT_NE(nodes_[first()].state->find_queue(slot_queue), nullptr);

  decide(first(), tick{});

  EXPECT_EQ(depth(first()), 1u);
  EXPECT_EQ(answers_.size(), 1u);
}

TEST_F(QueueDepths, TasksOfAShardThatHadNoMaximumForAWhileCount) {
  set_depth(60);
  for (std::size_t i = 0; i < slot_shards; ++i)
    EXPECT_EQ(add(i), errc::none);
  configure(first(), {.max_depth = 0});
  EXPECT_EQ(add(first(), 50), errc::none);
  configure(first(), {.max_depth = 60});
  pass(50ms);

  for (int i = 0; i < 20; ++i) {
    add(second());
    add(counter());
  }

  EXPECT_EQ(depth(), 60u);
}

TEST_F(QueueDepths, RoomOfAShardStaysBookedWhenTheCounterHadNoMaximumForAMoment) {
  set_depth(60);
  EXPECT_EQ(add(first()), errc::none);
  const auto index = nodes_[first()].state->queue_index.at(slot_queue);
  const auto room = nodes_[first()].state->permits.depths().quota(index, now_.steady) - 1;
  ASSERT_GT(room, 0u);
  nodes_[first()].is_reachable = false;
  configure(counter(), {.max_depth = 0});
  configure(counter(), {.max_depth = 60});

  for (int i = 0; i < 60; ++i)
    add(second());
  EXPECT_EQ(depth(), 60u - room);
  EXPECT_EQ(add(first(), static_cast<std::uint32_t>(room)), errc::none);

  EXPECT_EQ(depth(), 60u);
}

TEST_F(QueueDepths, TasksThatWereAddedWhileTheCounterHadNoMaximumCount) {
  set_depth(60);
  EXPECT_EQ(add(first()), errc::none);
  configure(counter(), {.max_depth = 0});
  pass(20ms);
  add_exempt(first(), 30);
  pass(1s);
  configure(counter(), {.max_depth = 60});

  for (int i = 0; i < 60; ++i)
    add(second());

  EXPECT_EQ(depth(), 60u);
}

TEST_F(QueueDepths, ShardThatMissedTheFirstRecallIsAskedAgain) {
  nodes_[first()].is_reachable = false;
  set_depth(60);
  EXPECT_EQ(add(second()), errc::none);
  nodes_[first()].is_reachable = true;
  pass(1s);

  EXPECT_EQ(add(second(), 59), errc::none);
}

TEST_F(QueueDepths, FullQueueIsSaidWhileTasksEnd) {
  set_depth(1500);
  EXPECT_EQ(add(counter(), 500), errc::none);
  EXPECT_EQ(add(first(), 990), errc::none);
  answers_.clear();
  enqueue_tasks(first(), 900);
  const auto since = now_.steady;
  while (answers_.empty() && now_.steady - since < parked_enqueues::wait_max) {
    complete_one(first());
    pass(1ms);
  }

  ASSERT_EQ(answers_.size(), 1u);
  EXPECT_EQ(answers_[0].allowed.error().code, errc::queue_full);
  EXPECT_LT(now_.steady - since, 500ms);
}

TEST_F(QueueDepths, WithACounterOfAnOlderVersionEachShardHasItsPart) {
  nodes_[counter()].is_older = true;
  set_depth(8);

  EXPECT_EQ(add(first(), 2), errc::none);
  EXPECT_EQ(add(first()), errc::queue_full);
  nodes_[counter()].is_older = false;
  start(counter());
  pass(100ms);
  EXPECT_EQ(add(first()), errc::none);
}

TEST_F(QueueDepths, ShardOfAnOlderVersionCountsAsItsPart) {
  nodes_[first()].is_older = true;
  set_depth(8);

  EXPECT_EQ(add(second(), 6), errc::none);
  EXPECT_EQ(add(second()), errc::queue_full);
}

TEST_F(QueueDepths, PartsOfOlderVersionsBecomeAWhole) {
  queue_config config;
  config.max_depth_part = 3;

  base::complete_maxima(config, 4);

  EXPECT_EQ(config.max_depth, 12u);
  EXPECT_EQ(config.max_depth_part, 3u);
  queue_config known;
  known.max_depth = 10;
  queue_config written_back;
  written_back.max_depth_part = 3;
  base::complete_maxima(written_back, 4, known);
  EXPECT_EQ(written_back.max_depth, 10u);
}

TEST_F(QueueDepths, DuplicateOfATaskNeedsNoRoom) {
  set_depth(1);
  enqueue_run run;
  run.queue = slot_queue;
  run.key = "k";
  run.tasks = test::encode_bodies(1, 8);
  const auto send = [&](std::uint64_t number) {
    answers_.clear();
    decide(first(), enqueue{2, {make_producer_id(now_.shard, 0, 1), number, 0}, {run}});
    pass(600ms);
    return answers_.size() == 1 ? answers_[0].allowed : result<void>(error{errc::timeout, {}});
  };
  ASSERT_TRUE(send(1));
  const auto task = answers_[0].tasks;

  EXPECT_TRUE(send(2));
  EXPECT_EQ(answers_[0].tasks, task);
  run.duplicate = on_duplicate::replace_ended;
  EXPECT_TRUE(send(3));
  EXPECT_EQ(answers_[0].tasks, task);
  run.key = "other";
  EXPECT_FALSE(send(4));
}

TEST_F(QueueDepths, KeysOfARequestThatWaitsAreReadAgainAfterASnapshot) {
  set_depth(10);
  enqueue_run run;
  run.queue = slot_queue;
  run.key = "k";
  run.tasks = test::encode_bodies(1, 8);

  decide(first(), enqueue{2, {make_producer_id(now_.shard, 0, 1), 77, 0}, {run}});
  decide(first(), take_snapshot{});
  pass(600ms);

  ASSERT_EQ(answers_.size(), 1u);
  ASSERT_FALSE(answers_[0].allowed);
  EXPECT_EQ(answers_[0].allowed.error().code, errc::overloaded);
}

} // namespace
} // namespace codeq::core
