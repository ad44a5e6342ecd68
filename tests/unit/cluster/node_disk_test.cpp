// SPDX-License-Identifier: Apache-2.0
#include "cluster/records.hpp"

#include <gtest/gtest.h>

#include <cstdint>

namespace codeq::cluster {
namespace {

TEST(NodeDisk, RefusesBelowTheLeastAndUntilTwiceAsMuchIsFree) {
  EXPECT_EQ(next_disk({}, 100u, 100), (node_disk{100, false}));
  EXPECT_EQ(next_disk({}, 99u, 100), (node_disk{99, true}));
  const node_disk refusing{99, true};
  EXPECT_EQ(next_disk(refusing, 100u, 100), (node_disk{100, true}));
  EXPECT_EQ(next_disk(refusing, 199u, 100), (node_disk{199, true}));
  EXPECT_EQ(next_disk(refusing, 200u, 100), (node_disk{200, false}));
}

TEST(NodeDisk, RefusesWhileTheSpaceIsUnknown) {
  EXPECT_EQ(next_disk({9, false}, error{errc::disk_full, "unknown"}, 0), (node_disk{0, true}));
  EXPECT_EQ(next_disk({0, true}, 7u, 0), (node_disk{7, false}));
}

TEST(NodeDisk, ComparesTheLargestNumbers) {
  EXPECT_TRUE(next_disk({}, UINT64_MAX - 1, UINT64_MAX).refuses_tasks);
  EXPECT_TRUE(next_disk({0, true}, UINT64_MAX, UINT64_MAX).refuses_tasks);
  EXPECT_FALSE(next_disk({0, true}, UINT64_MAX, UINT64_MAX / 2).refuses_tasks);
}

} // namespace
} // namespace codeq::cluster
