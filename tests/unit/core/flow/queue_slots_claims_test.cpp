// SPDX-License-Identifier: Apache-2.0
#include "core/queues/queue_waits.hpp"
#include "support/queue_slots.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

/// Which shards ask for slots, as their workers claim.
namespace codeq::core {
namespace {

using namespace std::chrono_literals;

/// Another shard always has a task of a higher priority.
class board_with_a_better_task final : public ready_board {
public:
  class place final : public queue_board {
  public:
    void publish(const std::optional<ready_head>&) override {}

    void publish_turn(shown_turn) override {}

    [[nodiscard]] key_credits share_turns(std::size_t, std::string_view) override { return {}; }

    [[nodiscard]] bool has_turns() const override { return false; }

    [[nodiscard]] std::optional<rival_head> best_elsewhere() const override {
      return rival_head{{limits::priority_max, timestamp{}}, shard_id{0}};
    }

    [[nodiscard]] std::optional<rival_head> best_far() const override { return std::nullopt; }
  };

  [[nodiscard]] std::unique_ptr<queue_board> join(const queue_address&, shard_id) override {
    return std::make_unique<place>();
  }
};

TEST_F(QueueSlots, WorkerWithoutCreditsIsToldWhenASlotIsThere) {
  set_maximum(1);
  decide(asker(), revoke_credits{slot_worker, slot_credits});
  enqueue_tasks(asker(), 2);
  EXPECT_EQ(notified_, 0);
  pass(500ms);
  EXPECT_EQ(notified_, 1);
  EXPECT_EQ(lent(), 0u) << "the slot was returned";
  auto records = nodes_[owner()].log.size();
  pass(5s);
  EXPECT_EQ(nodes_[owner()].log.size(), records) << "no slot is asked for again";

  decide(asker(), claim{slot_worker, 1});
  pass(100ms);
  EXPECT_EQ(leased(asker()), 1u);
}

TEST_F(QueueSlots, WorkerIsNotToldOfTasksWhileTheMaximumIsReached) {
  set_maximum(1);
  enqueue_tasks(owner(), 1);
  decide(asker(), revoke_credits{slot_worker, slot_credits});
  enqueue_tasks(asker(), 2);
  pass(5s);

  EXPECT_EQ(leased(owner()), 1u);
  EXPECT_EQ(notified_, 0);
  EXPECT_EQ(
    reason_of_ready(*nodes_[asker()].state, *nodes_[asker()].state->find_queue(slot_queue)),
    task_reason::queue_at_max_leased);
  complete_one(owner());
  pass(50ms);
  EXPECT_EQ(notified_, 1);
}

TEST_F(QueueSlots, BusyWorkerServesTheQueueAndOthersInTurns) {
  set_maximum(5);
  decide(asker(), revoke_credits{slot_worker, slot_credits - 1});
  enqueue_tasks(asker(), 500);
  enqueue_tasks(asker(), 500, free_queue);
  for (int i = 0; i < 400; ++i) {
    pass(5ms);
    complete_one(asker());
  }

  EXPECT_GE(completed(asker(), slot_queue), 100u);
  EXPECT_GE(completed(asker(), free_queue), 100u);
}

TEST_F(QueueSlots, WorkerWithLongTasksServesTheQueueAndOthersInTurns) {
  set_maximum(1);
  decide(asker(), revoke_credits{slot_worker, slot_credits - 1});
  enqueue_tasks(asker(), 50);
  enqueue_tasks(asker(), 50, free_queue);
  run_one_by_one(asker(), 40, 200ms);

  EXPECT_GE(completed(asker(), slot_queue), 15u);
  EXPECT_GE(completed(asker(), free_queue), 15u);
}

TEST_F(QueueSlots, WorkerWithLongTasksGetsASlotForWhichOtherShardsWait) {
  set_maximum(1);
  decide(asker(), revoke_credits{slot_worker, slot_credits - 1});
  enqueue_tasks(asker(), 50);
  enqueue_tasks(asker(), 500, free_queue);
  enqueue_tasks(owner(), 500);
  enqueue_tasks(third(), 500);
  for (int i = 0; i < 200; ++i) {
    run_one_by_one(asker(), 1, 300ms);
    complete_one(owner());
    complete_one(third());
  }

  EXPECT_GE(completed(asker(), slot_queue), 5u);
  EXPECT_GE(completed(asker(), free_queue), 30u);
  EXPECT_EQ(most_, 1u);
}

TEST_F(QueueSlots, CreditIsKeptForASlotUntilTheOwnerAnswers) {
  set_maximum(1);
  enqueue_tasks(owner(), 1);
  pass(50ms);
  decide(asker(), revoke_credits{slot_worker, slot_credits - 1});
  enqueue_tasks(asker(), 1);
  enqueue_tasks(asker(), 1, free_queue);
  EXPECT_EQ(nodes_[asker()].state->find_queue(free_queue)->leased, 0u);

  pass(50ms);
  EXPECT_EQ(nodes_[asker()].state->find_queue(free_queue)->leased, 1u) << "there is no slot";
  EXPECT_TRUE(nodes_[asker()].state->kept.empty());
}

TEST_F(QueueSlots, OwnerThatDoesNotAnswerKeepsNoCreditsFromOtherQueues) {
  set_maximum(1);
  nodes_[owner()].is_reachable = false;
  decide(asker(), revoke_credits{slot_worker, slot_credits - 1});
  enqueue_tasks(asker(), 1);
  enqueue_tasks(asker(), 500, free_queue);
  pass(permit_desk::answer_wait + 50ms);
  run_one_by_one(asker(), 100, 10ms);

  EXPECT_EQ(completed(asker(), free_queue), 100u);
  nodes_[owner()].is_reachable = true;
  run_one_by_one(asker(), 100, 100ms);
  EXPECT_EQ(completed(asker(), slot_queue), 1u);
}

TEST_F(QueueSlots, OneCreditIsCountedOnceOverAllQueues) {
  constexpr int queues = 40;
  std::vector<queue_address> names;
  for (int i = 0; i < queues; ++i)
    names.push_back({"default", "many" + std::to_string(i)});
  for (std::size_t i = 0; i < slot_shards; ++i)
    for (const auto& name : names)
      decide(i, configure_queue{2, ++requests_, name, {.max_leased = 1}});
  auto worker = std::make_shared<const worker_identity>(worker_identity{"w", 1});
  decide(asker(), attach_worker{slot_worker, worker, names});
  for (const auto& name : names)
    enqueue_tasks(asker(), 2, name);
  decide(asker(), claim{slot_worker, 1});

  std::uint64_t most = 0;
  for (int ended = 0; ended < 2 * queues; ++ended) {
    for (int step = 0; step < 30; ++step) {
      pass(5ms);
      most = std::max(most, lent_in_all());
    }
    EXPECT_TRUE(complete_one(asker())) << "after " << ended << " tasks";
  }
  // One is leased, one on its way back, and the worker may be told of one.
  EXPECT_LE(most, 3u);
  pass(100ms);
  EXPECT_EQ(lent_in_all(), 0u);
}

TEST_F(QueueSlots, WorkerThatWasToldOfNoFurtherTasksIsToldOfASlot) {
  set_maximum(2);
  decide(asker(), revoke_credits{slot_worker, slot_credits - 1});
  enqueue_tasks(asker(), 2);
  pass(500ms);

  EXPECT_EQ(leased(asker()), 1u);
  EXPECT_EQ(notified_, 1);
  decide(asker(), claim{slot_worker, 1});
  pass(50ms);
  EXPECT_EQ(leased(asker()), 2u);
}

TEST_F(QueueSlots, WorkerWhoseCreditsAreTakenAwayIsToldOfASlot) {
  set_maximum(1);
  decide(asker(), revoke_credits{slot_worker, slot_credits - 1});
  enqueue_tasks(asker(), 1);
  decide(asker(), revoke_credits{slot_worker, 1});
  pass(40ms);

  EXPECT_EQ(notified_, 1);
  decide(asker(), claim{slot_worker, 1});
  EXPECT_EQ(leased(asker()), 1u);
}

TEST_F(QueueSlots, NoSlotIsAskedForWhenTheOnlyWorkerLeavesTheQueueOut) {
  set_maximum(1);
  auto worker = std::make_shared<const worker_identity>(worker_identity{"w", 1});
  decide(
    asker(), attach_worker{slot_worker, worker, {}, {queue_address{"default", ""}}, {slot_queue}});
  enqueue_tasks(asker(), 2);
  pass(1s);

  EXPECT_EQ(nodes_[asker()].state->permits.size(), 0u);
  EXPECT_EQ(bookings(owner()), 0u);
}

TEST_F(QueueSlots, OwnerKeepsASlotForItsTaskOfAHigherPriorityUntilAWorkerClaimsIt) {
  set_maximum(1);
  decide(owner(), revoke_credits{slot_worker, slot_credits});
  enqueue_tasks(asker(), 3, slot_queue, 4);
  pass(100ms);
  enqueue_tasks(owner(), 1, slot_queue, 9);
  pass(100ms);
  complete_one(asker());
  pass(20ms);

  EXPECT_EQ(leased(), 0u);
  EXPECT_EQ(notified_, 1);
  decide(owner(), claim{slot_worker, 1});
  EXPECT_EQ(leased(owner()), 1u);
  complete_one(owner());
  pass(20ms);
  EXPECT_EQ(leased(asker()), 1u);
}

TEST_F(QueueSlots, OwnerKeepsNoSlotForLongForATaskThatNoWorkerClaims) {
  set_maximum(1);
  decide(owner(), revoke_credits{slot_worker, slot_credits});
  enqueue_tasks(asker(), 3, slot_queue, 4);
  enqueue_tasks(owner(), 1, slot_queue, 9);
  pass(100ms);
  complete_one(asker());
  pass(80ms);
  EXPECT_EQ(leased(asker()), 1u);

  pass(100ms);
  complete_one(asker());
  pass(20ms);
  EXPECT_EQ(leased(asker()), 1u) << "it was kept in vain before";
}

TEST_F(QueueSlots, SlotIsNotTakenAndReturnedAgainAndAgainForAnOutrankedWorker) {
  set_maximum(2);
  nodes_[asker()].state->join_board(std::make_shared<board_with_a_better_task>());
  enqueue_tasks(asker(), 1);
  pass(5s);

  EXPECT_EQ(leased(asker()), 0u);
  EXPECT_EQ(bookings(owner()), 1u);
}

} // namespace
} // namespace codeq::core
