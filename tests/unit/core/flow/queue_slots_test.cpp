// SPDX-License-Identifier: Apache-2.0
#include "base/queue_maximum.hpp"
#include "core/checks/invariants.hpp"
#include "core/commands/routing.hpp"
#include "core/queues/queue_waits.hpp"
#include "core/state/apply.hpp"
#include "core/state/task_limits.hpp"
#include "core/turn/turn.hpp"
#include "support/task_builder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace codeq::core {
namespace {

using namespace std::chrono_literals;

constexpr std::uint16_t slot_shards = 4;
constexpr peer_id slot_worker = 1;
constexpr std::uint32_t slot_credits = 20;
const queue_address slot_queue{"default", "q"};
const queue_address free_queue{"default", "free"};

/// Another shard always has a task of a higher priority.
class board_with_a_better_task final : public ready_board {
public:
  class place final : public queue_board {
  public:
    void publish(const std::optional<ready_head>&) override {}

    [[nodiscard]] std::optional<rival_head> best_elsewhere() const override {
      return rival_head{{limits::priority_max, ageless}, shard_id{0}};
    }
  };

  [[nodiscard]] std::unique_ptr<queue_board> join(const queue_address&, shard_id) override {
    return std::make_unique<place>();
  }
};

/// Four shards, each with a worker that has free slots for everything. Their letters arrive at the
/// next step, if the shard is reachable.
class QueueSlots : public testing::Test {
protected:
  struct node {
    std::unique_ptr<shard_state> state;
    std::uint32_t epoch = 0;
    std::vector<event> log;
    std::vector<lease_report> running;
    bool is_reachable = true;
  };

  QueueSlots() {
    for (std::size_t i = 0; i < slot_shards; ++i)
      start(i);
  }

  /// Begins a process of the shard; an earlier one is dead.
  void start(std::size_t index) {
    auto& one = nodes_[index];
    one.running.clear();
    one.state = std::make_unique<shard_state>(
      shard_id{static_cast<std::uint16_t>(index)}, ++one.epoch);
    one.state->steady = now_.steady;
    for (const auto& e : one.log)
      apply(*one.state, e);
    open_permits(*one.state, slot_shards);
    auto worker = std::make_shared<const worker_identity>(worker_identity{"w", 1});
    decide(index, attach_worker{slot_worker, worker, {slot_queue, free_queue}});
    decide(index, resume{slot_worker, worker, {}});
    decide(index, claim{slot_worker, slot_credits});
    for (std::size_t other = 0; other < slot_shards; ++other)
      if (other != index && nodes_[other].state)
        note_moved(*nodes_[other].state, one.state->id);
  }

  void decide(std::size_t index, const command& c) {
    auto& one = nodes_[index];
    turn t(*one.state);
    t.decide(c, now_);
    auto sealed = t.seal(now_);
    must_sync_ = sealed.must_sync;
    EXPECT_FALSE(sealed.must_sync && sealed.events.empty());
    EXPECT_EQ(find_violations(*one.state), std::vector<std::string>{});
    one.log.insert(one.log.end(), sealed.events.begin(), sealed.events.end());
    for (const auto& e : sealed.effects)
      carry_out(one, e);
  }

  void carry_out(node& one, const effect& e) {
    if (const auto* told = std::get_if<shard_told>(&e))
      std::visit([&](const auto& what) { letters_.push_back({one.state->id, told->to, what}); },
                 told->what);
    if (const auto* granted = std::get_if<tasks_granted>(&e))
      for (const auto& run : granted->runs)
        for (std::uint32_t i = 0; i < run.count; ++i) {
          lease_report done;
          done.seq = run.first + i;
          done.token = fencing_token{value(run.first_token) + i};
          one.running.push_back(done);
        }
    notified_ += std::holds_alternative<work_available>(e) ? 1 : 0;
  }

  /// Time goes on in steps of 5 ms.
  void pass(duration time) {
    constexpr auto step = 5ms;
    for (duration passed{0}; passed < time; passed += step) {
      now_.steady += step;
      now_.shard += step;
      for (auto& letter : std::exchange(letters_, {})) {
        bool arrives = nodes_[value(letter.from)].is_reachable
                       && nodes_[value(letter.to)].is_reachable;
        if (arrives)
          decide(value(letter.to), letter.what);
      }
      for (std::size_t i = 0; i < slot_shards; ++i)
        decide(i, tick{});
      most_ = std::max(most_, leased());
    }
  }

