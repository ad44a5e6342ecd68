// SPDX-License-Identifier: Apache-2.0
#include "codeq/handler.hpp"

#include <gtest/gtest.h>

namespace codeq {
namespace {

TEST(Cancellation, RequestRunsTheActionOnce) {
  cancellation cancel;
  int runs = 0;
  cancel.on_request([&] { ++runs; });
  EXPECT_FALSE(cancel.requested());

  cancel.request();
  cancel.request();

  EXPECT_TRUE(cancel.requested());
  EXPECT_EQ(runs, 1);
}

TEST(Cancellation, LateActionRunsAtOnce) {
  cancellation cancel;
  cancel.request();
  int runs = 0;

  cancel.on_request([&] { ++runs; });

  EXPECT_EQ(runs, 1);
}

TEST(Cancellation, ActionMayLookAtTheCancellation) {
  cancellation cancel;
  bool seen = false;
  cancel.on_request([&] { seen = cancel.requested(); });

  cancel.request();

  EXPECT_TRUE(seen);
}

} // namespace
} // namespace codeq
