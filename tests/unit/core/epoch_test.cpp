// SPDX-License-Identifier: Apache-2.0

#include "base/tuning.hpp"
#include "core/state/epoch.hpp"
#include "core/checks/invariants.hpp"
#include "support/shard_fixture.hpp"

namespace codeq::core {
namespace {

class Epoch : public test::shard_fixture {
protected:
  static constexpr std::uint64_t eighth = (tuning::token_counter_max + 1) / 8;

  /// Leaves this many numbers of epoch 1.
  void leave(id_counter& counter, std::uint64_t numbers) {
    counter.next = first_of_epoch(2) - 2 - numbers;
  }
};

TEST_F(Epoch, IsSpentWhenAnEighthOfAnyOfItsNumbersIsLeft) {
  for (auto* counter : {&state().tokens, &state().sequences, &state().positions}) {
    auto before = counter->next;
    EXPECT_FALSE(is_epoch_spent(state()));
    leave(*counter, eighth);
    EXPECT_FALSE(is_epoch_spent(state()));
    leave(*counter, eighth - 1);
    EXPECT_TRUE(is_epoch_spent(state()));
    counter->next = before;
  }
}

TEST_F(Epoch, NextOneGoesOnWithAllLeasesOfTheOneBefore) {
  attach("w", {"q"});
  claim("w", 2);
  enqueue("q");
  leave(state().tokens, 10);

  begin_epoch(state(), 2);
  enqueue("q");

  EXPECT_FALSE(is_epoch_spent(state()));
  EXPECT_GT(state().tokens.next, std::uint64_t{2} << 39);
  EXPECT_EQ(state().leases.size(), 2u);
  EXPECT_EQ(complete("w", held(1, 1)), "w: answered 1/t1 ok");
  EXPECT_TRUE(find_violations(state()).empty());
}

TEST_F(Epoch, RecoveryTakesRecordsOfBothInTheirOrder) {
  attach("w", {"q"});
  claim("w", 2);
  enqueue("q", 3);
  begin_epoch(state(), 2);
  nack("w", held(1, 1), duration{0});
  enqueue("q");
  take_snapshot();
  enqueue("q");

  auto again = recovered(turns());

  EXPECT_EQ(durable_text(*again), durable_text(state()));
  EXPECT_TRUE(find_violations(*again).empty());
}

} // namespace
} // namespace codeq::core
