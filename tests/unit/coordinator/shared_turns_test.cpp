// SPDX-License-Identifier: Apache-2.0
#include "coordinator/actors/shared_board.hpp"
#include "coordinator/actors/shared_turns.hpp"
#include "core/flow/fair_order.hpp"
#include "support/seed.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace codeq::coordinator {
namespace {

const queue_address queue{"t", "q"};

/// The tasks of one queue and priority on some shards, which are granted one by one: as sessions
/// do, the shards are asked in turn until one has no better rival.
class turn_shards {
public:
  explicit turn_shards(std::size_t count) : board_(count), shards_(count) {
    for (std::size_t i = 0; i < count; ++i)
      shards_[i].place = board_.join(queue, static_cast<shard_id>(i));
  }

  /// Every key has a cost and a weight of its own. @pre the key had no tasks at the shard
  void add(std::size_t shard, std::uint32_t key, int tasks) {
    auto& at = shards_[shard];
    at.order.add({key, key}, 1, weights[key], at.place->share_turns(0, std::to_string(key)));
    at.ready[key] = tasks;
    publish(at);
  }

  void add_everywhere(std::uint32_t key, int tasks) {
    for (std::size_t i = 0; i < shards_.size(); ++i)
      add(i, key, tasks);
  }

  /// Grants one task. Returns its key.
  std::uint32_t grant() {
    // Those asked first may have waited for shards that show an earlier time than they have now.
    for (std::size_t tries = 0; tries < 2 * shards_.size(); ++tries) {
      auto& at = shards_[next_++ % shards_.size()];
      if (at.order.empty() || is_behind(at))
        continue;
      auto who = next_of(at).who;
      at.order.charge(who, costs.at(who.key));
      used[who.key] += costs.at(who.key);
      if (--at.ready[who.key] == 0)
        at.order.remove(who);
      publish(at);
      return who.key;
    }
    ADD_FAILURE() << "a slot idles";
    return 0;
  }

  void grant(int tasks) {
    for (int i = 0; i < tasks; ++i)
      grant();
  }

  [[nodiscard]] int ready(std::size_t shard, std::uint32_t key) {
    return shards_[shard].ready[key];
  }

  /// The least and the greatest run time that keys got per weight.
  [[nodiscard]] std::int64_t spread() const {
    std::vector<std::int64_t> each;
    for (const auto& [key, time] : used)
      each.push_back(time / weights.at(key));
    auto [least, most] = std::minmax_element(each.begin(), each.end());
    return *most - *least;
  }

  std::map<std::uint32_t, std::int64_t> costs;
  std::map<std::uint32_t, std::uint32_t> weights;
  std::map<std::uint32_t, std::int64_t> used;

private:
  struct shard {
    core::fair_order order;
    std::map<std::uint32_t, int> ready;
    std::unique_ptr<core::queue_board> place;
  };

  [[nodiscard]] core::fair_order::choice next_of(shard& at) {
    return at.order.next([this](core::fair_key who) { return costs.at(who.key); });
  }

  [[nodiscard]] core::ready_head head(shard& at) {
    return {0, core::time_of_turn(next_of(at).time)};
  }

  void publish(shard& at) {
    if (at.order.empty())
      return at.place->publish(std::nullopt);
    auto own = head(at);
    at.place->publish_turn(own, at.order.only_credit(next_of(at).who));
  }

  /// True when another shard's turn comes first.
  bool is_behind(shard& at) {
    auto rival = at.place->best_elsewhere();
    bool is_behind = rival && core::is_outranked(head(at), rival->head);
    publish(at);
    return is_behind;
  }

