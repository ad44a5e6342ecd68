// SPDX-License-Identifier: Apache-2.0

#include "base/tuning.hpp"
#include "support/shard_fixture.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace codeq::test {
namespace {

using namespace std::chrono_literals;

class Progress : public shard_fixture {
protected:
  /// One task with these settings, leased to `w` as 1/t1.
  void lease_one(const task_settings& settings) {
    attach("w", {"q"});
    claim("w", 1);
    enqueue("q", 1, {.settings = settings});
  }

  /// Text of the only lease end in the latest turn.
  [[nodiscard]] std::string end_text() const {
    const auto& ended = std::get<core::leases_ended>(events().front());
    return std::string(ended.ends.at(0).text.view());
  }
};

TEST_F(Progress, BeatsWithoutItExtendNoLeaseForEver) {
  lease_one({.retry = {retry_kind::fixed, 7s, 1min}, .lease = 10s, .progress_timeout = 12s});
  advance(9s);
  beat("w", held(1, 1));
  advance(3s);

  expire(held(1, 1));

  EXPECT_EQ(entry_of(1).last_end, core::lease_end_kind::timed_out);
  EXPECT_THAT(end_text(), testing::StartsWith("progress_timeout: "));
  EXPECT_EQ(state_of(1), "scheduled");
  EXPECT_EQ(entry_of(1).attempt, 1);
}

TEST_F(Progress, KeepsALeaseAlive) {
  lease_one({.lease = 10s, .progress_timeout = 12s});
  advance(9s);
  progress("w", held(1, 1));
  advance(9s);
  beat("w", held(1, 1));

  EXPECT_EQ(expire(held(1, 1)), "timer 1/t1 at 21000");
}

TEST_F(Progress, DoesNotReplaceTheLease) {
  lease_one({.lease = 10s, .progress_timeout = 1h});
  advance(9s);
  progress("w", held(1, 1));

  EXPECT_EQ(expire(held(1, 1)), "timer 1/t1 at 19000");
}

TEST_F(Progress, CannotExtendARunTimeout) {
  lease_one({.lease = 10s, .run_timeout = 12s, .progress_timeout = 10s});
  advance(9s);
  progress("w", held(1, 1));
  advance(3s);

  expire(held(1, 1));

  EXPECT_THAT(end_text(), testing::StartsWith("run_timeout: "));
}

TEST_F(Progress, WithoutATimeoutChangesNothing) {
  lease_one({.lease = 10s});
  advance(5s);

  progress("w", held(1, 1));

  EXPECT_EQ(expire(held(1, 1)), "timer 1/t1 at 15000");
}

TEST_F(Progress, StartOfAQueuedAttemptIsOne) {
  lease_one({.lease = 10s, .progress_timeout = 12s});
  beat("w", held(1, 1), true);
  advance(9s);
  beat("w", held(1, 1));
  advance(4s);

  EXPECT_EQ(expire(held(1, 1)), "timer 1/t1 at 19000");
}

TEST_F(Progress, AttemptThatWasNotStartedIsNotCharged) {
  lease_one({.lease = 10s, .progress_timeout = 3s});
  beat("w", held(1, 1), true);
  advance(3s);

  expire(held(1, 1));

  EXPECT_EQ(entry_of(1).last_end, core::lease_end_kind::timed_out);
  EXPECT_EQ(entry_of(1).attempt, 0);
  EXPECT_EQ(state_of(1), "ready");
}

TEST_F(Progress, AttemptThatWasNotStartedIsNotChargedForItsRunTimeout) {
  lease_one({.lease = 10s, .run_timeout = 3s});
  beat("w", held(1, 1), true);
  advance(3s);

  expire(held(1, 1));

  EXPECT_EQ(entry_of(1).attempt, 0);
  EXPECT_EQ(state().queues[0]->totals.lost, 0);
}

TEST_F(Progress, CountsAfreshFromARestart) {
  lease_one({.lease = 10s, .progress_timeout = 5s});
  advance(4s);

  restart();

  EXPECT_EQ(expire(held(1, 1)), "timer 1/t1 at 9000");
}

class DueTasks : public shard_fixture {};

TEST_F(DueTasks, AreReleasedInPartsOfATurn) {
  auto many = tuning::due_released_per_turn_max;
  enqueue("q", many + 1, {.delay = 1s, .body_size = 8});
  EXPECT_EQ(state().queues[0]->scheduled, many + 1);

  advance(1s);
  EXPECT_EQ(state().queues[0]->ready, many);
  EXPECT_EQ(core::next_wakeup(state(), base::manual_clock(clock()).now()), 0s);
  advance(0s);

  EXPECT_EQ(state().queues[0]->ready, many + 1);
}

TEST_F(Progress, OfOneMessageOnlyTheLatestIsTold) {
  lease_one({});
  watch("p", 1);

  EXPECT_EQ(
    tell_progress_twice("w", held(1, 1), "first", "last"),
    tell_progress("w", held(1, 1), 2, "last"));
}

} // namespace
} // namespace codeq::test
