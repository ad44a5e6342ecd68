// SPDX-License-Identifier: Apache-2.0
#include "core/checks/invariants.hpp"
#include "core/state/task_checkpoints.hpp"
#include "support/shard_fixture.hpp"

#include <gtest/gtest.h>

namespace codeq::test {
namespace {

using namespace std::chrono_literals;

/// Checkpoints, which an attempt saves for the next one.
class SavedCheckpoint : public shard_fixture {
protected:
  SavedCheckpoint() {
    attach("w", {"q"});
    enqueue("q", 1, {.settings = {.retry = {retry_kind::fixed, 1s, 1s}}});
    claim("w", 1);
  }

  /// Expires the lease.
  std::string expire_late(core::task_lease lease) {
    advance(10s);
    return expire(lease);
  }

  [[nodiscard]] bool has_checkpoint() { return state().checkpoints.contains(task(1)); }

  /// The data in the latest turn's event; empty when it has none.
  [[nodiscard]] std::string written() const {
    for (const auto& e : events())
      if (const auto* handed = std::get_if<core::checkpoints_changed>(&e); handed)
        return handed->saved.empty() ? "" : std::string(handed->saved.front().data.view());
    return "";
  }
};

TEST_F(SavedCheckpoint, CheckpointIsAnsweredAndWritten) {
  EXPECT_EQ(save("w", held(1, 1), 1), "w: saved 1 of 1/t1");
  EXPECT_EQ(written(), "state 1");
}

TEST_F(SavedCheckpoint, RetryGetsTheLatest) {
  save("w", held(1, 1), 1);
  save("w", held(1, 1), 2);
  fail("w", held(1, 1));

  claim("w", 1);

  EXPECT_EQ(advance(1s), "w: got 1/t2@2 after 2 of t1");
}

TEST_F(SavedCheckpoint, LostLeaseAbandonAndGoodbyeKeepIt) {
  save("w", held(1, 1), 1);
  claim("w", 3);

  EXPECT_EQ(expire_late(held(1, 1)), "w: lost 1/t1; timer t1 dropped; w: got 1/t2@2 after 1 of t1");
  EXPECT_EQ(abandon("w", held(1, 2)), "w: answered 1/t2 ok; w: got 1/t3@2 after 1 of t1");
  EXPECT_EQ(release("w"), "w: got 1/t4@2 after 1 of t1");
}

TEST_F(SavedCheckpoint, OvertakenOneChangesNothing) {
  save("w", held(1, 1), 2);

  EXPECT_EQ(save("w", held(1, 1), 1), "w: saved 1 of 1/t1");

  EXPECT_EQ(written(), "");
  EXPECT_EQ(state().checkpoints.at(task(1)).number, 2u);
}

TEST_F(SavedCheckpoint, OneWithoutANumberIsTheNextOfItsAttempt) {
  EXPECT_EQ(save("w", held(1, 1), 0), "w: saved 1 of 1/t1");
  EXPECT_EQ(save("w", held(1, 1), 0), "w: saved 2 of 1/t1");
  claim("w", 1);
  expire_late(held(1, 1));

  EXPECT_EQ(save("w", held(1, 1), 0), "w: lost 1/t1");
  EXPECT_EQ(save("w", held(1, 2), 0), "w: saved 1 of 1/t2");

  EXPECT_EQ(written(), "state 0");
  EXPECT_EQ(state().checkpoints.at(task(1)), (core::checkpoint_mark{held(1, 2).token, 1}));
}

TEST_F(SavedCheckpoint, StaleAttemptIsRefused) {
  claim("w", 1);
  expire_late(held(1, 1));
  save("w", held(1, 2), 1);

  EXPECT_EQ(save("w", held(1, 1), 7), "w: lost 1/t1");

  EXPECT_EQ(state().checkpoints.at(task(1)), (core::checkpoint_mark{held(1, 2).token, 1}));
}

TEST_F(SavedCheckpoint, NewAttemptCountsFromOneAgain) {
  save("w", held(1, 1), 9);
  claim("w", 1);
  expire_late(held(1, 1));

  save("w", held(1, 2), 1);

  EXPECT_EQ(state().checkpoints.at(task(1)), (core::checkpoint_mark{held(1, 2).token, 1}));
}

TEST_F(SavedCheckpoint, FailureCarriesWhatWasNotAnswered) {
  core::lease_report how;
  how.how = disposition::failed;
  how.checkpoint = {task(1), {held(1, 1).token, 3}, bytes("state 3")};
  report("w", held(1, 1), how);
  EXPECT_EQ(written(), "state 3");

  claim("w", 1);

  EXPECT_EQ(advance(1s), "w: got 1/t2@2 after 3 of t1");
}

TEST_F(SavedCheckpoint, EndOfTheTaskDropsIt) {
  save("w", held(1, 1), 1);

  complete("w", held(1, 1));

  EXPECT_FALSE(has_checkpoint());
}

TEST_F(SavedCheckpoint, DeathAndCancelDropIt) {
  save("w", held(1, 1), 1);
  fail_permanently("w", held(1, 1));
  EXPECT_FALSE(has_checkpoint());

  redrive(1);
  claim("w", 1);
  save("w", held(1, 2), 1);
  fail("w", held(1, 2));
  EXPECT_TRUE(has_checkpoint());
  cancel(1);

  EXPECT_FALSE(has_checkpoint());
}

TEST_F(SavedCheckpoint, WhatIsSavedInTheTurnThatEndsTheTaskLeavesNothing) {
  together([&] {
    save("w", held(1, 1), 1);
    complete("w", held(1, 1));
  });

  EXPECT_FALSE(has_checkpoint());
  EXPECT_TRUE(recovered(turns())->checkpoints.empty());
}

TEST_F(SavedCheckpoint, ResumeTellsItAgain) {
  claim("w", 1);
  save("w", held(1, 1), 1);
  expire_late(held(1, 1));
  attach("w", {"q"});

  EXPECT_EQ(resume("w", {}), "w: got again 1/t2@2 after 1 of t1; w: resumed");
}

TEST_F(SavedCheckpoint, RestartKeepsIt) {
  save("w", held(1, 1), 1);

  restart();

  EXPECT_EQ(state().checkpoints.at(task(1)), (core::checkpoint_mark{held(1, 1).token, 1}));
}

TEST_F(SavedCheckpoint, OneOfATaskThatIsOverIsAViolation) {
  save("w", held(1, 1), 1);
  complete("w", held(1, 1));
  EXPECT_TRUE(core::find_violations(state()).empty());

  core::set_checkpoint(state(), task(1), {held(1, 1).token, 1});

  EXPECT_EQ(core::find_violations(state()).size(), 1u);
  core::forget_checkpoint(state(), task(1));
}

} // namespace
} // namespace codeq::test
