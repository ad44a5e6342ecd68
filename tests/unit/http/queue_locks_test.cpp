// SPDX-License-Identifier: Apache-2.0
#include "http/desk/queue_locks.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace codeq::http {
namespace {

const queue_address queue{.queue = "q"};

TEST(QueueLocks, LetOneRequestAtATimeChangeAQueue) {
  queue_locks locks;
  std::vector<std::string> order;
  queue_locks::lock first;
  queue_locks::lock second;
  locks.take(queue, [&](const auto& taken) { first = taken; });
  locks.take(queue, [&](const auto& taken) {
    order.emplace_back("second");
    second = taken;
  });
  locks.take(queue, [&](const auto&) { order.emplace_back("third"); });
  locks.take({"default", "other"}, [&](const auto&) { order.emplace_back("other"); });
  EXPECT_EQ(order, (std::vector<std::string>{"other"}));

  first.reset();
  EXPECT_EQ(order, (std::vector<std::string>{"other", "second"}));

  second.reset();
  EXPECT_EQ(order, (std::vector<std::string>{"other", "second", "third"}));
  locks.take(queue, [&](const auto&) { order.emplace_back("fourth"); });
  EXPECT_EQ(order.back(), "fourth");
}

TEST(QueueLocks, PassOverAnyNumberOfRequestsThatWereGivenUp) {
  constexpr int count = 1'000'000;
  queue_locks locks;
  queue_locks::lock held;
  int passed = 0;
  locks.take(queue, [&](const auto& taken) { held = taken; });
  for (int i = 0; i < count; ++i)
    locks.take(queue, [&](const auto&) { ++passed; });

  held.reset();

  EXPECT_EQ(passed, count);
}

} // namespace
} // namespace codeq::http
