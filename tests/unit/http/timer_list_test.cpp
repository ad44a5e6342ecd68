// SPDX-License-Identifier: Apache-2.0
#include "http/desk/timer_list.hpp"

#include <gtest/gtest.h>

#include <string>

namespace codeq::http {
namespace {

monotonic_time at(int ms) {
  return monotonic_time{duration{ms}};
}

TEST(TimerList, RunsWhatIsDueInOrder) {
  timer_list timers;
  std::string ran;
  timers.add(at(20), [&] { ran += "b"; });
  timers.add(at(10), [&] { ran += "a"; });
  timers.add(at(20), [&] { ran += "c"; });
  timers.add(at(21), [&] { ran += "d"; });
  EXPECT_EQ(at(10), timers.next());

  timers.run_due(at(20));

  EXPECT_EQ("abc", ran);
  EXPECT_EQ(at(21), timers.next());
}

TEST(TimerList, WhatWasRemovedNeverRuns) {
  timer_list timers;
  auto timer = timers.add(at(10), [] { FAIL(); });

  timers.remove(timer);
  timers.remove(timer);
  timers.run_due(at(100));

  EXPECT_FALSE(timers.next());
}

TEST(TimerList, ActionsMayAddAndRemoveOthers) {
  timer_list timers;
  std::string ran;
  auto second = timers.add(at(11), [&] { FAIL(); });
  timers.add(at(10), [&] {
    timers.remove(second);
    timers.add(at(5), [&] { ran += "late"; });
  });

  timers.run_due(at(20));

  EXPECT_EQ("late", ran);
}

} // namespace
} // namespace codeq::http
