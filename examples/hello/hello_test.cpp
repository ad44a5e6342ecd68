// SPDX-License-Identifier: Apache-2.0
// [begin readme]
#include "codeq/testing.hpp"

#include <gtest/gtest.h>

TEST(Hello, GreetsThePersonWhomThePayloadNames) {
  codeq::testing::testbed bed(codeq::testing::registered_handlers());

  auto task = bed.enqueue({.queue = "hello", .payload = "Ada"}).value().id;

  EXPECT_EQ(bed.status(task).value().result, "hello Ada");
}

TEST(Hello, LostLeaseIsRunAgainAndCountsOnce) {
  codeq::testing::testbed bed(codeq::testing::registered_handlers());
  bed.inject("hello", codeq::testing::mishap::lost_lease);

  ASSERT_TRUE(bed.enqueue({.queue = "hello", .payload = "Ada"}));

  ASSERT_EQ(bed.attempts().size(), 2u);
  EXPECT_FALSE(bed.attempts()[0].accepted);
  EXPECT_TRUE(bed.attempts()[1].accepted);
}

// [end readme]

TEST(Hello, NobodyToGreetIsDeadAtOnce) {
  codeq::testing::testbed bed(codeq::testing::registered_handlers());

  auto task = bed.enqueue({.queue = "hello", .payload = {}}).value().id;

  EXPECT_EQ(bed.status(task).value().state, codeq::task_state::dead);
  EXPECT_EQ(bed.status(task).value().error_text, "the payload has to be a name");
}
