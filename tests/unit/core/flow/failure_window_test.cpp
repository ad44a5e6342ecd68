// SPDX-License-Identifier: Apache-2.0
#include "core/flow/failure_window.hpp"

#include <gtest/gtest.h>

namespace codeq::test {
namespace {

using namespace std::chrono_literals;

monotonic_time at(duration since) {
  return monotonic_time{since};
}

TEST(FailureWindow, CountsEndsAndFailures) {
  core::failure_window window(10s);

  window.add(at(100s), true);
  window.add(at(100s), false);
  window.add(at(104s), true);

  EXPECT_EQ(window.counts(), (core::attempt_counts{3, 2}));
}

TEST(FailureWindow, EndsLeaveItAfterItsLength) {
  core::failure_window window(10s);
  window.add(at(100s), true);
  window.add(at(101s), false);

  window.add(at(109'999ms), false);
  EXPECT_EQ(window.counts(), (core::attempt_counts{3, 1}));
  window.add(at(110s), false);
  EXPECT_EQ(window.counts(), (core::attempt_counts{3, 0}));
}

TEST(FailureWindow, LongPauseEmptiesIt) {
  core::failure_window window(10s);
  for (int i = 0; i < 10; ++i)
    window.add(at(100s + i * 1s), true);

  window.add(at(100h), false);

  EXPECT_EQ(window.counts(), (core::attempt_counts{1, 0}));
}

TEST(FailureWindow, BeginsEmptyBeforeTheZeroOfTheClock) {
  core::failure_window window(10s);

  window.add(at(-35s), true);
  window.add(at(-34s), false);

  EXPECT_EQ(window.counts(), (core::attempt_counts{2, 1}));
}

} // namespace
} // namespace codeq::test
