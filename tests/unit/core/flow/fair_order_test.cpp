// SPDX-License-Identifier: Apache-2.0
#include "core/flow/fair_order.hpp"
#include "support/seed.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace codeq::core {
namespace {

using namespace std::chrono_literals;

/// Tasks of some keys that are ready all the time, and the cost of each key's tasks.
class keys_with_tasks {
public:
  /// A key that is its group alone has its weight there.
  void add(fair_key who, std::int64_t cost, std::uint32_t weight = 1) {
    costs[who.key] = cost;
    order.add(who, weight, who.group == who.key ? weight : 1);
  }

  [[nodiscard]] std::int64_t cost_of(fair_key who) const { return costs.at(who.key); }

  /// Grants one task.
  fair_key grant() {
    auto who = order.next([this](fair_key key) { return cost_of(key); }).who;
    order.charge(who, cost_of(who));
    ++granted[who.key];
    used[who.group] += cost_of(who);
    return who;
  }

  void grant(int tasks) {
    for (int i = 0; i < tasks; ++i)
      grant();
  }

  fair_order order;
  std::map<std::uint32_t, std::int64_t> costs;
  std::map<std::uint32_t, int> granted;
  std::map<std::uint32_t, std::int64_t> used;
};

constexpr fair_key key(std::uint32_t number) {
  return {number, number};
}

TEST(FairOrder, KeysTakeTurns) {
  keys_with_tasks tasks;
  for (std::uint32_t k : {1u, 2u, 3u})
    tasks.add(key(k), 10);

  std::string order;
  for (int i = 0; i < 6; ++i)
    order += std::to_string(tasks.grant().key);

  EXPECT_EQ(order, "123123");
}

/// A long task makes the round longer; keys that had their turns before get the rest in the next.
TEST(FairOrder, GroupWithLongAndShortTasksGetsNoMoreThanOthers) {
  keys_with_tasks tasks;
  tasks.add({0, 10}, 300);
  tasks.add({0, 11}, 5);
  tasks.add({0, 12}, 90, 2);
  tasks.add(key(1), 10);
  tasks.add(key(2), 20, 2);

  for (int i = 0; i < 20; ++i) {
    tasks.grant(5000);
    ASSERT_NEAR(tasks.used[0], tasks.used[1], 600);
    ASSERT_NEAR(2 * tasks.used[0], tasks.used[2], 1200);
  }
}

TEST(FairOrder, KeyWhoseTasksRunTenTimesLongerGetsATenthOfTheStarts) {
  keys_with_tasks tasks;
  tasks.add(key(1), 10);
  tasks.add(key(2), 100);

  tasks.grant(1100);

  EXPECT_NEAR(tasks.granted[1], 1000, 10);
  EXPECT_NEAR(tasks.granted[2], 100, 1);
}

TEST(FairOrder, WeightsShareTheRunTime) {
  keys_with_tasks tasks;
  tasks.add(key(1), 10, 1);
  tasks.add(key(2), 10, 3);

  tasks.grant(400);

  EXPECT_EQ(tasks.granted[1], 100);
  EXPECT_EQ(tasks.granted[2], 300);
}

TEST(FairOrder, ChangedWeightHoldsFromTheNextTurnOn) {
  keys_with_tasks tasks;
  tasks.add(key(1), 10);
  tasks.add(key(2), 10);
  tasks.grant(10);

  tasks.order.set_group_weight(2, 4);
  tasks.grant(100);

  EXPECT_EQ(tasks.granted[2], 5 + 80);
}

TEST(FairOrder, GroupsShareFirstHoweverManyKeysTheyHave) {
  keys_with_tasks tasks;
  for (std::uint32_t k = 1; k <= 1000; ++k)
    tasks.add({1, k}, 10);
  tasks.add({2, 2000}, 10);

  tasks.grant(2000);

  EXPECT_EQ(tasks.used[1], tasks.used[2]);
  for (std::uint32_t k = 1; k <= 1000; ++k)
    EXPECT_EQ(tasks.granted[k], 1);
}

TEST(FairOrder, GroupsHaveWeightsOfTheirOwn) {
  keys_with_tasks tasks;
  tasks.add({1, 11}, 10, 1000);
  tasks.add({2, 12}, 10);
  tasks.order.set_group_weight(2, 3);

  tasks.grant(400);

  EXPECT_EQ(tasks.granted[12], 300);
}

TEST(FairOrder, KeysOfAGroupHaveWeights) {
  keys_with_tasks tasks;
  tasks.add({1, 11}, 10, 3);
  tasks.add({1, 12}, 10);
  tasks.grant(40);
  tasks.order.set_key_weight({1, 12}, 3);
  tasks.grant(60);

  EXPECT_NEAR(tasks.granted[11], 60, 3);
  EXPECT_NEAR(tasks.granted[12], 40, 3);
}

TEST(FairOrder, KeyThatComesBackHasNoCreditSavedUp) {
  keys_with_tasks tasks;
  tasks.add(key(1), 10);
  tasks.add(key(2), 10);
  tasks.grant(2);
  tasks.order.remove(key(2));
  tasks.grant(1000);

  tasks.order.add(key(2), 1);
  tasks.granted.clear();
  tasks.grant(10);

  EXPECT_EQ(tasks.granted[1], 5);
  EXPECT_EQ(tasks.granted[2], 5);
}

TEST(FairOrder, TasksThatRanLongerThanExpectedDelayTheirKey) {
  keys_with_tasks tasks;
  tasks.add(key(1), 10);
  tasks.add(key(2), 10);
  for (int i = 0; i < 300; ++i)
    if (tasks.grant() == key(2))
      tasks.order.settle(key(2), -10);

  // Each of its tasks used the time of two.
  EXPECT_NEAR(tasks.granted[1], 200, 2);
  EXPECT_NEAR(tasks.granted[2], 100, 2);
}

TEST(FairOrder, DebtLastsForOneRound) {
  keys_with_tasks tasks;
  tasks.add(key(1), 10);
  tasks.add(key(2), 10);
  tasks.grant(2);

  tasks.order.settle(key(2), -1'000'000);
  tasks.granted.clear();
  tasks.grant(10);

  EXPECT_EQ(tasks.granted[2], 4);
}

TEST(FairOrder, SettlingWithAKeyThatLeftDoesNothing) {
  keys_with_tasks tasks;
  tasks.add(key(1), 10);
  tasks.order.remove(key(1));

  tasks.order.settle(key(1), 5);

  EXPECT_TRUE(tasks.order.empty());
}

TEST(FairOrder, SaysHowManyTasksAKeyMayGetInARow) {
  keys_with_tasks tasks;
  tasks.add(key(1), 10, 8);
  tasks.add(key(2), 40);
  auto cost_of = [&](fair_key who) { return tasks.cost_of(who); };
  tasks.grant(9);

  auto next = tasks.order.next(cost_of);
  EXPECT_EQ(next.who, key(1));
  EXPECT_EQ(next.tasks, 8u);
}

TEST(FairOrder, LargeCostThatIsGoneDoesNotKeepAKeyInDebt) {
  keys_with_tasks tasks;
  tasks.add(key(1), 40'000'000);
  tasks.add(key(2), 1);
  tasks.grant(1);
  tasks.order.settle(key(2), -40'000'000);
  tasks.order.remove(key(1));
  tasks.grant(1);
  tasks.order.settle(key(2), -40'000'000);
  tasks.granted.clear();

  tasks.grant(1000);

  EXPECT_EQ(tasks.granted[2], 1000);
}

TEST(FairOrder, TurnsBeforeAKeyAreThoseOfOtherGroupsAndOfItsGroup) {
  keys_with_tasks tasks;
  auto before = [&](fair_key who) {
    return tasks.order.turns_before(who, [&](fair_key key) { return tasks.cost_of(key); });
  };
  constexpr fair_key member_a{0, 4};
  constexpr fair_key member_b{0, 5};
  tasks.add(member_a, 10);
  tasks.add(member_b, 10);
  tasks.add(key(1), 10);
  tasks.add(key(2), 10);
  EXPECT_EQ(before(member_a), 0u);
  EXPECT_EQ(before(member_b), 1u);
  EXPECT_EQ(before(key(1)), 1u);
  EXPECT_EQ(before(key(2)), 2u);

  EXPECT_EQ(tasks.grant(), member_a);

  EXPECT_EQ(before(key(1)), 0u);
  EXPECT_EQ(before(key(2)), 1u);
  EXPECT_EQ(before(member_b), 2u);
  EXPECT_EQ(before(member_a), 3u);
}

TEST(FairOrder, TurnsBeforeAKeyAreCountedUpToALimit) {
  keys_with_tasks tasks;
  constexpr auto most = tuning::turns_counted_max;
  for (std::uint32_t k = 0; k < 2 * most; ++k)
    tasks.add(key(k), 10);
  auto cost_of = [&](fair_key who) { return tasks.cost_of(who); };

  EXPECT_EQ(tasks.order.turns_before(key(0), cost_of), 0u);
  EXPECT_EQ(tasks.order.turns_before(key(most - 1), cost_of), most - 1);
  EXPECT_EQ(tasks.order.turns_before(key(most + 1), cost_of), most);
  // Each key is in debt.
  tasks.grant(2 * most);
  for (std::uint32_t k = 0; k < 2 * most; ++k)
    tasks.order.settle(key(k), -10);
  EXPECT_FALSE(tasks.order.preview(cost_of));
  EXPECT_EQ(tasks.order.turns_before(key(0), cost_of), most);
  EXPECT_EQ(tasks.grant(), key(0)) << "in the round after";
}

/// Keys of a few groups come and go and run longer or shorter than expected.
TEST(FairOrder, PreviewIsTheKeyThatIsChosenNext) {
  std::minstd_rand random(static_cast<std::uint32_t>(test::choose_seed()));
  keys_with_tasks tasks;
  auto cost_of = [&](fair_key who) { return tasks.cost_of(who); };
  for (int i = 0; i < 3000; ++i) {
    auto number = static_cast<std::uint32_t>(random() % 12);
    fair_key who{number % 3, number};
    if (random() % 3 == 0) {
      if (tasks.order.contains(who))
        tasks.order.remove(who);
      else
        tasks.add(who, 1 + static_cast<std::int64_t>(random() % 50), 1 + random() % 4);
    }
    tasks.order.settle(who, static_cast<std::int64_t>(random() % 100) - 50);
    if (tasks.order.empty())
      continue;
    auto next = tasks.order.preview(cost_of).value();
    int with_none_before = 0;
    for (const auto& [key, cost] : tasks.costs)
      if (fair_key each{key % 3, key}; tasks.order.contains(each))
        with_none_before += tasks.order.turns_before(each, cost_of) == 0 ? 1 : 0;

    ASSERT_EQ(with_none_before, 1);
    ASSERT_EQ(tasks.order.turns_before(next, cost_of), 0u);
    ASSERT_EQ(tasks.grant(), next);
  }
}

/// Keys come and go, with random costs and weights. Checks the bound on what others get between two
/// grants of a key.
TEST(FairOrder, KeyWaitsForAtMostARound) {
  std::minstd_rand random(static_cast<std::uint32_t>(test::choose_seed()));
  constexpr std::int64_t cost_max = 50;
  constexpr std::uint32_t weight_max = 9;
  for (int round = 0; round < 50; ++round) {
    keys_with_tasks tasks;
    std::map<std::uint32_t, std::uint32_t> weights;
    std::map<std::uint32_t, std::int64_t> waited;
    // A key in the first group has no other group beside it.
    auto place = [](std::uint32_t k) { return fair_key{0, k}; };
    std::int64_t weights_of_all = 0;
    for (int i = 0; i < 2000; ++i) {
      auto k = static_cast<std::uint32_t>(random() % 20);
      if (random() % 10 == 0 && !weights.contains(k)) {
        weights[k] = 1 + random() % weight_max;
        tasks.add(place(k), 1 + static_cast<std::int64_t>(random() % cost_max), weights[k]);
        waited[k] = 0;
      } else if (random() % 40 == 0 && weights.contains(k)) {
        tasks.order.remove(place(k));
        weights.erase(k);
        waited.erase(k);
      }
      if (weights.empty())
        continue;
      auto who = tasks.grant();
      ASSERT_TRUE(weights.contains(who.key));
      for (auto& [other, time] : waited)
        time += tasks.cost_of(who);
      waited[who.key] = 0;
      weights_of_all = 0;
      for (const auto& [other, weight] : weights)
        weights_of_all += weight + 1;
      for (const auto& [other, time] : waited)
        ASSERT_LE(time, (weights_of_all + 20 * (weight_max + 1)) * cost_max);
    }
  }
}

/// Two other groups of weight 1, and three other keys of weight 1 in the key's group; a task takes
/// 10 ms.
fair_order::standing some_standing() {
  fair_order::standing at;
  at.largest_cost = 10;
  at.other_groups = 4;
  at.other_keys = 6;
  return at;
}

TEST(FairWait, AKeyAloneStartsAtOnce) {
  EXPECT_EQ(longest_fair_wait({}, 1, {}), 0ms);
  EXPECT_EQ(longest_fair_wait({}, 1, {3, false}), 0ms);
}

TEST(FairWait, RunningTasksEndFirstWhenAllSlotsAreTaken) {
  fair_order::standing alone;
  alone.largest_cost = 10;

  EXPECT_EQ(longest_fair_wait(alone, 1, {3, true}), 10ms);
  EXPECT_EQ(longest_fair_wait(alone, 1, {0, true}), 10ms);
}

TEST(FairWait, ARoundOfTheGroupTakesRoundsOfTheGroups) {
  // 1 + 6 rounds of 4 turns of the other groups, and 6 of the other keys.
  EXPECT_EQ(longest_fair_wait(some_standing(), 1, {}), 340ms);
  // With weight 4 the group has 4 turns in a round: 1 + 2 rounds.
  EXPECT_EQ(longest_fair_wait(some_standing(), 4, {}), 180ms);
  EXPECT_EQ(longest_fair_wait(some_standing(), 4, {2, false}), 90ms);
}

TEST(FairWait, ADebtMissesARound) {
  auto key = some_standing();
  key.is_key_in_debt = true;
  auto group = some_standing();
  group.is_group_in_debt = true;

  EXPECT_EQ(longest_fair_wait(key, 4, {}), 280ms);
  EXPECT_EQ(longest_fair_wait(group, 4, {}), 220ms);
}

TEST(FairWait, ATimeThatIsTooLongIsTheLongest) {
  auto at = some_standing();
  at.largest_cost = std::numeric_limits<std::int64_t>::max();

  EXPECT_EQ(longest_fair_wait(at, 1, {}), duration::max());
}

} // namespace
} // namespace codeq::core
