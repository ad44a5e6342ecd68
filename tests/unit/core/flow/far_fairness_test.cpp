// SPDX-License-Identifier: Apache-2.0
#include "support/queue_slots.hpp"

#include <functional>
#include <map>
#include <memory>
#include <string>

namespace codeq::core {
namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t at_once = 2;

/// Four shards with a limit of two tasks at once, whose key another shard owns than those that have
/// the tasks. Each task runs for 50 ms.
class FarFairness : public QueueSlots {
protected:
  FarFairness() {
    for (std::size_t i = 0; i < slot_shards; ++i)
      decide(i, set_limit{2, 1, limit_, limit_definition{.concurrency = at_once}});
  }

  void add(
    std::size_t index,
    const std::string& key,
    std::uint32_t count,
    std::uint16_t weight = 1,
    const queue_address& queue = slot_queue) {
    for (; count > 0; --count)
      enqueue_limited(index, queue, {key, weight}, {}, use_);
  }

  void enqueue_limited(
    std::size_t index,
    const queue_address& queue,
    const fairness_mark& fairness,
    const std::string& group,
    const task_limit& use) {
    enqueue_run run;
    run.queue = queue;
    run.group = group;
    run.settings.lease = std::chrono::hours{1};
    run.fairness = fairness;
    run.limits = {use};
    run.tasks = test::encode_bodies(1, 8);
    auto session = make_producer_id(now_.shard, 0, nodes_[index].epoch);
    decide(index, enqueue{2, {session, ++requests_, 0}, {std::move(run)}});
  }

  /// Tasks of a group, without a fairness key; counted by the group.
  void add_group(std::size_t index, const std::string& group, std::uint32_t count) {
    for (; count > 0; --count)
      enqueue_limited(index, slot_queue, {}, group, use_);
  }

  /// Lets what runs run to its end, so often. Counts the ends by key.
  std::map<std::string, int> run(int rounds) {
    std::map<std::string, int> ended;
    for (; rounds > 0; --rounds) {
      pass(50ms);
      for (std::size_t i = 0; i < slot_shards; ++i) {
        auto& one = nodes_[i];
        for (std::size_t left = one.running.size(); left > 0; --left) {
          const auto& s = *find_segment(one.state->segments, one.running.back().seq);
          ++ended[s.group.empty() ? s.mark().key : s.group];
          complete_one(i);
        }
      }
    }
    return ended;
  }

  /// Between `stop` and `go` the first shard, on which tasks wait, gets no permits; then at once.
  void expect_none_between(const std::function<void()>& stop, const std::function<void()>& go) {
    add(first_, "", 40);
    (void)run(2);
    stop();
    pass(200ms);
    EXPECT_EQ(leased(), 0u);
    const auto booked = bookings(owner_);
    pass(1s);
    EXPECT_EQ(bookings(owner_), booked) << "others could have the slots";
    go();
    pass(50ms);
    EXPECT_EQ(leased(first_), at_once);
  }

  const limit_address limit_{"default", "api"};
  const task_limit use_{"api", "", 1};
  const std::size_t owner_ = value(shard_of_limit_key("default", use_, slot_shards));
  const std::size_t first_ = (owner_ + 1) % slot_shards;
  const std::size_t second_ = (owner_ + 2) % slot_shards;
};

TEST_F(FarFairness, SmallCustomerIsNotBehindAFloodOfItsShard) {
  add(first_, "flood", 300);
  (void)run(5);
  add(first_, "small", 5);

  EXPECT_EQ(run(40)["small"], 5) << "of about 80 ends";
}

TEST_F(FarFairness, SmallCustomerIsNotBehindAFloodOfAnotherShard) {
  add(first_, "flood", 300);
  (void)run(5);
  add(second_, "small", 5);

  EXPECT_EQ(run(10)["small"], 5) << "of about 20 ends";
}

TEST_F(FarFairness, QueuesTakeTurnsHoweverLongTheirTasksRun) {
  add(first_, "customer", 100);
  (void)run(5);
  add(second_, "", 100, 1, free_queue);

  auto ended = run(40);

  EXPECT_GT(ended["customer"], 20);
  EXPECT_GT(ended[""], 20);
}

TEST_F(FarFairness, PermitThatWaitsComesBeforeOneThatIsWantedNow) {
  // Each end opens the next task of its group, which wants its permit in the same message.
  for (int group = 0; group < 2; ++group)
    add_group(first_, "group-" + std::to_string(group), 50);
  (void)run(2);
  add_group(second_, "late", 1);

  EXPECT_EQ(run(5)["late"], 1) << "of about 10 ends";
}

TEST_F(FarFairness, TaskThatCostsMuchIsNotPassedForEverByCheapOnes) {
  const limit_address paced{"default", "paced"};
  for (std::size_t i = 0; i < slot_shards; ++i)
    decide(i, set_limit{2, 2, paced, limit_definition{.rate = start_rate{10, 1s, 10}}});
  const auto owner = value(shard_of_limit_key("default", {"paced", "", 1}, slot_shards));
  for (int i = 0; i < 300; ++i)
    enqueue_limited((owner + 1) % slot_shards, slot_queue, {"cheap", 1}, {}, {"paced", "", 1});
  (void)run(40);
  enqueue_limited((owner + 2) % slot_shards, free_queue, {"dear", 1}, {}, {"paced", "", 10});

  EXPECT_EQ(run(100)["dear"], 1) << "in 5 s";
}

TEST_F(FarFairness, PausedQueueTakesNoSlots) {
  expect_none_between(
    [&] { decide(first_, pause_queue{2, ++requests_, slot_queue, true}); },
    [&] { decide(first_, pause_queue{2, ++requests_, slot_queue, false}); });
}

TEST_F(FarFairness, ShardThatGrantsNothingTakesNoSlots) {
  auto& is_paused = nodes_[first_].state->are_grants_paused;
  expect_none_between([&] { is_paused = true; }, [&] { is_paused = false; });
}

TEST_F(FarFairness, WeightsCountOverShards) {
  add(first_, "a", 300);
  add(second_, "b", 300, 3);

  auto ended = run(100);

  const auto all = ended["a"] + ended["b"];
  EXPECT_GT(all, 100);
  EXPECT_GT(ended["b"], all * 6 / 10);
  EXPECT_GT(ended["a"], all / 8);
}

} // namespace
} // namespace codeq::core
