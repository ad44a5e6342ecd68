// SPDX-License-Identifier: Apache-2.0
#include "core/turn/retry.hpp"

#include <gtest/gtest.h>

#include <set>

namespace codeq::core {
namespace {

using namespace std::chrono_literals;

duration delay(retry_kind kind, std::uint32_t attempt, sequence seq = 1) {
  return retry_delay({kind, 1s, 15s}, attempt, {shard_id{3}, seq});
}

TEST(RetryDelay, FixedIsTheBase) {
  EXPECT_EQ(delay(retry_kind::fixed, 1), 1s);
  EXPECT_EQ(delay(retry_kind::fixed, 900), 1s);
}

TEST(RetryDelay, LinearGrowsByTheBaseUpToTheCap) {
  EXPECT_EQ(delay(retry_kind::linear, 1), 1s);
  EXPECT_EQ(delay(retry_kind::linear, 3), 3s);
  EXPECT_EQ(delay(retry_kind::linear, 16), 15s);
}

TEST(RetryDelay, ExponentialDoublesUpToTheCap) {
  EXPECT_EQ(delay(retry_kind::exponential, 1), 1s);
  EXPECT_EQ(delay(retry_kind::exponential, 2), 2s);
  EXPECT_EQ(delay(retry_kind::exponential, 4), 8s);
  EXPECT_EQ(delay(retry_kind::exponential, 5), 15s);
  EXPECT_EQ(delay(retry_kind::exponential, 1000), 15s);
}

TEST(RetryDelay, JitterIsBetweenZeroAndTheExponentialDelay) {
  std::set<duration> seen;
  for (sequence seq = 1; seq <= 2000; ++seq) {
    auto d = delay(retry_kind::exponential_jitter, 3, seq);
    EXPECT_GE(d, 0s);
    EXPECT_LE(d, 4s);
    seen.insert(d);
  }
  EXPECT_GT(seen.size(), 1000u) << "delays of different tasks differ";
  EXPECT_LT(*seen.begin(), 200ms);
  EXPECT_GT(*seen.rbegin(), 3800ms);
}

TEST(RetryDelay, JitterIsAFunctionOfTaskAndAttempt) {
  auto jitter = retry_kind::exponential_jitter;

  EXPECT_EQ(delay(jitter, 4, 77), delay(jitter, 4, 77));
  EXPECT_NE(delay(jitter, 9, 77), delay(jitter, 8, 77));
}

TEST(RetryDelay, NeighboursShareTheJitterOfTheirFirstRetryOnly) {
  auto jitter = retry_kind::exponential_jitter;
  std::set<duration> first;
  std::set<duration> second;
  for (sequence seq = 32; seq < 48; ++seq) {
    first.insert(delay(jitter, 1, seq));
    second.insert(delay(jitter, 2, seq));
  }
  EXPECT_EQ(first.size(), 1u);
  EXPECT_GT(second.size(), 14u);

  for (sequence seq = 0; seq < 1600; seq += 16)
    first.insert(delay(jitter, 1, seq));
  EXPECT_GT(first.size(), 90u) << "others than the neighbours are spread";
}

TEST(RetryDelay, BaseOverTheCapIsTheCap) {
  for (auto kind : {retry_kind::fixed, retry_kind::linear, retry_kind::exponential})
    EXPECT_EQ(retry_delay({kind, 1min, 2s}, 3, {shard_id{}, 1}), 2s);
}

TEST(RetryDelay, LongestPolicyDoesNotOverflow) {
  retry_policy longest{retry_kind::linear, limits::retry_max, limits::retry_max};
  for (auto kind :
       {retry_kind::fixed,
        retry_kind::linear,
        retry_kind::exponential,
        retry_kind::exponential_jitter}) {
    longest.kind = kind;
    auto d = retry_delay(longest, limits::attempts_max, {shard_id{}, 1});
    EXPECT_GE(d, 0s);
    EXPECT_LE(d, limits::retry_max);
  }
}

TEST(RetryDelay, ZeroBaseIsAtOnce) {
  for (auto kind :
       {retry_kind::fixed,
        retry_kind::linear,
        retry_kind::exponential,
        retry_kind::exponential_jitter})
    EXPECT_EQ(retry_delay({kind, 0s, 1min}, 7, {shard_id{}, 1}), 0s);
}

} // namespace
} // namespace codeq::core
