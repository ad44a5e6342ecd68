// SPDX-License-Identifier: Apache-2.0
#include "coordinator/shard/schedule_planner.hpp"

#include "support/temporary_directory.hpp"
#include "unit/schedule/zone_bytes.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>

namespace codeq::coordinator {
namespace {

TEST(SchedulePlanner, ShardsThatShareZonesAllLearnOfAChange) {
  test::temporary_directory folder;
  auto file = folder.path() / "Test";
  auto write = [&](std::int32_t offset) {
    schedule::zone_bytes zone;
    zone.offsets = {offset};
    std::ofstream(file.string() + "~", std::ios::binary) << zone.text();
    std::filesystem::rename(file.string() + "~", file);
  };
  write(3600);
  auto zones = std::make_shared<schedule::zone_store>(folder.path().string());
  ASSERT_TRUE(zones->find("Test"));
  schedule_planner first(zones, {}, timestamp{});
  schedule_planner second(zones, {}, timestamp{});
  EXPECT_FALSE(first.refresh_zones());

  write(7200);

  EXPECT_TRUE(first.refresh_zones());
  EXPECT_TRUE(second.refresh_zones());
  EXPECT_FALSE(first.refresh_zones());
  EXPECT_FALSE(second.refresh_zones());
}

} // namespace
} // namespace codeq::coordinator
