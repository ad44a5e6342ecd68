// SPDX-License-Identifier: Apache-2.0
#include "support/equal_hashes.hpp"
#include "support/shard_fixture.hpp"

#include <gtest/gtest.h>

namespace codeq::test {
namespace {

/// Tasks of groups, and with keys, whose names have equal hashes.
class EqualHashes : public shard_fixture {
protected:
  EqualHashes() {
    enqueue("q");
    attach("w", {"q"});
    claim("w", 1);
    complete("w", held(1, 1));
  }

  static std::string group_of(int number) {
    return std::string(number == 1 ? equal_groups.first : equal_groups.second);
  }

  static std::string key_of(int number) {
    return std::string(number == 1 ? equal_keys.first : equal_keys.second);
  }
};

TEST_F(EqualHashes, NamesOfTheTestsHaveThem) {
  const auto& names = state().names;
  EXPECT_EQ(names.of_group(0, group_of(1)), names.of_group(0, group_of(2)));
  EXPECT_EQ(names.of_key(0, {}, key_of(1)), names.of_key(0, {}, key_of(2)));
}

TEST_F(EqualHashes, GroupsHoldUpEachOtherByNothing) {
  enqueue("q", 2, {.group = group_of(1)});
  enqueue("q", 2, {.group = group_of(2)});

  EXPECT_EQ(state_of(2), "ready");
  EXPECT_EQ(state_of(3), "gated");
  EXPECT_EQ(state_of(4), "ready");
  EXPECT_EQ(state_of(5), "gated");

  EXPECT_EQ(claim("w", 3), "w: parked; w: got 2/t2 4/t3");
  EXPECT_EQ(complete("w", held(4, 3)), "w: answered 4/t3 ok; w: got 5/t4");
  EXPECT_EQ(state_of(3), "gated");
}

TEST_F(EqualHashes, LateMemberIsThatOfItsOwnGroup) {
  enqueue("q", 2, {.group = group_of(1)});
  enqueue("q", 2, {.group = group_of(2)});
  claim("w", 6);
  fail_permanently("w", held(2, 2));
  redrive(2);

  EXPECT_EQ(state_of(2), "gated");
  EXPECT_EQ(state_of(3), "leased");
  EXPECT_EQ(complete("w", held(4, 3)), "w: answered 4/t3 ok; w: got 5/t5");
  EXPECT_EQ(complete("w", held(3, 4)), "w: answered 3/t4 ok; w: got 2/t6");
}

TEST_F(EqualHashes, EachKeyHasItsOwnTask) {
  EXPECT_EQ(enqueue("q", 1, {.key = key_of(1)}), "p: enqueued 2; w: work available");
  EXPECT_EQ(enqueue("q", 1, {.key = key_of(2)}), "p: enqueued 3");
  EXPECT_EQ(enqueue("q", 1, {.key = key_of(1)}), "p: enqueued 2 existing");
  EXPECT_EQ(enqueue("q", 1, {.key = key_of(2)}), "p: enqueued 3 existing");
}

} // namespace
} // namespace codeq::test
