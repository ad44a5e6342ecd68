// SPDX-License-Identifier: Apache-2.0
#include "base/tuning.hpp"
#include "core/state/survivors.hpp"
#include "support/shard_fixture.hpp"

#include <gtest/gtest.h>

#include <string>

namespace codeq::test {
namespace {

using namespace std::chrono_literals;

/// Eight tasks of one segment; all are leased by `w`.
class Survivors : public shard_fixture {
protected:
  Survivors() {
    attach("w", {"q"});
    claim("w", 8);
    enqueue("q", 8);
  }

  void complete_all_but(std::uint64_t survivor) {
    for (std::uint64_t i = 1; i <= 8; ++i)
      if (i != survivor)
        complete("w", held(i, i));
  }

  /// Brings the bodies of what is sparse, and takes a snapshot. Returns its copies by number.
  std::string copy() {
    for (const auto& left : core::take_sparse(state()))
      bring(with_bodies(left));
    take_snapshot();
    return copies();
  }

  static core::copy_survivors with_bodies(const core::survivors& left) {
    core::copy_survivors c{left.segment, {}};
    for (auto seq : left.tasks)
      c.bodies[seq] = {bytes("body"), {4}};
    return c;
  }

  /// The numbers of the tasks that the last snapshot copied.
  std::string copies() {
    std::string copies;
    for (const auto& task : snapshot().copied)
      copies += std::to_string(task.first & tuning::token_counter_max) + " ";
    return copies;
  }

  const core::snapshot_taken& snapshot() { return std::get<core::snapshot_taken>(events().back()); }
};

TEST_F(Survivors, OfADeadTaskTheSegmentIsClosed) {
  complete_all_but(3);
  fail_permanently("w", held(3, 3));
  take_snapshot();
  EXPECT_EQ(snapshot().closed.size(), 0u);

  EXPECT_EQ(copy(), "3 ");

  ASSERT_EQ(snapshot().closed.size(), 1u);
  EXPECT_TRUE(snapshot().closed[0].entries[2].gone);
  EXPECT_EQ(state_of(3), "dead");
  EXPECT_EQ(state_of(2), "not in memory");
  EXPECT_EQ(state_of(4), "not in memory");
}

TEST_F(Survivors, CopyMayHaveTheFirstTaskOfItsSegment) {
  complete_all_but(1);
  fail_permanently("w", held(1, 1));
  take_snapshot();

  EXPECT_EQ(copy(), "1 ");

  EXPECT_EQ(state_of(1), "dead");
  EXPECT_EQ(state_of(2), "not in memory");
}

TEST_F(Survivors, AreNotCopiedWhenOneWasLeasedMeanwhile) {
  complete_all_but(3);
  nack("w", held(3, 3), 1min);
  take_snapshot();
  auto found = core::take_sparse(state());
  ASSERT_EQ(found.size(), 1u);
  bring(with_bodies(found.front()));
  advance(1min);
  claim("w", 1);

  take_snapshot();

  EXPECT_EQ(copies(), "");
  nack("w", held(3, 9), 1min);
  take_snapshot();
  EXPECT_EQ(copy(), "3 ");
  EXPECT_EQ(state_of(3), "scheduled");
}

TEST_F(Survivors, AreNotCopiedWhenTheyAreSoonGone) {
  complete_all_but(3);
  nack("w", held(3, 3), 1min - 1ms);
  take_snapshot();

  EXPECT_EQ(copy(), "");
}

TEST_F(Survivors, CopyIsClaimedAndClosedLikeAnyTask) {
  complete_all_but(3);
  nack("w", held(3, 3), 1min);
  take_snapshot();
  EXPECT_EQ(copy(), "3 ");

  advance(1min);
  claim("w", 1);
  complete("w", held(3, 9));
  take_snapshot();

  ASSERT_EQ(snapshot().closed.size(), 1u);
  EXPECT_TRUE(snapshot().closed[0].copied);
  EXPECT_EQ(state_of(3), "not in memory");
}

TEST_F(Survivors, AreNotCopiedWhileTheDiskHasTooLittleSpace) {
  complete_all_but(3);
  fail_permanently("w", held(3, 3));
  take_snapshot();
  state().are_grants_paused = true;
  EXPECT_EQ(copy(), "");

  state().are_grants_paused = false;
  take_snapshot();

  EXPECT_EQ(copies(), "3 ");
}

TEST_F(Survivors, AreCopiedWhenAnEighthIsLeft) {
  enqueue("q", 7);
  claim("w", 7);
  for (std::uint64_t i = 9; i <= 14; ++i)
    complete("w", held(i, i));
  fail_permanently("w", held(15, 15));
  take_snapshot();

  EXPECT_EQ(copy(), "");
}

} // namespace
} // namespace codeq::test
