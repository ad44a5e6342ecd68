// SPDX-License-Identifier: Apache-2.0
#include "schedule/overlap.hpp"

#include <gtest/gtest.h>

namespace codeq::schedule {
namespace {

using act = overlap_decision::act;

constexpr overlap_state idle{};
constexpr overlap_state busy{.is_running = true};
constexpr overlap_state full{.is_running = true, .is_one_waiting = true};

TEST(Overlap, EachPolicyAddsTheTaskWhenNothingRuns) {
  for (auto policy : {overlap_policy::allow, overlap_policy::skip, overlap_policy::queue_one,
                      overlap_policy::cancel_previous})
    EXPECT_EQ(decide_overlap(policy, idle), overlap_decision{}) << to_string(policy);
}

TEST(Overlap, AllowAddsTheTaskInEachState) {
  EXPECT_EQ(decide_overlap(overlap_policy::allow, busy), overlap_decision{});
  EXPECT_EQ(decide_overlap(overlap_policy::allow, full), overlap_decision{});
}

TEST(Overlap, SkipPassesOver) {
  EXPECT_EQ(decide_overlap(overlap_policy::skip, busy), overlap_decision{act::skip});
}

TEST(Overlap, QueueOneKeepsTheFirstThatWaits) {
  EXPECT_EQ(decide_overlap(overlap_policy::queue_one, busy), overlap_decision{act::wait});
  EXPECT_EQ(decide_overlap(overlap_policy::queue_one, full), overlap_decision{act::skip});
}

TEST(Overlap, CancelPreviousKeepsTheNewestThatWaits) {
  EXPECT_EQ(
    decide_overlap(overlap_policy::cancel_previous, busy),
    (overlap_decision{act::wait, true, false}));
  EXPECT_EQ(
    decide_overlap(overlap_policy::cancel_previous, full),
    (overlap_decision{act::wait, true, true}));
}

TEST(Overlap, WaitingOneIsReleasedByTheEndOfWhatRuns) {
  EXPECT_FALSE(releases_waiting(overlap_policy::queue_one, full));
  EXPECT_TRUE(releases_waiting(overlap_policy::queue_one, {.is_one_waiting = true}));
  EXPECT_FALSE(releases_waiting(overlap_policy::queue_one, idle));
}

TEST(Overlap, WaitingOneIsReleasedWhenOverlapIsAllowedNow) {
  EXPECT_TRUE(releases_waiting(overlap_policy::allow, full));
}

TEST(Overlap, PoliciesAreReadByName) {
  for (auto policy : {overlap_policy::allow, overlap_policy::skip, overlap_policy::queue_one,
                      overlap_policy::cancel_previous})
    EXPECT_EQ(*parse_overlap_policy(to_string(policy)), policy);
  EXPECT_EQ(*parse_overlap_policy("queue-one"), overlap_policy::queue_one);
  EXPECT_EQ(
    parse_overlap_policy("queue").error().context,
    "overlap: `queue` is not allow, skip, queue_one or cancel_previous");
}

} // namespace
} // namespace codeq::schedule
