// SPDX-License-Identifier: Apache-2.0
#include "client/request_window.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace codeq::client {

namespace {

using window = request_window<std::string>;

std::string contents(window& of) {
  std::string text;
  of.for_each([&](std::uint64_t number, const std::string& request) {
    text += std::to_string(number) + request + " ";
  });
  return text;
}

} // namespace

TEST(RequestWindow, NumbersStartAtOneAndGrow) {
  window requests(10);

  EXPECT_EQ(requests.next_number(), 1u);
  EXPECT_EQ(requests.open("a"), 1u);
  EXPECT_EQ(requests.open("b"), 2u);
  EXPECT_EQ(requests.close(1), "a");
  EXPECT_EQ(requests.open("c"), 3u);
}

TEST(RequestWindow, AnsweredBelowIsTheLowestUnanswered) {
  window requests(10);
  EXPECT_EQ(requests.answered_below(), 1u);
  for (const char* name : {"a", "b", "c"})
    requests.open(name);

  requests.close(2);
  EXPECT_EQ(requests.answered_below(), 1u);
  requests.close(1);
  EXPECT_EQ(requests.answered_below(), 3u);
  requests.close(3);
  EXPECT_EQ(requests.answered_below(), 4u);
}

TEST(RequestWindow, ASecondAnswerIsRecognised) {
  window requests(10);
  requests.open("a");

  EXPECT_EQ(requests.close(1), "a");
  EXPECT_EQ(requests.close(1), std::nullopt);
  EXPECT_EQ(requests.close(7), std::nullopt);
  EXPECT_EQ(requests.find(1), nullptr);
}

TEST(RequestWindow, TheRequestsInFlightAreBounded) {
  window requests(2);

  requests.open("a");
  EXPECT_TRUE(requests.has_room());
  requests.open("b");
  EXPECT_FALSE(requests.has_room());
  requests.close(2);
  EXPECT_TRUE(requests.has_room());
}

TEST(RequestWindow, NumbersRunNoFurtherAheadThanACoordinatorRemembers) {
  window requests(10);
  requests.open("slow");

  for (std::size_t i = 1; i < limits::producer_requests_max; ++i) {
    ASSERT_TRUE(requests.has_room()) << i;
    requests.close(requests.open("fast"));
  }

  EXPECT_FALSE(requests.has_room());
  requests.close(1);
  EXPECT_TRUE(requests.has_room());
}

TEST(RequestWindow, WhatIsOpenIsVisitedInTheOrderOfNumbers) {
  window requests(10);
  for (const char* name : {"a", "b", "c", "d"})
    requests.open(name);
  requests.close(2);

  EXPECT_EQ(contents(requests), "1a 3c 4d ");
  EXPECT_EQ(requests.close_all(), (std::vector<std::string>{"a", "c", "d"}));
  EXPECT_EQ(requests.size(), 0u);
  EXPECT_EQ(requests.answered_below(), 5u);
}

} // namespace codeq::client
