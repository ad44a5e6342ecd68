// SPDX-License-Identifier: Apache-2.0
#include "replication/lag_marks.hpp"

#include <gtest/gtest.h>

namespace codeq::replication {
namespace {

using namespace std::chrono_literals;

class LagMarksTest : public testing::Test {
protected:
  void begin(std::uint64_t number, duration at) { marks_.note({2, number}, start_ + at); }

  [[nodiscard]] duration lag(std::uint64_t written, duration at) const {
    return marks_.lag({2, written}, start_ + at);
  }

  monotonic_time start_{1'000'000ms};
  lag_marks marks_;
};

TEST_F(LagMarksTest, ReplicaThatHasEverythingIsNotLate) {
  EXPECT_EQ(lag(0, 5s), 0ms);
  begin(1, 0ms);
  EXPECT_EQ(lag(1, 5s), 0ms);
}

TEST_F(LagMarksTest, LagCountsFromTheFirstDeltaThatIsMissing) {
  begin(1, 0ms);
  begin(2, 3s);
  begin(3, 4s);

  EXPECT_EQ(lag(0, 5s), 5s);
  EXPECT_EQ(lag(1, 5s), 2s);
  EXPECT_EQ(lag(2, 5s), 1s);
}

TEST_F(LagMarksTest, DeltasOfEarlierEpochsAreMissingSinceTheEpochBegan) {
  begin(10, 1s);

  EXPECT_EQ(marks_.lag({1, 99}, start_ + 4s), 3s);
}

TEST_F(LagMarksTest, DeltasThatFollowAtOnceCountAsOne) {
  begin(1, 0ms);
  begin(2, 9ms);
  begin(3, 10ms);

  EXPECT_EQ(lag(1, 1s), 1s);
  EXPECT_EQ(lag(2, 1s), 990ms);
}

TEST_F(LagMarksTest, LagOfALateReplicaIsKnownToAnEighth) {
  constexpr std::uint64_t count = 100'000;
  for (std::uint64_t i = 1; i <= count; ++i)
    begin(i, i * 10ms);

  const auto now = count * 10ms;
  for (std::uint64_t written : {0ull, 1'000ull, 50'000ull, 90'000ull, 99'000ull, 99'990ull}) {
    const auto exact = now - (written + 1) * 10ms;
    EXPECT_GE(lag(written, now), exact) << written;
    EXPECT_LE(lag(written, now), exact * 9 / 8 + 10ms) << written;
  }
  EXPECT_EQ(lag(count, now), 0ms);
}

} // namespace
} // namespace codeq::replication
