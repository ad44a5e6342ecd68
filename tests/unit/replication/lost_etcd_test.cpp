// SPDX-License-Identifier: Apache-2.0
// What replicas wish to decide while etcd is away.
#include "instant_replicas.hpp"

namespace codeq::replication {
namespace {

using namespace std::chrono_literals;

using LostEtcd = test::instant_replicas;

TEST_F(LostEtcd, PrimaryThatIsHeardAgainStaysWhenEtcdReturns) {
  ASSERT_TRUE(a().is_serving());
  const auto before = world.value;
  world.is_etcd_away = true;
  nodes[0]->is_away = true;
  pass(3s);
  nodes[0]->is_away = false;
  pass(1s);

  world.is_etcd_away = false;
  pass(3s);

  EXPECT_EQ(world.value, before);
  EXPECT_TRUE(a().is_serving());
}

TEST_F(LostEtcd, PrimaryThatIsNotHeardAgainIsReplacedWhenEtcdReturns) {
  world.is_etcd_away = true;
  nodes[0]->is_away = true;
  pass(3s);
  ASSERT_EQ(world.value.primary, id_a);

  world.is_etcd_away = false;
  pass(3s);

  EXPECT_NE(world.value.primary, id_a);
}

} // namespace
} // namespace codeq::replication
