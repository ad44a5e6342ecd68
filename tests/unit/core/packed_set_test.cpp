// SPDX-License-Identifier: Apache-2.0
#include "core/blocks/packed_set.hpp"
#include "support/seed.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <set>

namespace codeq::core {
namespace {

std::vector<number_pair> all_of(const packed_set& set) {
  std::vector<number_pair> all;
  set.for_each([&](const number_pair& pair) {
    all.push_back(pair);
    return true;
  });
  return all;
}

TEST(PackedSet, DoesWhatAnOrderedSetDoes) {
  std::minstd_rand random(static_cast<std::uint32_t>(test::choose_seed()));
  packed_set packed;
  std::set<number_pair> plain;

  for (int i = 0; i < 30'000; ++i) {
    // The set grows first, then shrinks until it is empty.
    bool adds = random() % 30'000 > static_cast<unsigned>(i);
    number_pair pair{random() % 400, random() % 50};
    if (adds) {
      if (plain.insert(pair).second)
        packed.insert(pair);
    } else if (random() % 2 == 0 || plain.empty()) {
      EXPECT_EQ(packed.erase(pair), plain.erase(pair) == 1);
    } else {
      packed.pop_front();
      plain.erase(plain.begin());
    }
    ASSERT_EQ(packed.size(), plain.size());
    ASSERT_EQ(packed.empty(), plain.empty());
    if (!plain.empty()) {
      ASSERT_EQ(packed.front(), *plain.begin());
    }
    number_pair asked{random() % 410, random() % 50};
    auto expected = plain.lower_bound(asked);
    auto found = packed.first_from(asked);
    ASSERT_EQ(found, expected == plain.end() ? std::nullopt : std::optional(*expected));
    ASSERT_EQ(packed.contains(asked), plain.contains(asked));
  }

  EXPECT_EQ(all_of(packed), std::vector<number_pair>(plain.begin(), plain.end()));
}

TEST(PackedSet, CountsTheElementsThatFollowEachOtherAtTheFront) {
  packed_set packed;
  for (std::uint64_t number : {12u, 9u, 7u, 8u, 30u, 6u})
    packed.insert({number, 0});

  EXPECT_EQ(packed.front_run(10), 4u);
  EXPECT_EQ(packed.front_run(3), 3u);
  packed.pop_front();
  EXPECT_EQ(packed.front_run(10), 3u);
  packed.insert({8, 1});
  EXPECT_EQ(packed.front_run(10), 2u) << "another one stands between";
  for (int i = 0; i < 5; ++i)
    packed.pop_front();
  EXPECT_EQ(packed.front_run(10), 1u);
}

TEST(PackedSet, KeepsTheGreatestNumbers) {
  constexpr auto greatest = std::numeric_limits<std::uint64_t>::max();
  packed_set packed;
  packed.insert({greatest, 0});
  packed.insert({0, greatest});
  packed.insert({greatest, greatest});

  EXPECT_EQ(
    all_of(packed), (std::vector<number_pair>{{0, greatest}, {greatest, 0}, {greatest, greatest}}));
}

TEST(PackedSet, AssignedAtOnceEqualsInsertedOneByOne) {
  packed_set one_by_one;
  std::vector<number_pair> all;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    all.emplace_back(i / 3, i);
    one_by_one.insert(all.back());
  }
  packed_set at_once;

  at_once.assign(all);

  EXPECT_EQ(at_once, one_by_one);
  at_once.insert({1, 1'000});
  EXPECT_FALSE(at_once == one_by_one);
}

TEST(PackedSet, ElementsBehindTheFirstLeafAreErasedInTheirOrder) {
  packed_set packed(4);
  for (std::uint64_t number : {1u, 2u, 3u, 4u, 9u, 8u, 6u, 7u, 5u, 12u, 11u, 10u, 13u, 14u})
    packed.insert({number, 0});

  for (std::uint64_t number = 2; number < 14; ++number)
    EXPECT_TRUE(packed.erase({number, 0}));

  EXPECT_FALSE(packed.erase({5, 0}));
  EXPECT_EQ(all_of(packed), (std::vector<number_pair>{{1, 0}, {14, 0}}));
  EXPECT_EQ(packed.size(), 2u);
}

TEST(PackedSet, RowThatIsNeverEmptyKeepsItsOrder) {
  packed_set row;
  row.insert({1, 0});

  for (std::uint64_t i = 2; i < 10'000; ++i) {
    row.insert({i, 0});
    ASSERT_EQ(row.front().first, i - 1);
    row.pop_front();
  }

  EXPECT_EQ(row.size(), 1u);
}

} // namespace
} // namespace codeq::core
