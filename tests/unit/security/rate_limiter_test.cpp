// SPDX-License-Identifier: Apache-2.0
#include "security/rate_limiter.hpp"

#include <gtest/gtest.h>

namespace codeq::security {

using namespace std::chrono_literals;

namespace {

principal limited(std::uint8_t token, rate limit) {
  principal who;
  who.token[0] = token;
  who.rates[static_cast<std::size_t>(rate_scope::producer)] = limit;
  return who;
}

/// The producer bucket of one principal, at times relative to the start.
class RateLimiter : public testing::Test {
protected:
  duration take(const principal& who, std::uint64_t cost, duration at) {
    return limiter_.take(who, rate_scope::producer, cost, monotonic_time{1h + at});
  }

  rate_limiter limiter_;
  principal who_ = limited(1, {10, 20});
};

} // namespace

TEST_F(RateLimiter, BurstPassesAndThenTheRate) {
  EXPECT_EQ(take(who_, 20, 0ms), 0ms);
  EXPECT_EQ(take(who_, 1, 0ms), 100ms);
  EXPECT_EQ(take(who_, 1, 99ms), 1ms);
  EXPECT_EQ(take(who_, 1, 100ms), 0ms);
  EXPECT_EQ(take(who_, 10, 100ms), 1000ms);
}

TEST_F(RateLimiter, BucketHoldsNoMoreThanABurst) {
  EXPECT_EQ(take(who_, 20, 0ms), 0ms);
  EXPECT_EQ(take(who_, 20, 24h * 400), 0ms);
  EXPECT_EQ(take(who_, 1, 24h * 400), 100ms);
}

TEST_F(RateLimiter, MoreThanABurstPassesAFullBucketAndIsPaidLater) {
  EXPECT_EQ(take(who_, 50, 0ms), 0ms);
  EXPECT_EQ(take(who_, 1, 0ms), 3100ms);
  EXPECT_EQ(take(who_, 1, 3100ms), 0ms);
}

TEST_F(RateLimiter, RefusedCostIsNotTaken) {
  EXPECT_EQ(take(who_, 19, 0ms), 0ms);
  EXPECT_EQ(take(who_, 2, 0ms), 100ms);
  EXPECT_EQ(take(who_, 1, 0ms), 0ms);
}

TEST_F(RateLimiter, TokensAndScopesHaveBucketsOfTheirOwn) {
  auto other = limited(2, {10, 20});
  EXPECT_EQ(take(who_, 20, 0ms), 0ms);
  EXPECT_EQ(take(other, 20, 0ms), 0ms);
  EXPECT_EQ(limiter_.take(who_, rate_scope::claim, 1'000'000, monotonic_time{1h}), 0ms);
}

TEST_F(RateLimiter, ChangedLimitCountsAtOnce) {
  EXPECT_EQ(take(who_, 20, 0ms), 0ms);
  EXPECT_EQ(take(limited(1, {1000, 1000}), 500, 0ms), 0ms);
}

TEST_F(RateLimiter, ForgettingTheIdleForgivesNobody) {
  EXPECT_EQ(take(who_, 20, 0ms), 0ms);
  limiter_.forget_idle(monotonic_time{1h + 500ms});
  EXPECT_EQ(take(who_, 10, 500ms), 500ms);
  limiter_.forget_idle(monotonic_time{1h + 2s});
  EXPECT_EQ(take(who_, 20, 2s), 0ms);
}

TEST_F(RateLimiter, HugeCostDoesNotOverflow) {
  EXPECT_EQ(take(who_, UINT64_MAX, 0ms), 0ms);
  EXPECT_GT(take(who_, 1, 24h), 0ms);
}

} // namespace codeq::security
