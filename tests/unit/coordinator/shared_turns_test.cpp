// SPDX-License-Identifier: Apache-2.0
#include "coordinator/shared/shared_board.hpp"
#include "coordinator/shared/shared_turns.hpp"
#include "core/flow/fair_order.hpp"
#include "support/seed.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>
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
    at.place->publish_turn({own, at.order.only_credit(next_of(at).who)});
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

  EXPECT_LE(turns.keys(), 128u);
  EXPECT_EQ(turns.join("kept").key, kept.key);
}

TEST(SharedTurns, KeyThatNoShardHasReadyBeginsAtTheLatestGrantWithoutCredit) {
  shared_turns turns;
  auto busy = turns.join("busy");
  {
    auto left = turns.join("comes back");
    left.group->add({10, 3, 10});
    left.group->change(-4);
  }
  busy.group->note_round(700, 10);

  EXPECT_EQ(turns.join("comes back").group->read(), (core::fair_credit{0, 700}));
  EXPECT_EQ(turns.join("new").group->read(), (core::fair_credit{0, 700}));
}

TEST(SharedTurns, KeyThatComesBackInItsRoundIsGivenNothing) {
  shared_turns turns;
  auto busy = turns.join("busy");
  static_cast<void>(turns.join("comes back").group->add({900, 1, 100}));
  busy.group->note_round(800, 100);

  auto again = turns.join("comes back");

  EXPECT_EQ(again.group->add({900, 1, 100}), (core::fair_credit{0, 900}));
}

TEST(SharedTurns, KeyThatAnotherShardHasReadyKeepsItsCreditAndDebt) {
  shared_turns turns;
  auto here = turns.join("tenant/key");
  here.group->note_round(500, 10);
  here.key->add({10, 2, 10});
  here.key->change(-50);

  EXPECT_EQ(turns.join("tenant/key").key->read(), (core::fair_credit{-30, 10}));
  EXPECT_EQ(turns.join("tenant/other").group->read().given, 0);
}

TEST(SharedTurns, KeysOfAGroupHaveATimeOfTheirOwn) {
  shared_turns turns;
  auto one = turns.join("tenant/one");
  one.key->note_round(300, 10);

  auto two = turns.join("tenant/two");
  EXPECT_EQ(two.key->read(), (core::fair_credit{0, 300}));
  EXPECT_EQ(two.group->read(), core::fair_credit{});
  EXPECT_EQ(turns.join("other/two").key->read(), core::fair_credit{});
}