  void configure(std::size_t index, const queue_config& config) {
    decide(index, configure_queue{2, ++requests_, slot_queue, config});
  }

  void set_maximum(std::uint64_t max_leased) {
    for (std::size_t i = 0; i < slot_shards; ++i)
      configure(i, {.max_leased = max_leased});
    pass(50ms);
    most_ = leased();
  }

  void enqueue_tasks(
    std::size_t index,
    std::uint32_t count,
    const queue_address& queue = slot_queue,
    std::uint8_t priority = 0) {
    enqueue_run run;
    run.queue = queue;
    run.priority = priority;
    run.settings.lease = 1h;
    run.tasks = test::encode_bodies(count, 8);
    auto session = make_producer_id(now_.shard, 0, nodes_[index].epoch);
    decide(index, enqueue{2, {session, ++requests_, 0}, {std::move(run)}});
  }

  /// Completes a task of the shard. False when none runs there.
  bool complete_one(std::size_t index) {
    auto& running = nodes_[index].running;
    if (running.empty())
      return false;
    auto done = running.back();
    running.pop_back();
    decide(index, report{slot_worker, {done}});
    decide(index, claim{slot_worker, 1});
    return true;
  }

  /// Completes a task of any shard.
  bool complete_any() {
    for (std::size_t i = 0; i < slot_shards; ++i)
      if (complete_one(i))
        return true;
    return false;
  }

  [[nodiscard]] std::uint64_t leased(std::size_t index) const {
    const auto* queue = nodes_[index].state->find_queue(slot_queue);
    return queue ? queue->leased : 0;
  }

  [[nodiscard]] std::uint64_t completed(std::size_t index, const queue_address& queue) const {
    return nodes_[index].state->find_queue(queue)->totals.completed;
  }

  /// Number of slots that the shard has lent since its first process began.
  [[nodiscard]] std::size_t bookings(std::size_t index) const {
    std::size_t all = 0;
    for (const auto& e : nodes_[index].log)
      if (const auto* changed = std::get_if<permits_changed>(&e))
        all += changed->booked.size();
    return all;
  }

  [[nodiscard]] std::uint64_t leased() const {
    std::uint64_t all = 0;
    for (std::size_t i = 0; i < slot_shards; ++i)
      all += leased(i);
    return all;
  }

  /// The shard that owns the slots, and two others.
  [[nodiscard]] static std::size_t owner() {
    task_limit use{std::string(slot_limit), slot_queue.queue, 1};
    return value(shard_of_limit_key(slot_queue.tenant, use, slot_shards));
  }

  [[nodiscard]] static std::size_t asker() { return (owner() + 1) % slot_shards; }

  [[nodiscard]] static std::size_t third() { return (owner() + 2) % slot_shards; }

  [[nodiscard]] std::uint64_t lent() const {
    return nodes_[owner()].state->lent.lent_of(slot_queue);
  }

  struct letter {
    shard_id from{};
    shard_id to{};
    command what;
  };

  std::array<node, slot_shards> nodes_;
  std::vector<letter> letters_;
  instant now_{monotonic_time{1h}, timestamp{1h}};
  std::uint64_t requests_ = 0;
  /// The most leases since the maximum was set.
  std::uint64_t most_ = 0;
  bool must_sync_ = false;
  /// Number of workers that were told of tasks.
  int notified_ = 0;
};

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

TEST_F(QueueSlots, SlotIsNotTakenAndReturnedAgainAndAgainForAnOutrankedWorker) {
  set_maximum(2);
  nodes_[asker()].state->join_board(std::make_shared<board_with_a_better_task>());
  enqueue_tasks(asker(), 1);
  pass(5s);

  EXPECT_EQ(leased(asker()), 0u);
  EXPECT_EQ(bookings(owner()), 1u);
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
  base::complete_max_leased(config, 4, 3);
  EXPECT_EQ(config.max_leased, 3u);

  queue_config other;
  other.max_leased_part = 2;
  base::complete_max_leased(other, 4, 3);
  EXPECT_EQ(other.max_leased, 8u);

  queue_config none;
  base::complete_max_leased(none, 4, 3);
  EXPECT_EQ(none.max_leased, 0u);
  EXPECT_EQ(none.max_leased_part, 0u);
}

} // namespace
} // namespace codeq::core
