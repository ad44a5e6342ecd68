// SPDX-License-Identifier: Apache-2.0
#include "instant_replicas.hpp"

namespace codeq::replication {
namespace {

using namespace std::chrono_literals;
using test::body;

class CatchUp : public test::instant_replicas {
protected:
  void propose(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      a().propose(std::make_shared<body>(), world.now);
      world.run();
    }
  }

  /// `c` misses so many deltas, for so long that it is removed from the set.
  void fall_behind(std::size_t count) {
    nodes[2]->is_away = true;
    pass(2s);
    ASSERT_EQ(world.value.in_sync.size(), 2u);
    propose(count);
    nodes[2]->is_away = false;
  }
};

TEST_F(CatchUp, OfManySmallDeltasTakesMessagesOfABoundedNumber) {
  fall_behind(3 * bounds::message_entries + 1);

  pass(1s);

  EXPECT_EQ(world.value.in_sync.size(), 3u);
  EXPECT_EQ(nodes[0]->largest_message, bounds::message_entries);
}

} // namespace
} // namespace codeq::replication