TEST(SharedTurns, LimitOfWhatIsCaughtUpIsTwoRoundsAndTenSeconds) {
  shared_turns turns;
  auto idle = turns.join("idle");
  auto busy = turns.join("busy");
  busy.group->note_round(1'000'000, 5000);
  // An earlier time and a shorter round of another shard.
  busy.group->note_round(900'000, 10);

  const std::int64_t length = 5000 - 5000 / 256;
  EXPECT_EQ(idle.group->read().given, 1'000'000 - 2 * length - 10'000);
  for (int i = 0; i < 10'000; ++i)
    busy.group->note_round(1'000'000, 10);
  EXPECT_GE(idle.group->read().given, 1'000'000 - 2 * 256 - 10'000);
}

/// Shards on threads of their own: each time is given for once, and no charge is lost.
TEST(SharedTurns, ThreadsGiveForATimeOnceAndLoseNothing) {
  shared_turns turns;
  constexpr std::int64_t rounds = 20'000;
  constexpr int threads = 4;
  auto give = [&turns] {
    auto mine = turns.join("key");
    for (std::int64_t until = 10; until <= 10 * rounds; until += 10) {
      auto credit = mine.key->add({until, 3, 10 * rounds});
      EXPECT_GE(credit.given, until);
      mine.key->change(-1);
    }
  };
  auto kept = turns.join("key");
  std::vector<std::thread> all;
  for (int i = 0; i < threads; ++i)
    all.emplace_back(give);
  for (auto& one : all)
    one.join();

  const core::fair_credit expected{3 * 10 * rounds - threads * rounds, 10 * rounds};
  EXPECT_EQ(kept.key->read(), expected);
}

/// Two shards with a ring each, which share the credits of their members.
class two_rings {
public:
  explicit two_rings(std::int64_t cost) : cost_(cost) {}

  void add(int ring, core::fair_ring::member who) {
    auto credits = turns.join(std::to_string(who));
    at(ring).ring.add(at(ring).all, who, 1, credits.group);
  }

  core::fair_ring::member next(int ring) {
    constexpr auto most = std::numeric_limits<std::uint64_t>::max();
    auto passes = most;
    auto who = at(ring).ring.turn(at(ring).all, [this](auto) { return cost_; }, passes);
    passed_over = most - passes;
    return who;
  }

  core::fair_ring::member grant(int ring) {
    auto who = next(ring);
    at(ring).ring.charge(at(ring).all, cost_);
    return who;
  }

  void settle(int ring, core::fair_ring::member who, std::int64_t difference) {
    at(ring).ring.settle(at(ring).all, who, difference);
  }

  [[nodiscard]] bool is_bounded(int ring, core::fair_ring::member who) {
    return at(ring).ring.is_bounded(at(ring).all, who);
  }

  [[nodiscard]] std::int64_t time(int ring) { return at(ring).ring.time(); }

  [[nodiscard]] core::fair_credit credit(int ring, core::fair_ring::member who) {
    return at(ring).all[who].credit();
  }

  shared_turns turns;
  /// By the latest turn.
  std::uint64_t passed_over = 0;

private:
  struct place {
    core::fair_ring ring;
    core::fair_ring::places all;
  };

  place& at(int ring) { return rings_[static_cast<std::size_t>(ring)]; }

  std::int64_t cost_;
  std::array<place, 2> rings_;
};

TEST(SharedTurns, ChargeAndSettlementOfOneShardCountAtTheOther) {
  two_rings rings(10);
  rings.add(0, 1);
  rings.add(1, 1);

  rings.grant(0);
  EXPECT_EQ(rings.credit(1, 1).credit, 0);
  rings.settle(0, 1, 4);
  EXPECT_EQ(rings.credit(1, 1).credit, 4);
  // A debt is at most a round of the shard at which it is made.
  rings.settle(0, 1, -1000);
  EXPECT_EQ(rings.credit(1, 1).credit, -10);
  rings.settle(1, 1, -1);
  EXPECT_EQ(rings.credit(0, 1).credit, -10);
}

TEST(SharedTurns, RingBeginsAndGoesOnAtTheTimeOfItsOnlyMember) {
  two_rings rings(10);
  rings.add(0, 1);
  for (int i = 0; i < 1000; ++i)
    rings.grant(0);
  EXPECT_EQ(rings.time(0), 9990);

  rings.add(1, 1);
  EXPECT_EQ(rings.time(1), 10'000);
  for (int i = 0; i < 1000; ++i)
    rings.grant(0);
  // The other shard has given its member all until then.
  rings.next(1);
  EXPECT_GE(rings.time(1), 19'980);
  EXPECT_LE(rings.passed_over, 3u);
}

TEST(SharedTurns, ShardThatLagsUsesNothingOfLaterRounds) {
  two_rings rings(10);
  rings.add(0, 1);
  rings.add(1, 1);
  rings.add(1, 2);
  for (int i = 0; i < 100; ++i)
    rings.grant(0);

  for (int i = 0; i < 50; ++i)
    EXPECT_EQ(rings.grant(1), 2u);
}

TEST(SharedTurns, CreditThatNoShardUsesIsThatOfARoundAndOfATask) {
  two_rings rings(10);
  rings.add(0, 1);
  rings.add(1, 1);
  auto credit = rings.turns.join("1").group;

  // A key that comes and goes at other shards, while this one grants nothing.
  for (std::int64_t until = 10; until <= 10'000; until += 10)
    credit->add({until, 1, 10});

  EXPECT_EQ(credit->read(), (core::fair_credit{30, 10'000}));
  EXPECT_TRUE(rings.is_bounded(0, 1));
  credit->change(1);
  EXPECT_FALSE(rings.is_bounded(0, 1));
  credit->change(-61);
  EXPECT_TRUE(rings.is_bounded(1, 1));
  credit->change(-1);
  EXPECT_FALSE(rings.is_bounded(1, 1));
}

TEST(SharedTurns, ShardWithShortTasksKeepsWhatOneWithLongTasksGaveAndOwes) {
  shared_turns turns;
  auto key = turns.join("key").key;
  EXPECT_EQ(key->add({3000, 1, 3000}).credit, 3000);
  EXPECT_EQ(key->add({3010, 1, 10}).credit, 3010);
  key->change(-6010);

  EXPECT_EQ(key->add({3020, 1, 10}), (core::fair_credit{-2990, 3020}));
}

TEST(SharedTurns, ShardWithShortTasksLeavesTheRoundsOfALongDebtOut) {
  two_rings rings(1);
  rings.add(0, 1);
  auto credit = rings.turns.join("1").group;
  credit->add({3'600'000, 1, 3'600'000});
  credit->change(-7'200'000);

  rings.next(0);

  EXPECT_LE(rings.passed_over, 3u);
  EXPECT_EQ(rings.credit(0, 1), (core::fair_credit{1, 7'200'001}));
}

TEST(SharedTurns, GrantsOfAShardMoveTheBeginningOfNewKeys) {
  two_rings rings(10);
  rings.add(0, 1);
  for (int i = 0; i < 100; ++i)
    rings.grant(0);

  rings.add(1, 2);

  EXPECT_EQ(rings.credit(1, 2).given, 990);
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
    ASSERT_LE(shards.spread(), 2 * largest + core::rival_age_margin.count());
  }
}

} // namespace
} // namespace codeq::coordinator
