// SPDX-License-Identifier: Apache-2.0
#include "model/lock_step.hpp"
#include "support/seed.hpp"

#include <gtest/gtest.h>

#include <cstdint>

namespace codeq::model {
namespace {

TEST(ShardModel, CoreAgreesWithTheReferenceInRandomSequences) {
  auto seed = test::choose_seed();

  EXPECT_EQ(find_failure(seed, 10'000, 60, make_event_history), "");
}

/// Seeds that have found a fault, each in its first sequence.
TEST(ShardModel, CoreAgreesWithTheReferenceInSequencesThatOnceFailed) {
  // A worker with prefixes waited although queues that it serves had ready tasks.
  for (std::uint64_t seed : {310'287'612})
    EXPECT_EQ(find_failure(seed, 1, 60, make_event_history), "");
}

TEST(ShardModel, CoreAgreesWithTheReferenceInLongSequences) {
  auto seed = test::choose_seed();

  EXPECT_EQ(find_failure(seed, 200, 600, make_event_history), "");
}

} // namespace
} // namespace codeq::model
