// SPDX-License-Identifier: Apache-2.0
#include "core/blocks/position_set.hpp"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <vector>

namespace codeq::core {
namespace {

TEST(PositionSet, HasWhatWasAddedAndNotWhatWasRemoved) {
  position_set set({3, 5, 9});
  auto next = set.changed({4}, {5, 7});

  EXPECT_TRUE(next.contains(3));
  EXPECT_TRUE(next.contains(4));
  EXPECT_FALSE(next.contains(5));
  EXPECT_FALSE(next.contains(7));
  EXPECT_TRUE(next.changed({5}, {}).contains(5));
}

TEST(PositionSet, StaysAsItIsWhenAnotherIsMadeOfIt) {
  position_set set({3, 5});
  auto next = set.changed({4}, {3, 5});

  EXPECT_TRUE(set.contains(5));
  EXPECT_FALSE(set.contains(4));
  EXPECT_FALSE(next.contains(5));
}

TEST(PositionSet, AgreesWithAPlainSetAfterManyChanges) {
  constexpr log_position positions = 400;
  std::mt19937_64 random{7};
  std::set<log_position> expected;
  position_set set;
  for (int round = 0; round < 500; ++round) {
    std::set<log_position> added;
    std::set<log_position> removed;
    for (auto changes = random() % 20; changes > 0; --changes) {
      auto position = random() % positions;
      auto& to = expected.contains(position) ? removed : added;
      to.insert(position);
    }
    expected.insert(added.begin(), added.end());
    for (auto position : removed)
      expected.erase(position);
    set = set.changed({added.begin(), added.end()}, {removed.begin(), removed.end()});

    for (log_position position = 0; position < positions; ++position)
      ASSERT_EQ(set.contains(position), expected.contains(position)) << round << ' ' << position;
    const auto all = set.all();
    ASSERT_EQ(all, std::vector<log_position>(expected.begin(), expected.end())) << round;
    ASSERT_GE(set.size_max(), all.size()) << round;
  }
}

} // namespace
} // namespace codeq::core
