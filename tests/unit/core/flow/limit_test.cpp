// SPDX-License-Identifier: Apache-2.0
#include "core/checks/invariants.hpp"
#include "core/commands/routing.hpp"
#include "core/state/apply.hpp"
#include "core/state/task_limits.hpp"
#include "support/shard_fixture.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace codeq::test {
namespace {

using namespace std::chrono_literals;

/// Tasks with limits, of which a worker with many slots takes what it gets.
class Limit : public shard_fixture {
protected:
  Limit() {
    set_limit("api", limit_definition{.concurrency = 1});
    attach("w", {"q"});
  }

  static enqueue_options use(const std::string& key, std::uint32_t cost = 1) {
    return {.limits = {{"api", key, cost}}};
  }

  void add(const std::string& key, int count = 1) {
    for (; count > 0; --count)
      enqueue("q", 1, use(key));
  }

  /// Limits the rate instead, to 10 per second.
  void limit_rate(std::uint32_t burst) {
    set_limit("api", limit_definition{.rate = start_rate{10, 1s, burst}});
  }

  /// The numbers of the tasks that are leased.
  [[nodiscard]] std::vector<int> running(int tasks) const {
    std::vector<int> found;
    for (int i = 1; i <= tasks; ++i)
      if (state_of(i) == "leased")
        found.push_back(i);
    return found;
  }

  [[nodiscard]] core::task_lease lease_of(int number) const {
    return {task(number), entry_of(number).token};
  }

  std::string limited(int number, duration retry_after, const std::string& limit = {}) {
    core::lease_report r;
    r.how = disposition::limited;
    r.delay = retry_after;
    r.limit = limit;
    return report("w", lease_of(number), r);
  }

  /// The keys in use, as the operator `o`, who is the first peer, is told.
  std::string keys() {
    return decide(core::list_limit_keys{1, 1, {"default", "api"}, {{}, 100, true}});
  }

