// SPDX-License-Identifier: Apache-2.0
#include "coordinator/shared/shared_turns.hpp"
#include "core/flow/fair_order.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>

namespace codeq::coordinator {
namespace {

class test_shard final : public core::turn_shard {
public:
  explicit test_shard(int number) : number_(static_cast<shard_id>(number)) {}

  [[nodiscard]] shard_id number() const override { return number_; }

  [[nodiscard]] bool may_grant() const override { return grants; }

  bool grants = true;

private:
  shard_id number_;
};

/// The rings of a group's keys on two shards.
struct group_on_two_shards {
  core::key_credits join(const std::shared_ptr<test_shard>& at, const char* key) {
    auto credits = turns.join(key);
    credits.here = at;
    return credits;
  }

  shared_turns turns;
  std::shared_ptr<test_shard> here = std::make_shared<test_shard>(0);
  std::shared_ptr<test_shard> there = std::make_shared<test_shard>(7);
  core::key_credits x = join(here, "a/x");
  core::key_credits y = join(there, "a/y");
};

TEST(ShownRings, RingOfAGroupWaitsForOneThatIsBehindByMoreThanASecond) {
  group_on_two_shards shards;
  shards.y.key->show(shards.there, 500);

  EXPECT_EQ(shards.x.key->shard_behind(*shards.here, 1500), std::nullopt);
  EXPECT_EQ(shards.x.key->shard_behind(*shards.here, 1501), shard_id{7});
  EXPECT_EQ(shards.y.key->shard_behind(*shards.there, 1501), std::nullopt);
  shards.y.key->show(shards.there, 501);
  EXPECT_EQ(shards.x.key->shard_behind(*shards.here, 1501), std::nullopt);
  EXPECT_EQ(shards.turns.join("b").key->shard_behind(*shards.here, 5000), std::nullopt);
}

TEST(ShownRings, ShardThatMayNotGrantOrHasNoKeysOfTheGroupHoldsNobodyUp) {
  group_on_two_shards shards;
  shards.y.key->show(shards.there, 500);
  shards.there->grants = false;
  EXPECT_EQ(shards.x.key->shard_behind(*shards.here, 5000), std::nullopt);

  shards.there->grants = true;
  EXPECT_EQ(shards.x.key->shard_behind(*shards.here, 5000), shard_id{7});
  shards.y.key->withdraw(*shards.there);
  EXPECT_EQ(shards.x.key->shard_behind(*shards.here, 5000), std::nullopt);
}

TEST(ShownRings, ShardThatCameBackIsNotTakenForTheOneThatLeft) {
  group_on_two_shards shards;
  shards.y.key->show(shards.there, 500);
  auto again = std::make_shared<test_shard>(7);

  shards.y.key->show(again, 4500);
  EXPECT_EQ(shards.x.key->shard_behind(*shards.here, 5000), std::nullopt);
  shards.y.key->withdraw(*shards.there);
  EXPECT_EQ(shards.x.key->shard_behind(*shards.here, 6000), shard_id{7});
}

TEST(ShownRings, OnlyKeyOfItsGroupWaitsForNoShard) {
  shared_turns turns;
  auto here = std::make_shared<test_shard>(0);
  auto there = std::make_shared<test_shard>(1);
  auto flood = turns.join("flood");

  flood.key->show(there, 0);

  EXPECT_EQ(flood.key->shard_behind(*here, 5000), std::nullopt);
}

/// An order with tasks of a/x at one shard, beside the ring of a/y at the other one.
struct order_beside_a_ring : group_on_two_shards {
  static std::int64_t cost_of(core::fair_key) { return 100; }

  order_beside_a_ring() {
    y.key->show(there, 0);
    order.add(a_x, 1, 1, x);
  }

  /// Grants until the keys wait. Returns the number of the tasks.
  int grant_all() {
    int tasks = 0;
    for (auto next = order.next(cost_of); !next.behind && tasks < 1000; ++tasks) {
      order.charge(next.who, cost_of(next.who));
      next = order.next(cost_of);
    }
    return tasks;
  }

  static constexpr core::fair_key a_x{0, 0};
  static constexpr core::fair_key b{1, 1};
  core::fair_order order;
};

TEST(ShownRings, KeyIsGrantedUpToASecondOfRunTimeAhead) {
  order_beside_a_ring shards;

  EXPECT_EQ(shards.grant_all(), 11);
  EXPECT_EQ(shards.order.next(shards.cost_of).behind, shard_id{7});
  EXPECT_EQ(shards.order.preview(shards.cost_of), std::nullopt);
  EXPECT_EQ(shards.order.turns_before(shards.a_x, shards.cost_of), 1u);

  shards.y.key->show(shards.there, 1000);
  EXPECT_EQ(shards.order.preview(shards.cost_of), shards.a_x);
  EXPECT_EQ(shards.order.turns_before(shards.a_x, shards.cost_of), 0u);
  EXPECT_EQ(shards.grant_all(), 10);
}

TEST(ShownRings, OtherGroupsGoOnWhileOneWaits) {
  order_beside_a_ring shards;
  shards.grant_all();
  shards.order.add(shards.b, 1, 1, shards.join(shards.here, "b"));

  for (int i = 0; i < 10; ++i) {
    auto next = shards.order.next(shards.cost_of);
    ASSERT_EQ(next.who, shards.b);
    ASSERT_EQ(next.behind, std::nullopt);
    shards.order.charge(next.who, 100);
  }
  EXPECT_EQ(shards.order.preview(shards.cost_of), shards.b);
  EXPECT_GE(shards.order.turns_before(shards.a_x, shards.cost_of), 1u);
}

TEST(ShownRings, GroupWhoseCreditNoShardUsesWaitsNoMore) {
  order_beside_a_ring shards;
  shards.grant_all();
  shards.order.add(shards.b, 1, 1, shards.join(shards.here, "b"));

  int of_b = 0;
  for (int i = 0; i < 1000; ++i) {
    auto next = shards.order.next(shards.cost_of);
    shards.order.charge(next.who, 100);
    of_b += next.who == shards.b ? 1 : 0;
  }

  // A second and a round of run time ahead.
  EXPECT_GE(of_b, 505);
  EXPECT_LE(of_b, 510);
}

TEST(ShownRings, MemberThatWaitsAtTimesKeepsItsTurn) {
  order_beside_a_ring shards;
  shards.grant_all();
  shards.there->grants = false;
  auto time = shards.order.next(shards.cost_of).time;

  for (int i = 0; i < 100; ++i) {
    shards.there->grants = i % 2 == 0;
    static_cast<void>(shards.order.next(shards.cost_of));
  }

  EXPECT_EQ(shards.order.next(shards.cost_of).time, time);
}

TEST(ShownRings, LastKeyOfARingWithdrawsIt) {
  order_beside_a_ring shards;
  static_cast<void>(shards.order.next(shards.cost_of));
  EXPECT_EQ(shards.y.key->shard_behind(*shards.there, 5000), shard_id{0});

  shards.order.remove(shards.a_x);

  EXPECT_EQ(shards.y.key->shard_behind(*shards.there, 5000), std::nullopt);
}

} // namespace
} // namespace codeq::coordinator
