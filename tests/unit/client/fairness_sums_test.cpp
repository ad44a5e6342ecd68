// SPDX-License-Identifier: Apache-2.0
#include "client/fairness_sums.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace codeq::client {

namespace {

using namespace std::chrono_literals;

/// The answer of a shard about a key that has the whole share of that shard.
fairness_share
share_of(std::string key, std::uint32_t weight, std::uint64_t ready, duration run = 100ms) {
  return {std::move(key), weight, ready, ready == 0 ? 0u : 1'000'000u, run, run};
}

/// A shard with these keys, all of whose slots have leases.
queue_part shard_with(std::vector<fairness_share> keys, std::uint64_t leased = 1) {
  queue_part part;
  auto& why = part.explanation;
  why.exists = true;
  why.leased = leased;
  for (const auto& share : keys)
    why.waiting[task_reason::no_free_slots] += share.ready;
  part.fairness.active_keys = keys.size();
  part.fairness.keys = std::move(keys);
  return part;
}

fairness_page merge(const std::vector<queue_part>& parts) {
  return merge_fairness({"t", "q"}, parts, all_fairness_keys());
}

} // namespace

TEST(FairnessSums, SharesAreThoseAmongTheKeysOfAllShards) {
  auto page = merge({shard_with({share_of("a", 1, 3)}, 2), shard_with({share_of("b", 2, 1)}, 2)});

  EXPECT_EQ(page.queue, (queue_address{"t", "q"}));
  EXPECT_EQ(page.active_keys, 2u);
  EXPECT_FALSE(page.more);
  ASSERT_EQ(page.keys.size(), 2u);
  EXPECT_EQ(page.keys[0].share_ppm, 333'333u);
  EXPECT_EQ(page.keys[1].share_ppm, 666'666u);
}

TEST(FairnessSums, WaitsCountTheKeysAndTheLeasesOfAllShards) {
  auto page = merge({shard_with({share_of("a", 1, 3)}, 2), shard_with({share_of("b", 2, 1)}, 2)});

  ASSERT_EQ(page.keys.size(), 2u);
  EXPECT_EQ(page.keys[0].wait, 175ms) << "2 + 1 turns of the other key and 4 leases, by 4 slots";
  EXPECT_EQ(page.keys[1].wait, 150ms);
}

TEST(FairnessSums, AKeyOnSeveralShardsIsOne) {
  auto page = merge(
    {shard_with({share_of("a", 1, 3, 100ms), share_of("b", 1, 0)}),
     shard_with({share_of("a", 1, 2, 300ms), share_of("b", 1, 4)})});

  ASSERT_EQ(page.keys.size(), 2u);
  EXPECT_EQ(page.keys[0].ready, 5u);
  EXPECT_EQ(page.keys[0].expected_run, 300ms);
  EXPECT_EQ(page.keys[0].share_ppm, 500'000u);
  EXPECT_EQ(page.keys[1].share_ppm, 500'000u);
}

TEST(FairnessSums, KeysShareThePartOfTheirGroup) {
  auto first = shard_with({share_of("t/a", 3, 1)});
  first.settings.config.fairness_weights = {{"t", 2}};
  auto page = merge({first, shard_with({share_of("t/b", 1, 1), share_of("u", 1, 1)})});

  ASSERT_EQ(page.keys.size(), 3u);
  EXPECT_EQ(page.keys[0].share_ppm, 499'999u);
  EXPECT_EQ(page.keys[1].share_ppm, 166'666u);
  EXPECT_EQ(page.keys[2].share_ppm, 333'333u);
}

TEST(FairnessSums, AKeyWithoutReadyTasksHasNoShareButTheWeightOfItsGroup) {
  auto page = merge(
    {shard_with({share_of("t", 3, 0)}),
     shard_with({share_of("t/a", 1, 1), share_of("u", 1, 1)})});

  ASSERT_EQ(page.keys.size(), 3u);
  EXPECT_EQ(page.keys[0].share_ppm, 0u);
  EXPECT_EQ(page.keys[1].share_ppm, 750'000u);
  EXPECT_EQ(page.keys[2].share_ppm, 250'000u);
}

TEST(FairnessSums, TasksOfAShardWithoutKeysHaveTheEmptyKey) {
  auto without = shard_with({});
  without.explanation.waiting = {{task_reason::no_free_slots, 4}, {task_reason::deferred, 7}};

  auto page = merge({shard_with({share_of("a", 1, 1)}), without});

  ASSERT_EQ(page.keys.size(), 2u);
  EXPECT_EQ(page.keys[0].key, "");
  EXPECT_EQ(page.keys[0].ready, 4u);
  EXPECT_EQ(page.keys[1].share_ppm, 500'000u);
  EXPECT_TRUE(merge({without, without}).keys.empty()) << "no task has a key";
}

TEST(FairnessSums, APageHasTheSharesAmongAllKeys) {
  const std::vector parts{
    shard_with({share_of("a", 1, 1), share_of("c", 1, 1)}),
    shard_with({share_of("b", 1, 1), share_of("d", 1, 1)})};

  auto page = merge_fairness({"t", "q"}, parts, {"a", 2, false});

  ASSERT_EQ(page.keys.size(), 2u);
  EXPECT_EQ(page.keys[0].key, "b");
  EXPECT_EQ(page.keys[0].share_ppm, 250'000u);
  EXPECT_EQ(page.keys[1].key, "c");
  EXPECT_TRUE(page.more);
  EXPECT_FALSE(merge_fairness({"t", "q"}, parts, {"b", 2, false}).more);
}

TEST(FairnessSums, AWaitThatAShardDoesNotKnowStaysUnknown) {
  auto paused = share_of("a", 1, 1);
  paused.wait = duration::max();

  auto page = merge({shard_with({paused}), shard_with({share_of("b", 1, 1)})});

  ASSERT_EQ(page.keys.size(), 2u);
  EXPECT_EQ(page.keys[0].wait, duration::max());
  EXPECT_NE(page.keys[1].wait, duration::max());
}

TEST(FairnessSums, WaitsAreThoseOfTheShardsWhenTheirSlotsAreNotKnownOrOneHasAllTasks) {
  auto older = shard_with({share_of("b", 1, 1, 70ms)});
  older.explanation = {};
  EXPECT_EQ(merge({shard_with({share_of("a", 1, 1)}), older}).keys[1].wait, 70ms);

  auto idle = shard_with({}, 0);
  auto page = merge({shard_with({share_of("a", 1, 1, 80ms), share_of("b", 1, 1, 90ms)}), idle});
  ASSERT_EQ(page.keys.size(), 2u);
  EXPECT_EQ(page.keys[0].wait, 80ms);
  EXPECT_EQ(page.keys[1].wait, 90ms);
}

TEST(FairnessSums, OfTooManyKeysSharesAreTheMeanOfTheShards) {
  auto first = shard_with({share_of("a", 1, 1), share_of("b", 1, 1)});
  first.fairness.more = true;
  auto second = shard_with({share_of("a", 1, 1), share_of("c", 1, 1)});
  second.fairness.keys[0].share_ppm = 400'000;

  EXPECT_FALSE(has_all_keys({first, second}));
  auto page = merge_fairness_pages({"t", "q"}, {first, second}, 5);

  ASSERT_EQ(page.keys.size(), 2u) << "the first shard says nothing of keys after its last one";
  EXPECT_EQ(page.keys[0].share_ppm, 700'000u);
  EXPECT_TRUE(page.more);
}

} // namespace codeq::client
