// SPDX-License-Identifier: Apache-2.0
#include "base/queue_maximum.hpp"
#include "support/queue_slots.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>

namespace codeq::core {
namespace {

using namespace std::chrono_literals;

TEST_F(QueueSlots, QueueHasNoMoreLeasesOverAllShardsThanItsMaximum) {
  set_maximum(1);
  for (std::size_t i = 0; i < slot_shards; ++i)
    enqueue_tasks(i, 3);

  for (std::size_t ended = 0; ended < 3 * slot_shards; ++ended) {
    pass(100ms);
    EXPECT_EQ(leased(), 1u) << "after " << ended << " tasks";
    ASSERT_TRUE(complete_any()) << "after " << ended << " tasks";
  }
  pass(100ms);

  EXPECT_EQ(most_, 1u);
  EXPECT_EQ(leased(), 0u);
  EXPECT_EQ(lent(), 0u);
}

TEST_F(QueueSlots, OneShardMayHaveAllOfThem) {
  set_maximum(150);
  enqueue_tasks(asker(), 200);
  for (int i = 0; i < 10; ++i)
    decide(asker(), claim{slot_worker, slot_credits});
  pass(100ms);

  EXPECT_EQ(leased(), 150u);
  EXPECT_EQ(lent(), 150u);
}

TEST_F(QueueSlots, TasksThatRunWhenItIsTurnedOnCount) {
  for (std::size_t i = 0; i < slot_shards; ++i)
    enqueue_tasks(i, 2);
  pass(20ms);
  EXPECT_EQ(leased(), 2u * slot_shards);
  set_maximum(3);
  EXPECT_EQ(lent(), 2u * (slot_shards - 1));
  for (std::size_t i = 0; i < slot_shards; ++i)
    enqueue_tasks(i, 2);

  for (std::uint64_t left = 2 * slot_shards; left > 3; --left) {
    EXPECT_EQ(leased(), left) << "nothing starts";
    complete_any();
    pass(100ms);
  }
  EXPECT_EQ(leased(), 3u);
  complete_any();
  pass(100ms);
  EXPECT_EQ(leased(), 3u) << "another one starts";
}

TEST_F(QueueSlots, TurningItOnAndOffIsSyncedBeforeOthersLearnIt) {
  configure(asker(), {.max_leased = 2});
  EXPECT_TRUE(must_sync_);
  configure(asker(), {.max_leased = 3});
  EXPECT_FALSE(must_sync_);
  configure(asker(), {});
  EXPECT_TRUE(must_sync_);
}

TEST_F(QueueSlots, NothingIsLentWhenItIsTurnedOff) {
  set_maximum(1);
  for (std::size_t i = 0; i < slot_shards; ++i)
    enqueue_tasks(i, 2);
  pass(100ms);
  EXPECT_EQ(leased(), 1u);
  set_maximum(0);
  pass(100ms);

  EXPECT_EQ(leased(), 2u * slot_shards);
  EXPECT_EQ(lent(), 0u);
  for (const auto& one : nodes_)
    EXPECT_EQ(one.state->permits.size(), 0u);
}

TEST_F(QueueSlots, LowerMaximumRevokesNothing) {
  set_maximum(3);
  enqueue_tasks(asker(), 6);
  pass(100ms);
  EXPECT_EQ(leased(), 3u);
  set_maximum(1);
  EXPECT_EQ(leased(), 3u);

  for (auto left : {2u, 1u, 1u}) {
    complete_any();
    pass(100ms);
    EXPECT_EQ(leased(), left);
  }
}

TEST_F(QueueSlots, RestartOfAShardKeepsTheSlotsOfItsLeases) {
  set_maximum(2);
  enqueue_tasks(asker(), 4);
  pass(100ms);
  EXPECT_EQ(leased(asker()), 2u);
  start(asker());
  for (std::size_t i = 0; i < slot_shards; ++i)
    enqueue_tasks(i, 2);
  pass(1s);

  EXPECT_EQ(most_, 2u);
  EXPECT_EQ(lent(), 2u);
  complete_one(asker());
  pass(1s);
  EXPECT_EQ(leased(), 2u);
}

TEST_F(QueueSlots, SlotThatWasNotSpentBeforeARestartComesBack) {
  set_maximum(1);
  enqueue_tasks(asker(), 1);
  // The slot is given, and the letter is lost with the process.
  for (int step = 0; step < 40 && lent() == 0; ++step)
    pass(5ms);
  EXPECT_EQ(lent(), 1u);
  EXPECT_EQ(leased(), 0u);
  letters_.clear();
  nodes_[asker()].log.clear();
  start(asker());
  enqueue_tasks(owner(), 1);
  pass(2s);

  EXPECT_EQ(lent(), 0u);
  EXPECT_EQ(leased(owner()), 1u);
}

TEST_F(QueueSlots, RestartOfTheOwnerForgetsNoSlot) {
  set_maximum(2);
  enqueue_tasks(asker(), 2);
  pass(100ms);
  EXPECT_EQ(leased(asker()), 2u);
  start(owner());
  for (std::size_t i = 0; i < slot_shards; ++i)
    enqueue_tasks(i, 2);
  pass(2s);

  EXPECT_EQ(most_, 2u);
  complete_one(asker());
  pass(1s);
  EXPECT_EQ(leased(), 2u);
}

TEST_F(QueueSlots, TasksWaitForAnOwnerThatCannotBeReachedAndOtherQueuesGoOn) {
  set_maximum(2);
  nodes_[owner()].is_reachable = false;
  enqueue_tasks(asker(), 2);
  enqueue_tasks(asker(), 2, free_queue);
  enqueue_tasks(owner(), 1);
  pass(5s);

  EXPECT_EQ(leased(asker()), 0u);
  EXPECT_EQ(leased(owner()), 1u) << "it needs nobody";
  EXPECT_EQ(nodes_[asker()].state->find_queue(free_queue)->leased, 2u);
  nodes_[owner()].is_reachable = true;
  pass(2s);
  EXPECT_EQ(leased(asker()), 1u);
}

TEST_F(QueueSlots, SlotsGoRoundAmongTheShards) {
  set_maximum(1);
  for (std::size_t i = 0; i < slot_shards; ++i)
    enqueue_tasks(i, 40);
  std::array<int, slot_shards> ran{};
  for (int ended = 0; ended < 80; ++ended) {
    pass(100ms);
    for (std::size_t i = 0; i < slot_shards; ++i)
      if (complete_one(i)) {
        ++ran[i];
        break;
      }
  }

  for (std::size_t i = 0; i < slot_shards; ++i)
    EXPECT_GE(ran[i], 5) << "shard " << i;
}

TEST_F(QueueSlots, OwnerTakesTurnsWithTheOnlyOtherShard) {
  set_maximum(1);
  enqueue_tasks(asker(), 20);
  enqueue_tasks(owner(), 20);
  // A shard whose task ends returns its slot and wants the next one in the same message.
  for (int ended = 0; ended < 20; ++ended) {
    pass(100ms);
    complete_any();
  }

  EXPECT_GE(completed(owner(), slot_queue), 8u);
  EXPECT_GE(completed(asker(), slot_queue), 8u);
}

TEST_F(QueueSlots, HigherPriorityComesFirstWhicheverShardHasIt) {
  set_maximum(1);
  enqueue_tasks(asker(), 10);
  enqueue_tasks(third(), 5, slot_queue, 9);
  enqueue_tasks(owner(), 10, slot_queue, 5);
  for (int ended = 0; ended < 16; ++ended) {
    pass(100ms);
    complete_any();
  }

  EXPECT_EQ(completed(third(), slot_queue), 5u);
  EXPECT_GE(completed(owner(), slot_queue), 9u);
  EXPECT_LE(completed(asker(), slot_queue), 2u) << "one may begin before the others arrive";
}

TEST_F(QueueSlots, HigherPriorityOfShardWithBusyWorkersKeepsNoSlotFromTheOwner) {
  set_maximum(1);
  enqueue_tasks(asker(), slot_credits, free_queue);
  enqueue_tasks(asker(), 2, slot_queue, 9);
  enqueue_tasks(owner(), 10);
  for (int ended = 0; ended < 10; ++ended) {
    pass(200ms);
    complete_one(owner());
  }

  EXPECT_GE(completed(owner(), slot_queue), 9u);
}

TEST_F(QueueSlots, ShortTasksShareASlotOneAfterTheOther) {
  set_maximum(1);
  enqueue_tasks(asker(), 5);
  for (int step = 0; step < 20 && leased(asker()) == 0; ++step)
    pass(5ms);
  auto records = nodes_[owner()].log.size();
  complete_one(asker());
  complete_one(asker());

  EXPECT_EQ(leased(asker()), 1u) << "at once";
  EXPECT_EQ(nodes_[owner()].log.size(), records);
  pass(100ms);
  complete_one(asker());
  EXPECT_EQ(leased(asker()), 0u) << "the slot is not new any more";
  EXPECT_TRUE(letters_.size() > 0);
}

TEST_F(QueueSlots, SlotWithoutFurtherTasksIsReturnedAtOnce) {
  set_maximum(1);
  enqueue_tasks(asker(), 1);
  for (int step = 0; step < 20 && leased(asker()) == 0; ++step)
    pass(5ms);
  complete_one(asker());
  pass(10ms);

  EXPECT_EQ(lent(), 0u);
}

TEST_F(QueueSlots, EndOfALeaseIsSyncedBeforeItsSlotCanBeReturned) {
  set_maximum(1);
  enqueue_tasks(asker(), 2);
  for (int step = 0; step < 20 && leased(asker()) == 0; ++step)
    pass(5ms);
  auto done = nodes_[asker()].running.back();
  decide(asker(), report{slot_worker, {done}});

  EXPECT_TRUE(must_sync_);
  EXPECT_EQ(leased(asker()), 1u) << "the next task has the slot";
}

TEST_F(QueueSlots, SlotIsNotBookedForAShardThatWaitedAndCannotBeReached) {
  set_maximum(1);
  enqueue_tasks(owner(), 1);
  pass(100ms);
  enqueue_tasks(asker(), 1);
  pass(100ms);
  nodes_[asker()].is_reachable = false;
  pass(permit_book::silent_max);
  enqueue_tasks(third(), 1);
  pass(100ms);
  complete_one(owner());
  pass(100ms);
  EXPECT_EQ(leased(third()), 1u);

  nodes_[asker()].is_reachable = true;
  pass(1s);
  complete_one(third());
  pass(1s);
  EXPECT_EQ(leased(asker()), 1u);
}

TEST_F(QueueSlots, ShardThatIsServedAnewWaitsNoMoreAndAsksAgain) {
  set_maximum(1);
  enqueue_tasks(owner(), 1);
  pass(100ms);
  enqueue_tasks(asker(), 1);
  pass(100ms);
  nodes_[asker()].is_reachable = false;
  note_moved(*nodes_[owner()].state, nodes_[asker()].state->id);
  complete_one(owner());
  EXPECT_EQ(lent(), 0u);

  nodes_[asker()].is_reachable = true;
  pass(1s);
  EXPECT_EQ(leased(asker()), 1u);
}

TEST_F(QueueSlots, WaitingShardsAreLookedAtOnlyWhenTheyMayGetSlots) {
  const auto& book = nodes_[owner()].state->lent;
  set_maximum(1);
  enqueue_tasks(owner(), 2);
  pass(100ms);
  enqueue_tasks(asker(), 1);
  pass(100ms);

  EXPECT_FALSE(book.slots_of(slot_queue).waiting.empty());
  EXPECT_TRUE(book.slots_to_look_at().empty());
  configure(owner(), {.max_leased = 2});
  EXPECT_EQ(book.lent_of(slot_queue), 1u);
}

TEST_F(QueueSlots, OtherTasksDoNotWaitBehindThoseThatCameAfterATaskOfAHighPriority) {
  set_maximum(1);
  enqueue_tasks(owner(), 1);
  pass(100ms);
  enqueue_tasks(asker(), 2);
  pass(100ms);
  enqueue_tasks(asker(), 1, slot_queue, 9);
  enqueue_tasks(third(), 1, slot_queue, 5);
  pass(100ms);
  complete_one(owner());
  pass(100ms);
  EXPECT_EQ(leased(asker()), 1u);

  complete_one(asker());
  pass(100ms);
  EXPECT_EQ(leased(third()), 1u);
}

TEST_F(QueueSlots, OwnerOfAnOlderVersionIsAskedForTheShardsPartOnly) {
  nodes_[owner()].is_older = true;
  set_maximum(8);
  enqueue_tasks(asker(), 10);
  pass(200ms);
  EXPECT_EQ(leased(asker()), 2u);

  nodes_[owner()].is_older = false;
  start(owner());
  pass(2s);
  EXPECT_EQ(leased(asker()), 8u);
}

TEST_F(QueueSlots, PartsOfOlderVersionsBecomeAWhole) {
  queue_settings old;
  old.config.max_leased_part = 2;
  for (auto& one : nodes_)
    one.log.push_back(queue_configured{1, now_.shard, slot_queue, old});
  start(asker());

  const auto& config = nodes_[asker()].state->find_queue(slot_queue)->settings.config;
  EXPECT_EQ(config.max_leased, 2u * slot_shards);
  EXPECT_EQ(config.max_leased_part, 2u);
}

TEST(QueueMaximum, PartThatAnOlderVersionWritesBackKeepsTheWhole) {
  queue_config config;
  config.max_leased_part = 1;
  base::complete_maxima(config, 4, {.max_leased = 3});
  EXPECT_EQ(config.max_leased, 3u);

  queue_config other;
  other.max_leased_part = 2;
  base::complete_maxima(other, 4, {.max_leased = 3});
  EXPECT_EQ(other.max_leased, 8u);

  queue_config none;
  base::complete_maxima(none, 4, {.max_leased = 3});
  EXPECT_EQ(none.max_leased, 0u);
  EXPECT_EQ(none.max_leased_part, 0u);
}

} // namespace
} // namespace codeq::core
