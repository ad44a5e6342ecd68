// SPDX-License-Identifier: Apache-2.0
#include "model/lock_step.hpp"
#include "support/seed.hpp"

#include <gtest/gtest.h>

namespace codeq::model {
namespace {

TEST(ShardModel, CoreAgreesWithTheReferenceInRandomSequences) {
  auto seed = test::choose_seed();

  EXPECT_EQ(find_failure(seed, 10'000, 60, make_event_history), "");
}

TEST(ShardModel, CoreAgreesWithTheReferenceInLongSequences) {
  auto seed = test::choose_seed();

  EXPECT_EQ(find_failure(seed, 200, 600, make_event_history), "");
}

} // namespace
} // namespace codeq::model
