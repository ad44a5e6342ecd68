// SPDX-License-Identifier: Apache-2.0
#include "codeq/testing.hpp"

#include <gtest/gtest.h>

namespace {

using namespace std::chrono_literals;
using codeq::task_state;
using codeq::testing::testbed;

TEST(Mailer, LetterArrivesAfterItsTravel) {
  testbed bed(codeq::testing::registered_handlers());

  auto task = bed.enqueue({.queue = "mail", .payload = "Ada"}).value().id;
  EXPECT_EQ(bed.status(task).value().state, task_state::leased);
  bed.advance(50ms);

  EXPECT_EQ(bed.status(task).value().result, "delivered to Ada");
  EXPECT_EQ(bed.attempts().front().said.progress.size(), 2u);
}

TEST(Mailer, SilentCarrierIsTriedAgainUntilTheTaskIsDead) {
  testbed bed(codeq::testing::registered_handlers());

  auto task = bed.enqueue({.queue = "mail", .payload = "nowhere", .max_attempts = 3}).value().id;
  bed.advance(1h);

  EXPECT_EQ(bed.status(task).value().state, task_state::dead);
  EXPECT_EQ(bed.status(task).value().error_text, "the carrier is silent");
  EXPECT_EQ(bed.attempts().size(), 3u);
}

TEST(Mailer, LeaseLivesAsLongAsTheHandler) {
  testbed bed(codeq::testing::registered_handlers());

  auto task = bed.enqueue({.queue = "mail", .payload = "nowhere", .lease = 1s}).value().id;
  bed.advance(9s);

  EXPECT_EQ(bed.status(task).value().attempt, 1u);
  EXPECT_EQ(bed.status(task).value().state, task_state::leased);
}

} // namespace
