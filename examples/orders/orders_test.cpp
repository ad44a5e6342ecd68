// SPDX-License-Identifier: Apache-2.0
#include "codeq/testing.hpp"

#include <gtest/gtest.h>

namespace {

using codeq::testing::run_once;

codeq::outcome outcome_of(const std::string& payload) {
  auto handlers = codeq::testing::registered_handlers();
  return run_once(handlers, {.queue = "orders", .payload = payload}).outcome;
}

TEST(Orders, ReceiptHasTheTotal) {
  auto ended = outcome_of(R"({"customer": "Ada", "prices": [3, 4], "unknown": "ignored"})");

  EXPECT_EQ(ended.what(), codeq::disposition::completed);
  EXPECT_EQ(ended.text(), R"({"total":7})");
}

TEST(Orders, PayloadThatIsNoOrderIsDeadAtOnceAndNamesTheField) {
  auto ended = outcome_of(R"({"customer": "Ada", "prices": [3, "four"]})");

  EXPECT_EQ(ended.what(), codeq::disposition::failed_permanently);
  EXPECT_EQ(ended.text(), "payload: field `prices[1]` is a string; it must be an integer");
}

TEST(Orders, OrderOfNothingIsRefusedByTheHandler) {
  auto ended = outcome_of(R"({"customer": "Ada", "prices": []})");

  EXPECT_EQ(ended.what(), codeq::disposition::failed_permanently);
  EXPECT_EQ(ended.text(), "field `prices` is empty");
}

} // namespace
