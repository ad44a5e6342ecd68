// SPDX-License-Identifier: Apache-2.0
#include "instant_replicas.hpp"

namespace codeq::replication {
namespace {

using Election = test::instant_replicas;

TEST_F(Election, MemberAnswersWithItsLastDelta) {
  b().receive({id_a, 1, question{7}}, world.now);

  ASSERT_TRUE(nodes[1]->answered);
  EXPECT_FALSE(nodes[1]->answered->doubtful);
  EXPECT_EQ(nodes[1]->answered->last, b().log().last());
}

TEST_F(Election, MemberThatCannotBeRecoveredIsTheLastToBeChosen) {
  b().recovery_failed();

  b().receive({id_a, 1, question{7}}, world.now);

  ASSERT_TRUE(nodes[1]->answered);
  EXPECT_TRUE(nodes[1]->answered->doubtful);
  EXPECT_EQ(nodes[1]->answered->last, position{});
}

} // namespace
} // namespace codeq::replication