  shared_board board_;
  std::vector<shard> shards_;
  std::size_t next_ = 0;
};

/// A flood on all shards and a key on one of them, with tasks of that cost.
struct flood_and_key : turn_shards {
  explicit flood_and_key(std::int64_t cost) : turn_shards(12) {
    costs = {{1, cost}, {2, cost}};
    weights = {{1, 1}, {2, 1}};
    add_everywhere(1, 100'000);
    add(3, 2, 100'000);
  }
};

TEST(SharedTurns, KeyOnOneShardGetsAsMuchAsAFloodOnAll) {
  flood_and_key shards(10);

  shards.grant(4000);

  EXPECT_NEAR(shards.used[1], 20'000, 1000);
  EXPECT_NEAR(shards.used[2], 20'000, 1000);
}

TEST(SharedTurns, LongTasksOfShardsStayWithinARound) {
  flood_and_key shards(5000);

  shards.grant(24);
  for (int i = 0; i < 500; ++i) {
    shards.grant();
    ASSERT_LE(shards.spread(), 3 * 5000);
  }
}

TEST(SharedTurns, WeightsAndRunTimesCountOverShards) {
  turn_shards shards(4);
  shards.costs = {{1, 10}, {2, 10}, {3, 100}, {4, 20}};
  shards.weights = {{1, 1}, {2, 3}, {3, 1}, {4, 2}};
  shards.add_everywhere(1, 100'000);
  shards.add(0, 2, 100'000);
  shards.add(1, 3, 100'000);
  shards.add(2, 4, 100'000);
  shards.add(3, 4, 100'000);

  shards.grant(20'000);

  EXPECT_LE(shards.spread(), 2000);
}

TEST(SharedTurns, CreditsOfAKeyOnTwoShardsAreUsedAlsoWhenTheyLeadInTurn) {
  turn_shards shards(3);
  shards.costs = {{1, 10}, {2, 10}, {3, 20}};
  shards.weights = {{1, 1}, {2, 3}, {3, 2}};
  shards.add_everywhere(1, 100'000);
  shards.add(0, 2, 100'000);
  shards.add(1, 3, 100'000);
  shards.add(2, 3, 100'000);

  shards.grant(20'000);

  EXPECT_LE(shards.spread(), 2000);
}

TEST(SharedTurns, ShardsBeginWhereTheCreditOfTheirFirstKeyWasUsed) {
  turn_shards shards(9);
  shards.costs = {{1, 2000}, {2, 250}};
  shards.weights = {{1, 4}, {2, 2}};
  shards.add_everywhere(1, 100'000);
  shards.add(7, 2, 100'000);

  shards.grant(300);

  EXPECT_LE(shards.spread(), 2 * 2000 + 2000);
}

TEST(SharedTurns, FloodOnAllShardsIsGrantedByAll) {
  turn_shards shards(4);
  shards.costs = {{1, 10}};
  shards.weights = {{1, 1}};
  shards.add_everywhere(1, 10'000);

  shards.grant(4000);

  for (std::size_t i = 0; i < 4; ++i)
    EXPECT_EQ(shards.ready(i, 1), 9000);
}

TEST(SharedTurns, KeyThatComesBackElsewhereHasHadItsTurn) {
  turn_shards shards(12);
  shards.costs = {{1, 10}, {2, 10}};
  shards.weights = {{1, 1}, {2, 1}};
  shards.add_everywhere(1, 100'000);
  shards.add_everywhere(2, 1);

  for (int i = 0; i < 4000; ++i) {
    shards.grant();
    for (std::size_t shard = 0; shard < 12; ++shard)
      if (shards.ready(shard, 2) == 0)
        shards.add(shard, 2, 1);
  }

  // The key takes no more than its half, though it has a single task on each shard.
  EXPECT_LE(shards.used[2], shards.used[1] + 1000);
}

TEST(SharedTurns, KeyThatComesLateHasNoCreditSavedUp) {
  turn_shards shards(12);
  shards.costs = {{1, 10}, {2, 10}};
  shards.weights = {{1, 1}, {2, 1}};
  shards.add_everywhere(1, 100'000);
  shards.grant(20'000);
  shards.used.clear();

  shards.add(3, 2, 100'000);
  shards.grant(4000);

  EXPECT_NEAR(shards.used[2], 20'000, 1100);
}

TEST(SharedTurns, KeyOfAShardThatGrantsNothingForLongCatchesUpWithALimit) {
  shared_turns turns;
  auto idle = turns.join("idle");
  auto busy = turns.join("busy");
  busy.group->note_round(1'000'000, 10);

  auto given = idle.group->read().given;

  EXPECT_LE(given, 1'000'000 - 10'000);
  EXPECT_GE(given, 1'000'000 - 10'100);
}

TEST(SharedTurns, ShardsShareACreditAndGiveForATimeOnce) {
  shared_turns turns;
  auto here = turns.join("tenant/key");
  auto there = turns.join("tenant/key");

  EXPECT_EQ(here.key->add({10, 2, 10}), (core::fair_credit{20, 10}));
  EXPECT_EQ(there.key->add({10, 2, 10}), (core::fair_credit{20, 10}));
  there.key->change(-15);
  EXPECT_EQ(here.key->add({15, 2, 10}), (core::fair_credit{15, 15}));
  EXPECT_EQ(here.group->read(), core::fair_credit{});
  EXPECT_EQ(here.group, turns.join("tenant/other").group);
}

TEST(SharedTurns, ForgetsKeysThatNoShardHasReady) {
  shared_turns turns;
  auto kept = turns.join("kept");
  for (int i = 0; i < 100'000; ++i)
    static_cast<void>(turns.join(std::to_string(i)));

  EXPECT_LE(turns.keys(), 2048u);
  EXPECT_EQ(turns.join("kept").key, kept.key);
}

/// Random keys with more tasks than are granted, on some of the shards each.
TEST(SharedTurns, KeysWithTasksGetTheSameToWithinARound) {
  auto first = test::choose_seed() % 1'000'000;
  for (auto seed = first; seed < first + 40; ++seed) {
    SCOPED_TRACE("CODEQ_SEED=" + std::to_string(seed));
    std::minstd_rand random(static_cast<std::uint32_t>(seed));
    const std::size_t count = 2 + random() % 11;
    turn_shards shards(count);
    std::int64_t largest = 1;
    const auto keys = 2 + static_cast<std::uint32_t>(random() % 6);
    for (std::uint32_t key = 1; key <= keys; ++key) {
      shards.costs[key] = 1 + static_cast<std::int64_t>(random() % (random() % 2 == 0 ? 20 : 3000));
      shards.weights[key] = 1 + static_cast<std::uint32_t>(random() % 4);
      shards.used[key] = 0;
      largest = std::max(largest, shards.costs[key]);
      const auto at = random() % count;
      const auto on_all = random() % 2 == 0;
      for (std::size_t i = 0; i < count; ++i)
        if (on_all || i == at)
          shards.add(i, key, 1'000'000);
    }

    shards.grant(5000);

    ASSERT_FALSE(testing::Test::HasFailure());
    // A round, what is left of one, and what shards may be apart.
    ASSERT_LE(shards.spread(), 2 * largest + 2 * core::rival_age_margin.count());
  }
}

} // namespace
} // namespace codeq::coordinator
