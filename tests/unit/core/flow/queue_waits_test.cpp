// SPDX-License-Identifier: Apache-2.0
#include "core/checks/invariants.hpp"
#include "core/commands/routing.hpp"
#include "core/queues/queue_waits.hpp"
#include "core/state/task_limits.hpp"
#include "support/shard_fixture.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

namespace codeq::test {
namespace {

using namespace std::chrono_literals;

/// The account of the waiting tasks of queue `q`.
class QueueWaits : public shard_fixture {
protected:
  using counts = std::map<task_reason, std::uint64_t>;

  [[nodiscard]] queue_explanation why() {
    return core::explain_queue(state(), {"default", "q"}, instant_now().steady);
  }

  /// One task, leased to `w` as 1/t1.
  void lease_one(const task_settings& settings = {}) {
    attach("w", {"q"});
    claim("w", 1);
    enqueue("q", 1, {.settings = settings});
  }

  [[nodiscard]] core::task_lease lease_of(int number) const {
    return {task(number), entry_of(number).token};
  }
};

TEST_F(QueueWaits, UnknownQueueIsSaidToBe) {
  EXPECT_FALSE(why().exists);
  EXPECT_EQ(why().waiting, counts{});
}

TEST_F(QueueWaits, DeferredTasksAndRetriesAreToldApart) {
  lease_one({.retry = {retry_kind::fixed, 7s, 7s}});
  fail("w", held(1, 1));
  enqueue("q", 2, {.delay = 1h, .allow_promotion = true});

  EXPECT_EQ(why().waiting, (counts{{task_reason::deferred, 2}, {task_reason::retry_waiting, 1}}));
  promote(2);
  EXPECT_EQ(why().waiting.at(task_reason::deferred), 1u);
  advance(7s);
  EXPECT_FALSE(why().waiting.contains(task_reason::retry_waiting));
}

TEST_F(QueueWaits, TasksBehindTheirGroupAndWhatBlocksItAreCounted) {
  attach("w", {"q"});
  claim("w", 1);
  enqueue("q", 3, {.settings = {.when_dead = on_dead::block}, .group = "g"});
  EXPECT_EQ(why().waiting, (counts{{task_reason::gated, 2}}));
  EXPECT_EQ(why().leased, 1u);
  EXPECT_EQ(why().blocking, 0u);

  fail_permanently("w", held(1, 1));

  EXPECT_EQ(why().waiting, (counts{{task_reason::gated, 2}}));
  EXPECT_EQ(why().blocking, 1u);
  redrive(1);
  EXPECT_EQ(why().blocking, 0u);
}

TEST_F(QueueWaits, ReadyTasksWaitForWhatTheirQueueAndItsWorkersLack) {
  enqueue("q", 3);
  EXPECT_EQ(why().waiting, (counts{{task_reason::no_worker, 3}}));
  attach("w", {"q"});
  claim("w", 1);
  EXPECT_EQ(why().waiting, (counts{{task_reason::no_free_slots, 2}}));
  configure("q", {.max_leased = 1});
  EXPECT_EQ(why().waiting, (counts{{task_reason::queue_at_max_leased, 2}}));
  pause("q");
  EXPECT_EQ(why().waiting, (counts{{task_reason::queue_paused, 2}}));
}

TEST_F(QueueWaits, TasksOfOtherKeysThanTheNextOneWaitForTheirTurns) {
  attach("w", {"q"});
  claim("w", 1);
  enqueue("q", 4, {.fairness = {"a"}});
  enqueue("q", 2, {.fairness = {"b"}});
  enqueue("q", 1, {.fairness = {"c"}});

  EXPECT_EQ(
    why().waiting, (counts{{task_reason::no_free_slots, 2}, {task_reason::fairness, 4}}));
  EXPECT_EQ(explain(6), "o: 6 no free slots");
  EXPECT_EQ(explain(7), "o: 7 fairness of 'c' behind 1 for 5");
  EXPECT_EQ(explain(2), "o: 2 fairness of 'a' behind 2 for 5")
    << "what runs now, and 2 others of weight 1; a task runs for 1 ms, in one slot";
  configure("q", {.max_leased = 1});
  EXPECT_EQ(
    why().waiting, (counts{{task_reason::queue_at_max_leased, 2}, {task_reason::fairness, 4}}));
  pause("q");
  EXPECT_EQ(why().waiting, (counts{{task_reason::queue_paused, 6}}));
  EXPECT_EQ(explain(7), "o: 7 queue paused");
  unpause("q");
  detach("w");
  EXPECT_EQ(why().waiting, (counts{{task_reason::no_worker, 6}}));
}

TEST_F(QueueWaits, EachPriorityHasAKeyWhoseTurnIsNext) {
  attach("w", {"q"});
  claim("w", 1);
  enqueue("q", 2, {.fairness = {"a"}});
  enqueue("q", 1, {.fairness = {"b"}});
  enqueue("q", 2, {.priority = 1, .fairness = {"b"}});

  EXPECT_EQ(
    why().waiting, (counts{{task_reason::no_free_slots, 3}, {task_reason::fairness, 1}}));
  EXPECT_EQ(explain(4), "o: 4 no free slots");
}

TEST_F(QueueWaits, HeldTaskOfAKeyWaitsForItsLimit) {
  set_limit("api", limit_definition{.concurrency = 0});
  attach("w", {"q"});
  claim("w", 1);
  enqueue("q", 1, {.fairness = {"c"}, .limits = {{"api", "", 1}}});
  enqueue("q", 2, {.fairness = {"a"}});
  enqueue("q", 1, {.fairness = {"b"}});

  EXPECT_EQ(
    why().waiting,
    (counts{
      {task_reason::limited, 1}, {task_reason::no_free_slots, 1}, {task_reason::fairness, 1}}));
  EXPECT_EQ(core::find_violations(state()), std::vector<std::string>{});
}

TEST_F(QueueWaits, QueueAtItsMaximumAndItsTasksAgreeOnWhatALimitHolds) {
  set_limit("api", limit_definition{.concurrency = 1});
  configure("q", {.max_leased = 1});
  attach("w", {"q"});
  claim("w", 4);
  enqueue("q", 1, {.limits = {{"api", "a", 1}}});
  enqueue("q", 1, {.limits = {{"api", "b", 1}}});
  enqueue("q", 1, {.limits = {{"api", "a", 1}}});

  EXPECT_EQ(why().waiting, (counts{{task_reason::queue_at_max_leased, 2}}));
  EXPECT_EQ(explain(2), "o: 2 queue at max leased");
  EXPECT_EQ(explain(3), "o: 3 queue at max leased") << "it is not its turn yet";

  configure("q", {.max_leased = 2});
  EXPECT_EQ(why().waiting, (counts{{task_reason::limited, 1}}));
  EXPECT_EQ(explain(3), "o: 3 limited by api:a behind 0");

  configure("q", {.max_leased = 1});
  EXPECT_EQ(why().waiting, (counts{{task_reason::limited, 1}})) << "it is held already";
  EXPECT_EQ(explain(3), "o: 3 limited by api:a behind 0");
}

TEST_F(QueueWaits, WorkerThatTakesNoMoreOfAQueueForNowCountsAsBusyThere) {
  attach("w", {"q", "r"});
  claim("w", 3);
  enqueue("q");
  change_queues("w", {"r"}, {"q"});
  EXPECT_EQ(enqueue("q"), "p: enqueued 2") << "it has credits, but none for this queue";

  EXPECT_EQ(why().waiting, (counts{{task_reason::no_free_slots, 1}}));
  EXPECT_EQ(why().workers, 1u);

  attach("v", {"q"});
  EXPECT_EQ(why().workers, 2u);
  detach("v");
  EXPECT_EQ(change_queues("w", {"q", "r"}), "w: got 2/t2");
  detach("w");
  enqueue("q");
  EXPECT_EQ(why().waiting, (counts{{task_reason::no_worker, 1}}));
}

TEST_F(QueueWaits, LimitsAndKeysThatHoldMostAreNamed) {
  set_limit("api", limit_definition{.concurrency = 1});
  set_limit("db", limit_definition{.concurrency = 0});
  attach("w", {"q", "other"});
  enqueue("q", 3, {.limits = {{"api", "a", 1}}});
  enqueue("q", 2, {.limits = {{"api", "b", 1}}});
  enqueue("q", 1, {.limits = {{"db", "", 1}}});
  claim("w", 20);
  enqueue("other", 2, {.limits = {{"api", "a", 1}}});

  auto found = why();

  EXPECT_EQ(found.waiting, (counts{{task_reason::limited, 4}}));
  EXPECT_EQ(found.leased, 2u);
  ASSERT_EQ(found.limits.size(), 2u);
  EXPECT_EQ(found.limits[0].limit, "api");
  EXPECT_EQ(found.limits[0].at.held, 3u);
  EXPECT_EQ(found.limits[1].at.held, 1u);
  ASSERT_EQ(found.keys.size(), 3u);
  EXPECT_EQ(found.keys[0].at.key, "a");
  EXPECT_EQ(found.keys[0].at.held, 2u) << "those of another queue do not count";
  EXPECT_EQ(found.keys[0].at.leased, 1u);
  EXPECT_FALSE(found.keys[0].at.next_start);
  EXPECT_TRUE(found.has_all_keys);
  complete("w", lease_of(4));
  EXPECT_EQ(why().waiting, (counts{{task_reason::limited, 3}})) << "the next one of key b runs";
}

TEST_F(QueueWaits, TasksThatWaitForAPermitNameTheKeyOfTheOtherShard) {
  constexpr std::uint16_t shards = 4;
  set_limit("api", limit_definition{.concurrency = 1});
  core::open_permits(state(), shards);
  task_limit use{"api", "a", 1};
  while (core::shard_of_limit_key("default", use, shards) == state().id)
    use.key += "a";
  attach("w", {"q"});
  claim("w", 4);
  enqueue("q", 2, {.limits = {use}});

  EXPECT_EQ(why().waiting, (counts{{task_reason::limited, 2}}));
  ASSERT_EQ(why().limits.size(), 1u);
  EXPECT_EQ(why().limits[0].at.held, 2u);
  ASSERT_EQ(why().keys.size(), 1u);
  EXPECT_EQ(why().keys[0].at.key, use.key);
  EXPECT_EQ(core::find_violations(state()), std::vector<std::string>{});
  cancel(1);
  EXPECT_EQ(why().limits[0].at.held, 1u);
}

TEST_F(QueueWaits, RatesBoundWhenTheLastTaskStarts) {
  set_limit("api", limit_definition{.rate = start_rate{1, 10s, 2}});
  attach("w", {"q"});
  claim("w", 20);
  EXPECT_EQ(why().limits_need, 0ms);
  enqueue("q", 7, {.limits = {{"api", "a", 1}}});

  EXPECT_EQ(why().waiting, (counts{{task_reason::limited, 5}}));
  EXPECT_EQ(why().limits_need, 50s) << "the first of 5 starts in 10 s";
}

TEST_F(QueueWaits, SlotsBoundItByTheMeanRunTime) {
  lease_one();
  complete("w", held(1, 1));
  state().queues.front()->activity.measured().run.add(4s);
  set_limit("api", limit_definition{.concurrency = 2});
  claim("w", 20);
  enqueue("q", 8, {.limits = {{"api", "a", 1}}});

  EXPECT_EQ(why().waiting, (counts{{task_reason::limited, 6}}));
  EXPECT_EQ(why().limits_need, 12s) << "6 tasks of 4 s, two at a time";
  configure("q", {.max_leased = 2});
  EXPECT_EQ(why().limits_need, 12s);
  configure("q", {.max_leased = 1});
  EXPECT_EQ(why().limits_need, 24s);
  EXPECT_EQ(why().max_leased_need, 24s);
  set_limit("api", limit_definition{.concurrency = 0});
  EXPECT_EQ(why().limits_need, duration::max());
}

TEST_F(QueueWaits, KeysBeyondThoseLookedAtAreSaidToBe) {
  set_limit("api", limit_definition{.concurrency = 0});
  attach("w", {"q"});
  claim("w", 10);
  for (std::size_t i = 0; i <= limits::explained_keys_seen_max; ++i)
    enqueue("q", 1, {.limits = {{"api", std::to_string(i), 1}}});

  EXPECT_FALSE(why().has_all_keys);
  EXPECT_EQ(why().keys.size(), limits::explained_limits_max);
  EXPECT_EQ(why().waiting.at(task_reason::limited), limits::explained_keys_seen_max + 1);
}

TEST_F(QueueWaits, AreTheSameAfterARestart) {
  set_limit("api", limit_definition{.concurrency = 1});
  lease_one({.retry = {retry_kind::fixed, 7s, 7s}});
  fail("w", held(1, 1));
  enqueue("q", 1, {.delay = 1h});
  claim("w", 4);
  enqueue("q", 3, {.settings = {.when_dead = on_dead::block}, .group = "g"});
  fail_permanently("w", lease_of(3));
  enqueue("q", 3, {.limits = {{"api", "a", 1}}});
  auto before = why();
  restart();
  attach("w", {"q"});
  claim("w", 4);

  EXPECT_EQ(why().waiting, before.waiting);
  EXPECT_EQ(why().blocking, before.blocking);
  EXPECT_EQ(core::find_violations(state()), std::vector<std::string>{});
}

TEST_F(QueueWaits, StartsOfTheLastMinuteAreCounted) {
  attach("w", {"q"});
  claim("w", 100);
  enqueue("q", 10);
  advance(10s);
  EXPECT_EQ(why().starts_per_minute, 60u);
  advance(2min);
  EXPECT_EQ(why().starts_per_minute, 0u);
}

} // namespace
} // namespace codeq::test
