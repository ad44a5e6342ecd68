// SPDX-License-Identifier: Apache-2.0
#include "coordinator/shard/schedule_planner.hpp"

#include "support/temporary_directory.hpp"
#include "unit/schedule/zone_bytes.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

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

/// The entry of a schedule that fires each minute in a zone.
core::schedule_entry entry_in(const std::string& zone) {
  schedule_spec spec;
  spec.rule = "* * * * *; zone=" + zone;
  spec.task.queue = "q";
  auto encoded = protocol::encode_spec(spec).value();
  auto packed = encoded.read([](auto from) { return protocol::pack_spec(from, "default"); });
  core::schedule_entry entry;
  entry.definition = packed.value();
  return entry;
}

TEST(SchedulePlanner, ScheduleOfAMissingZoneWaitsForItsFileAndIsCounted) {
  test::temporary_directory folder;
  auto zones = std::make_shared<schedule::zone_store>(folder.path().string());
  schedule_planner planner(zones, {shard_id{0}, 1}, timestamp{});
  const schedule_address name{"default", "s"};
  core::schedule_table all;
  auto entry = entry_in("Test");
  all.put(name, entry.definition, {});
  const timestamp now{std::chrono::hours{1}};

  auto waits = planner.due(name, entry, now);

  EXPECT_TRUE(waits.fire.empty());
  EXPECT_EQ(waits.from, waits.to);
  EXPECT_EQ(planner.without_zone(all), 1u);

  schedule::zone_bytes zone;
  zone.offsets = {3600};
  std::ofstream(folder.path() / "Test", std::ios::binary) << zone.text();

  EXPECT_TRUE(planner.refresh_zones());
  EXPECT_FALSE(planner.due(name, entry, now).fire.empty());
  EXPECT_EQ(planner.without_zone(all), 0u);
}

} // namespace
} // namespace codeq::coordinator
