// SPDX-License-Identifier: Apache-2.0
#include "coordinator/hub/served_shards.hpp"

#include <gtest/gtest.h>

namespace codeq::coordinator {
namespace {

TEST(ServedShards, MapWithoutPlacesIsOneThatClientsAccept) {
  const served_shards shards(6);

  const auto news = shards.map().whole();

  EXPECT_TRUE(cluster::check(news));
  EXPECT_EQ(news.shards, 6u);
  EXPECT_TRUE(news.items.empty());
}

} // namespace
} // namespace codeq::coordinator