  using numbers = std::vector<int>;
};

TEST_F(Limit, UnknownLimitIsRefusedAtEnqueue) {
  EXPECT_EQ(enqueue("q", 1, {.limits = {{"apy", "k", 1}}}), "p: refused unknown_limit");
}

TEST_F(Limit, OneTaskOfAKeyRunsAtATimeAndOtherKeysGoOn) {
  add("a", 2);
  add("b");
  claim("w", 10);

  EXPECT_EQ(running(3), (numbers{1, 3}));
  EXPECT_EQ(state_of(2), "ready");
}

TEST_F(Limit, EndOfTheLeaseStartsTheNextTaskInTheSameTurn) {
  add("a", 3);
  claim("w", 10);

  EXPECT_NE(complete("w", lease_of(1)).find("got 2/"), std::string::npos);
  EXPECT_EQ(running(3), (numbers{2}));
}

TEST_F(Limit, EveryEndOfALeaseFreesTheSlot) {
  add("a", 8);
  claim("w", 20);
  fail_permanently("w", lease_of(1));
  EXPECT_EQ(running(8), (numbers{2}));
  nack("w", lease_of(2), 1h);
  EXPECT_EQ(running(8), (numbers{3}));
  cancel(3);
  core::lease_report stopped;
  stopped.how = disposition::cancelled;
  report("w", lease_of(3), stopped);
  EXPECT_EQ(running(8), (numbers{4}));
  force(4, force_kind::fail, "no");
  EXPECT_EQ(running(8), (numbers{5}));
  advance(11s);
  expire(lease_of(5));
  EXPECT_EQ(running(8), (numbers{5})) << "its first loss in a row is eligible at once, and first";
  core::task_part all;
  all.filter.state = task_state::dead;
  all.limit = 10;
  change_many(core::bulk_kind::purge_dead, all);
  EXPECT_EQ(running(8), (numbers{5}));
  release("w");
  EXPECT_EQ(running(8).size(), 1u);
}

TEST_F(Limit, HeldTaskHoldsUpNobodyElseOfItsQueue) {
  add("a", 50);
  enqueue("q", 2);
  claim("w", 3);

  EXPECT_EQ(running(52), (numbers{1, 51, 52}));
}

TEST_F(Limit, HeldTasksKeepTheirPlace) {
  add("a", 1);
  claim("w", 10);
  enqueue("q", 1, use("a"));
  auto urgent = use("a");
  urgent.priority = 5;
  enqueue("q", 1, urgent);
  complete("w", lease_of(1));

  EXPECT_EQ(running(3), (numbers{3}));
}

TEST_F(Limit, TaskStartsOnlyWhenAllItsLimitsAdmitIt) {
  set_limit("db", limit_definition{.concurrency = 1});
  enqueue("q", 1, {.limits = {{"api", "a", 1}, {"db", "", 1}}});
  enqueue("q", 1, {.limits = {{"api", "b", 1}, {"db", "", 1}}});
  add("b");
  claim("w", 10);

  EXPECT_EQ(running(3), (numbers{1, 3})) << "what waits for one limit holds no slot of another";
  complete("w", lease_of(1));
  EXPECT_EQ(running(3), (numbers{3}));
  complete("w", lease_of(3));
  EXPECT_EQ(running(3), (numbers{2}));
}

TEST_F(Limit, RateLimitsStartsWithABurst) {
  limit_rate(2);
  add("a", 5);
  claim("w", 10);
  EXPECT_EQ(running(5), (numbers{1, 2}));
  advance(99ms);
  EXPECT_EQ(running(5).size(), 2u);
  advance(1ms);
  EXPECT_EQ(running(5), (numbers{1, 2, 3}));
  advance(200ms);
  EXPECT_EQ(running(5).size(), 5u);
}

TEST_F(Limit, CostCountsAgainstTheRate) {
  limit_rate(10);
  enqueue("q", 1, use("a", 10));
  add("a");
  claim("w", 10);
  EXPECT_EQ(running(2), (numbers{1}));
  advance(100ms);
  EXPECT_EQ(running(2), (numbers{1, 2}));
}

TEST_F(Limit, ActualCostIsSettledAtTheEnd) {
  limit_rate(1);
  add("a", 2);
  claim("w", 10);
  core::lease_report dear;
  dear.how = disposition::completed;
  dear.costs = {{"api", {}, 5}};
  report("w", lease_of(1), dear);
  advance(400ms);
  EXPECT_EQ(running(2), numbers{});
  advance(100ms);
  EXPECT_EQ(running(2), (numbers{2}));
}

TEST_F(Limit, CostOfALimitThatTheTaskDoesNotHaveIsLeftOut) {
  add("a");
  claim("w", 1);
  core::lease_report other;
  other.how = disposition::completed;
  other.costs = {{"db", {}, 5}};
  report("w", lease_of(1), other);

  EXPECT_EQ(state_of(1), "completed") << "what was done must not be repeated";
}

TEST_F(Limit, CostWithoutANameIsLeftOut) {
  limit_rate(1);
  add("a", 2);
  claim("w", 10);
  core::lease_report unnamed;
  unnamed.how = disposition::completed;
  unnamed.costs = {{"", {}, 5}};
  report("w", lease_of(1), unnamed);

  advance(100ms);
  EXPECT_EQ(running(2), (numbers{2}));
}

TEST_F(Limit, LimitedByALimitThatTheTaskDoesNotHaveWaitsAlone) {
  add("a", 2);
  claim("w", 1);
  limited(1, 30s, "db");

  EXPECT_EQ(state_of(1), "scheduled");
  EXPECT_EQ(entry_of(1).attempt, 0);
  claim("w", 10);
  EXPECT_EQ(running(2), (numbers{2})) << "its key is open";
}

TEST_F(Limit, LimitedAfterItsLimitWasDeletedWaitsAlone) {
  add("a", 2);
  claim("w", 1);
  set_limit("api", std::nullopt);
  limited(1, 30s);
  claim("w", 10);

  EXPECT_EQ(running(2), (numbers{2}));
  advance(30s);
  EXPECT_EQ(running(2), (numbers{1, 2}));
}

TEST_F(Limit, LimitedGivesTheTaskBackUnchargedAndClosesItsKey) {
  add("a", 2);
  add("b");
  claim("w", 10);
  limited(1, 30s);

  EXPECT_EQ(running(3), (numbers{3}));
  EXPECT_EQ(entry_of(1).attempt, 0);
  EXPECT_EQ(entry_of(1).refunds, 0);
  advance(29s);
  EXPECT_EQ(running(2), numbers{});
  advance(1s);
  EXPECT_EQ(running(2), (numbers{1}));
}

TEST_F(Limit, LimitedDoesNotShortenAClosure) {
  set_limit("api", limit_definition{.concurrency = 2});
  add("a", 3);
  claim("w", 10);
  limited(1, 30s);
  limited(2, 0s);
  EXPECT_EQ(running(3), numbers{});

  close_key("api", "a", 5s);
  advance(5s);
  EXPECT_EQ(running(3).size(), 2u) << "an operator does";
}

TEST_F(Limit, LimitedWithoutALimitOnlyWaits) {
  enqueue("q");
  claim("w", 2);
  limited(1, 30s);

  EXPECT_EQ(state_of(1), "scheduled");
  advance(30s);
  EXPECT_EQ(running(1), (numbers{1}));
}

TEST_F(Limit, LimitedNamesALimitOfTheTask) {
  set_limit("db", limit_definition{.concurrency = 5});
  enqueue("q", 1, {.limits = {{"api", "a", 1}, {"db", "x", 1}}});
  enqueue("q", 1, {.limits = {{"db", "x", 1}}});
  claim("w", 1);

  limited(1, 30s, "db");
  claim("w", 10);
  EXPECT_EQ(running(2), numbers{});
}

TEST_F(Limit, OperatorClosesAndOpensAKey) {
  close_key("api", "a", 1h);
  add("a");
  claim("w", 10);
  EXPECT_EQ(running(1), numbers{});
  EXPECT_EQ(explain(1), "o: 1 limited until 3600000 by api:a behind 0");

  close_key("api", "a", 0s);
  EXPECT_EQ(running(1), (numbers{1}));
}

TEST_F(Limit, ChangeTakesEffectAtOnceAndRevokesNothing) {
  set_limit("api", limit_definition{.concurrency = 3});
  add("a", 5);
  claim("w", 10);
  EXPECT_EQ(running(5).size(), 3u);
  EXPECT_EQ(
    set_limit("api", limit_definition{.concurrency = 1}),
    "o: limits api leased 3 held 2 keys 1 above 1");
  EXPECT_EQ(running(5).size(), 3u);
  complete("w", lease_of(1));
  complete("w", lease_of(2));
  EXPECT_EQ(running(5).size(), 1u);
  set_limit("api", limit_definition{.concurrency = 2});
  EXPECT_EQ(running(5).size(), 2u);
}

TEST_F(Limit, PastStartsCountByTheNewRate) {
  set_limit("api", limit_definition{.rate = start_rate{60, 1h, 2}});
  add("a", 4);
  claim("w", 10);
  EXPECT_EQ(running(4), (numbers{1, 2}));

  set_limit("api", limit_definition{.rate = start_rate{10, 1s, 2}});
  EXPECT_EQ(running(4), (numbers{1, 2}));
  advance(100ms);
  EXPECT_EQ(running(4), (numbers{1, 2, 3}));
  set_limit("api", limit_definition{.rate = start_rate{60, 1h, 2}});
  advance(59s);
  EXPECT_EQ(running(4), (numbers{1, 2, 3}));
  EXPECT_EQ(core::durable_text(*recovered(turns())), core::durable_text(state()));
  advance(1s);
  EXPECT_EQ(running(4), (numbers{1, 2, 3, 4}));
}

TEST_F(Limit, PastStartsAreForgottenWithTheRate) {
  set_limit("api", limit_definition{.rate = start_rate{1, 1h, 1}});
  add("a", 3);
  claim("w", 10);
  const limit_definition slots{.concurrency = 1};
  const limit_definition slow{.concurrency = 3, .rate = start_rate{1, 1h, 1}};

  set_limit("api", slots);
  set_limit("api", slow);
  EXPECT_EQ(running(3), (numbers{1, 2}));
  set_limit("api", std::nullopt);
  EXPECT_EQ(running(3), (numbers{1, 2, 3}));
  EXPECT_EQ(core::durable_text(*recovered(turns())), core::durable_text(state()));
}

TEST_F(Limit, DeletingALimitLetsItsTasksGo) {
  add("a", 5);
  claim("w", 10);
  set_limit("api", std::nullopt);

  EXPECT_EQ(running(5).size(), 5u);
  EXPECT_EQ(set_limit("api", std::nullopt), "o: refused unknown_limit");
}

TEST_F(Limit, ZeroStartsNothing) {
  set_limit("api", limit_definition{.concurrency = 0});
  add("a");
  claim("w", 10);
  EXPECT_EQ(running(1), numbers{});
}

TEST_F(Limit, DryRunChangesNothing) {
  add("a");
  claim("w", 10);
  EXPECT_EQ(
    decide(core::set_limit{1, 1, {"default", "api"}, limit_definition{.concurrency = 0}, true}),
    "o: limits api leased 1 held 0 keys 1 above 1 key a waits 0 room 0");
  complete("w", lease_of(1));
  add("a");
  EXPECT_EQ(running(2), (numbers{2}));
}

TEST_F(Limit, SlotsAreCountedAgainFromTheLeasesAfterARestart) {
  add("a", 3);
  claim("w", 10);
  restart();
  attach("w", {"q"});
  claim("w", 10);
  EXPECT_EQ(running(3), (numbers{1}));
  complete("w", lease_of(1));
  EXPECT_EQ(running(3).size(), 1u);
}

TEST_F(Limit, StartsAndClosuresAreRememberedByARestart) {
  limit_rate(1);
  add("a", 2);
  close_key("api", "b", 1h);
  claim("w", 10);
  complete("w", lease_of(1));
  add("b");
  restart();
  attach("w", {"q"});
  claim("w", 10);

  EXPECT_EQ(running(3), numbers{});
  advance(100ms);
  EXPECT_EQ(running(3), (numbers{2}));
  EXPECT_EQ(state_of(3), "ready");
}

TEST_F(Limit, EveryPrefixOfTheTurnsIsRecoveredAsItWas) {
  limit_rate(3);
  add("a", 4);
  claim("w", 10);
  complete("w", lease_of(1));
  limited(2, 5s);
  advance(6s);
  set_limit("db", limit_definition{.concurrency = 3});
  set_limit("db", std::nullopt);

  EXPECT_EQ(core::durable_text(*recovered(turns())), core::durable_text(state()));
}

TEST_F(Limit, AfterLostWritesTheBurstOfEveryKeyCountsAsUsedUp) {
  limit_rate(5);
  add("a", 2);
  state().limits.use_up_all(now());
  claim("w", 10);
  EXPECT_EQ(running(2), numbers{});
  restart();
  attach("w", {"q"});
  claim("w", 10);
  EXPECT_EQ(running(2), numbers{}) << "it is durable";
  advance(100ms);
  EXPECT_EQ(running(2), (numbers{1}));
}

TEST_F(Limit, HeldTasksAreCancelledPromotedPurgedAndPaused) {
  add("a", 3);
  auto later = use("a");
  later.delay = 1h;
  later.allow_promotion = true;
  enqueue("q", 1, later);
  claim("w", 10);
  EXPECT_EQ(running(4), (numbers{1}));
  cancel(2);
  promote(4);
  EXPECT_EQ(state_of(4), "ready");
  pause("q");
  complete("w", lease_of(1));
  EXPECT_EQ(running(4), numbers{});
  unpause("q");
  EXPECT_EQ(running(4), (numbers{3}));
  core::task_part all;
  all.limit = 10;
  change_many(core::bulk_kind::purge_all, all);
  EXPECT_EQ(keys(), "o: limits");
}

TEST_F(Limit, FairnessKeysGoOnTakingTurns) {
  auto flood = use("x");
  flood.fairness = {"flood", 1};
  for (int i = 0; i < 4; ++i)
    enqueue("q", 1, flood);
  enqueue("q", 2, {.fairness = {"small", 1}});
  claim("w", 1);
  claim("w", 2);

  EXPECT_EQ(running(6), (numbers{1, 5, 6}));
}

TEST_F(Limit, TaskOfAQueueWithoutWorkersDoesNotKeepTheSlotOfOthers) {
  enqueue("other", 1, use("a"));
  attach("v", {"other"});
  claim("v", 1);
  add("a", 2);
  enqueue("other", 1, use("a"));
  claim("w", 10);
  pause("other");
  complete("v", lease_of(1));

  EXPECT_EQ(running(4).size(), 1u);
}

TEST_F(Limit, SlotGoesToTheQueueThatWasServedLongestAgo) {
  add("a", 10);
  for (int i = 0; i < 10; ++i)
    enqueue("other", 1, use("a"));
  attach("v", {"q", "other"});
  claim("v", 100);
  std::vector<int> ended;

  for (int i = 0; i < 6; ++i) {
    ended.push_back(running(20).at(0));
    complete("v", lease_of(ended.back()));
  }

  EXPECT_EQ(ended, (std::vector<int>{1, 11, 2, 12, 3, 13}));
}

TEST_F(Limit, KeysInUseAreListed) {
  add("a", 2);
  add("b");
  claim("w", 10);
  EXPECT_EQ(keys(), "o: limits key a leased 1 held 1 key b leased 1 held 0");
  complete("w", lease_of(3));
  EXPECT_EQ(keys(), "o: limits key a leased 1 held 1");
}

TEST_F(Limit, NothingIsKeptOfKeysThatNothingUses) {
  limit_rate(1);
  for (int i = 0; i < 100; ++i)
    add(std::to_string(i));
  claim("w", 200);
  for (int i = 1; i <= 100; ++i)
    complete("w", lease_of(i));
  advance(3s);

  EXPECT_EQ(state().limits.keys().size(), 0u);
  EXPECT_TRUE(state().limits.marks().empty());
  EXPECT_TRUE(recovered(turns())->limits.marks().empty());
}

TEST_F(Limit, KeyIsRemovedFromTheLogWhenItsStartsArePaidFor) {
  limit_rate(1);
  add("a");
  claim("w", 1);
  complete("w", lease_of(1));
  advance(3s);
  const auto& event = std::get<core::limit_keys_changed>(events().back());
  ASSERT_EQ(event.keys.size(), 1u);
  EXPECT_TRUE(event.keys.front().is_over);
}

TEST_F(Limit, FollowUpWithAnUnknownLimitRefusesTheCompletion) {
  enqueue("q");
  claim("w", 1);
  core::follow_up next;
  next.run.queue = {"default", "q"};
  next.run.limits = {{"gone", "", 1}};
  EXPECT_NE(
    complete_with("w", lease_of(1), {next}).find("unknown_limit"), std::string::npos);
  EXPECT_EQ(running(1), (numbers{1}));
}

TEST_F(Limit, HeldTaskIsExplained) {
  add("a", 4);
  claim("w", 10);
  EXPECT_EQ(explain(4), "o: 4 limited by api:a behind 2");
}

TEST_F(Limit, OneTurnHoldsABoundedNumberOfTasksBackAndTheNextGoesOn) {
  auto most = tuning::limits_held_per_turn_max;
  pause("q");
  enqueue_all("q", std::vector<enqueue_options>(most + 10, use("a")));
  enqueue("q");
  claim("w", 10);
  unpause("q");
  EXPECT_EQ(state().find_queue({"default", "q"})->held, most);
  EXPECT_EQ(core::next_wakeup(state(), instant_now()), duration{0});
  advance(0ms);
  EXPECT_EQ(state_of(static_cast<int>(most) + 11), "leased");
}

TEST_F(Limit, SnapshotKeepsLimitsOfTasks) {
  add("a", 3);
  claim("w", 1);
  take_snapshot();
  EXPECT_EQ(core::durable_text(*recovered(turns())), core::durable_text(state()));
}

TEST_F(Limit, TaskThatWaitsForAPermitKeepsItsPlaceAtAKeyOfThisShard) {
  constexpr std::uint16_t shards = 4;
  set_limit("gpu", limit_definition{.concurrency = 1});
  core::open_permits(state(), shards);
  task_limit own{"gpu", "a", 1};
  while (core::shard_of_limit_key("default", own, shards) != state().id)
    own.key += "a";
  task_limit others{"api", "a", 1};
  while (core::shard_of_limit_key("default", others, shards) == state().id)
    others.key += "a";
  claim("w", 9);
  enqueue("q", 1, {.limits = {own}});
  enqueue("q", 1, {.limits = {own, others}});
  enqueue("q", 1, {.limits = {own}});
  ASSERT_EQ(running(3), numbers{1});

  complete("w", lease_of(1));
  EXPECT_EQ(running(3), numbers{}) << "the permit may come";
  EXPECT_EQ(core::find_violations(state()), std::vector<std::string>{});
  advance(79ms);
  EXPECT_EQ(running(3), numbers{});
  advance(1ms);

  EXPECT_EQ(running(3), numbers{3});
}

} // namespace
} // namespace codeq::test
