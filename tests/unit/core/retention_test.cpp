// SPDX-License-Identifier: Apache-2.0
#include "support/shard_fixture.hpp"

#include <gtest/gtest.h>

namespace codeq::test {
namespace {

using namespace std::chrono_literals;

class Retention : public shard_fixture {
protected:
  void enqueue_kept(duration retention, std::size_t count = 1) {
    enqueue("q", count, {.settings = {.retention = retention}});
  }

  std::vector<core::leases_ended> ended() {
    std::vector<core::leases_ended> records;
    for (const auto& e : events())
      if (const auto* record = std::get_if<core::leases_ended>(&e))
        records.push_back(*record);
    return records;
  }

  std::size_t held_outcomes() { return state().held_outcomes.all().size(); }
};

TEST_F(Retention, OfAnOutcomeIsThatOfItsTasks) {
  attach("w", {"q"});
  claim("w", 4);
  enqueue_kept(1h, 2);
  enqueue_kept(168h, 2);

  together([&] {
    complete("w", held(1, 1));
    complete("w", held(3, 3));
    complete("w", held(2, 2));
    complete("w", held(4, 4));
  });

  ASSERT_EQ(ended().size(), 2u);
  EXPECT_EQ(ended()[0].retention, 1h);
  EXPECT_EQ(ended()[0].ends.size(), 2u);
  EXPECT_EQ(ended()[1].retention, 168h);
  EXPECT_EQ(ended()[1].ends.size(), 2u);
}

TEST_F(Retention, DoesNotPutAnEndBeforeAChange) {
  attach("w", {"q"});
  claim("w", 3);
  enqueue_kept(1h, 2);
  enqueue_kept(168h);

  together([&] {
    complete("w", held(1, 1));
    complete("w", held(3, 3));
    cancel(2);
    fail("w", held(2, 2));
  });
  restart();

  EXPECT_EQ(state_of(2), "cancelled");
}

TEST_F(Retention, OfAFateIsThatOfItsTasks) {
  attach("w", {"q"});
  claim("w", 1);
  enqueue_kept(1h);
  complete("w", held(1, 1));

  take_snapshot();

  const auto& fate = std::get<core::snapshot_taken>(events().back()).closed.at(0);
  EXPECT_EQ(fate.retention, 1h);
}

TEST_F(Retention, OutcomesOfLiveTasksAreHeldUntilTheirNextEnd) {
  attach("w", {"q"});
  claim("w", 3);
  enqueue_kept(1h, 2);
  EXPECT_EQ(held_outcomes(), 0u);

  together([&] {
    nack("w", held(1, 1), 0s);
    complete("w", held(2, 2));
  });
  EXPECT_EQ(held_outcomes(), 1u) << "the task was leased again, its error stands";
  nack("w", held(1, 3), 1s);
  EXPECT_EQ(held_outcomes(), 1u);
  EXPECT_EQ(state().held_outcomes.all().front().first, entry_of(1).outcome);

  cancel(1);
  EXPECT_EQ(held_outcomes(), 0u);
}

TEST_F(Retention, OutcomesOfDeadTasksAreNotHeld) {
  attach("w", {"q"});
  claim("w", 1);
  enqueue_kept(1h);

  fail_permanently("w", held(1, 1));

  EXPECT_EQ(held_outcomes(), 0u);
  EXPECT_EQ(ended().at(0).ends.at(0).attempt, 1);
}

TEST_F(Retention, RedrivenTasksHaveNoOutcome) {
  attach("w", {"q"});
  claim("w", 1);
  enqueue_kept(1h);
  fail_permanently("w", held(1, 1));

  redrive(1);

  EXPECT_EQ(entry_of(1).outcome, 0u);
  EXPECT_EQ(held_outcomes(), 0u);
}

class DeadRetention : public shard_fixture {
protected:
  void bury(const enqueue_options& options) {
    attach("w", {"q"});
    claim("w", 1);
    enqueue("q", 1, options);
    fail_permanently("w", held(1, 1));
  }
};

TEST_F(DeadRetention, TaskGoesWhenItIsOverAndNotBefore) {
  bury({.settings = {.dead_retention = 1h}});

  advance(1h - 1ms);
  EXPECT_EQ(state_of(1), "dead");
  advance(1ms);
  take_snapshot();

  EXPECT_EQ(state_of(1), "not in memory");
}

TEST_F(DeadRetention, IsForEverWhenNobodySetOne) {
  bury({.settings = {.retention = 1h}});

  advance(10'000h);
  take_snapshot();

  EXPECT_EQ(state_of(1), "dead");
}

TEST_F(DeadRetention, GoesOnOverARestart) {
  bury({.settings = {.dead_retention = 1h}});
  take_snapshot();
  restart();

  advance(1h);

  EXPECT_TRUE(entry_of(1).gone);
}

TEST_F(DeadRetention, RedrivenTaskStays) {
  bury({.settings = {.dead_retention = 1h}});
  redrive(1);

  advance(2h);

  EXPECT_EQ(state_of(1), "ready");
}

TEST_F(DeadRetention, OpensTheGroupThatTheTaskBlocks) {
  bury({.settings = {.dead_retention = 1h, .when_dead = on_dead::block}, .group = "g"});
  enqueue("q", 1, {.group = "g"});
  EXPECT_EQ(state_of(2), "gated");

  advance(1h);

  EXPECT_EQ(state_of(2), "ready");
}

} // namespace
} // namespace codeq::test
