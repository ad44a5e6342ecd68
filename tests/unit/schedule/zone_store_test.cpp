// SPDX-License-Identifier: Apache-2.0
#include "schedule/zone_store.hpp"

#include "schedule/timetable.hpp"
#include "support/temporary_directory.hpp"
#include "unit/schedule/zone_bytes.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace codeq::schedule {
namespace {

class ZoneStore : public testing::Test {
protected:
  void write(const std::string& name, const std::string& bytes) {
    auto path = folder_.path() / name;
    std::filesystem::create_directories(path.parent_path());
    // A new file each time, as packages are installed.
    std::ofstream(path.string() + "~", std::ios::binary) << bytes;
    std::filesystem::rename(path.string() + "~", path);
  }

  void write(const std::string& name, std::int32_t offset) {
    zone_bytes file;
    file.offsets = {offset};
    write(name, file.text());
  }

  void remove(const std::string& name) { std::filesystem::remove(folder_.path() / name); }

  std::string refusal(const std::string& name) {
    auto found = store_.find(name);
    return found ? "" : to_string(found.error());
  }

  std::int64_t offset(const std::string& name) {
    return store_.find(name).value()->spans().front().offset.count();
  }

  [[nodiscard]] std::string path(const std::string& name) const {
    return (folder_.path() / name).string();
  }

  test::temporary_directory folder_;
  zone_store store_{folder_.path().string()};
};

TEST_F(ZoneStore, ReadsAZoneOnce) {
  write("Europe/Test", 3600);

  auto zone = store_.find("Europe/Test").value();

  EXPECT_EQ(zone->name(), "Europe/Test");
  EXPECT_EQ(offset("Europe/Test"), 3600);
  EXPECT_EQ(store_.find("Europe/Test").value(), zone);
}

TEST_F(ZoneStore, UnknownZoneIsRefusedWithTheNearestName) {
  write("Europe/Berlin", 3600);
  write("America/New_York", -18000);

  EXPECT_EQ(
    refusal("Europe/Berln"),
    "invalid_argument: zone: `Europe/Berln` is not known; did you mean Europe/Berlin?");
  EXPECT_EQ(
    refusal("america/new_york"),
    "invalid_argument: zone: `america/new_york` is not known; did you mean America/New_York?");
  EXPECT_EQ(
    refusal("Xx"), "invalid_argument: zone: `Xx` is not known; give a name such as Europe/Berlin, "
                   "UTC, or an offset such as +05:30");
}

TEST_F(ZoneStore, NamesLeadToNoOtherFiles) {
  write("Europe/Berlin", 3600);
  write("posix/Europe/Berlin", 3600);
  write("localtime", 3600);

  for (const char* name :
       {"", "/etc/passwd", "../zoneinfo/UTC", "Europe/../Europe/Berlin", "Europe",
        "posix/Europe/Berlin", "localtime", "Europe/Berlin\n", "Europe//Berlin",
        "Europe/Berlin/"})
    EXPECT_NE(refusal(name), "") << name;
}

TEST_F(ZoneStore, NamesAreThoseOfZoneFiles) {
  write("Europe/Berlin", 3600);
  write("America/Argentina/Salta", -10800);
  write("posix/Europe/Berlin", 3600);
  write("README", std::string("text"));

  EXPECT_EQ(store_.names(), (std::vector<std::string>{"America/Argentina/Salta", "Europe/Berlin"}));
}

TEST_F(ZoneStore, WithoutFilesUtcAndOffsetsAreKnown) {
  EXPECT_EQ(offset("UTC"), 0);
  EXPECT_EQ(offset("-03:00"), -10800);
  EXPECT_EQ(
    refusal("Europe/Berlin"),
    "invalid_argument: zone: `Europe/Berlin` is not known; there are no zone files in "
      + folder_.path().string() + ", only UTC and offsets such as +05:30");
}

TEST_F(ZoneStore, DamagedFileIsRefusedByItsPath) {
  write("Europe/Test", std::string("TZif"));
  write("Europe/Large", std::string(256u << 10, 'x'));

  EXPECT_EQ(
    refusal("Europe/Test"),
    "corruption: " + path("Europe/Test")
      + ": not a usable zone file: it does not begin with the header of one");
  EXPECT_EQ(
    refusal("Europe/Large"), "corruption: " + path("Europe/Large")
                               + " has more than 262144 bytes, so it is no zone file");
}

TEST_F(ZoneStore, ChangedFileIsReadAgain) {
  write("Europe/Test", 3600);
  write("Europe/Same", 3600);
  auto before = store_.find("Europe/Test").value();
  ASSERT_TRUE(store_.find("Europe/Same"));
  ASSERT_TRUE(store_.find("UTC"));
  EXPECT_TRUE(store_.refresh().empty());

  write("Europe/Test", 7200);
  write("Europe/Same", 3600);
  auto changes = store_.refresh();

  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].name, "Europe/Test");
  EXPECT_EQ(*changes[0].zone, store_.find("Europe/Test").value());
  EXPECT_EQ(offset("Europe/Test"), 7200);
  EXPECT_EQ(before->spans().front().offset.count(), 3600);
  EXPECT_TRUE(store_.refresh().empty());
}

TEST_F(ZoneStore, AwaitedZoneIsReportedOnceAndWhenItsFileComes) {
  std::vector<std::string> reported;
  zone_store store(folder_.path().string(), [&](const zone_store::change& each) {
    EXPECT_FALSE(each.was_known);
    reported.push_back(each.zone ? each.name + " is known" : to_string(each.zone.error()));
  });

  store.await("Europe/Test");
  store.await("Europe/Test");
  static_cast<void>(store.refresh());

  auto missing = "io_error: there is no file " + path("Europe/Test");
  EXPECT_EQ(reported, std::vector{missing});

  auto before = store.generation();
  write("Europe/Test", 3600);
  EXPECT_EQ(store.refresh().size(), 1u);
  static_cast<void>(store.refresh());

  EXPECT_EQ(reported, (std::vector<std::string>{missing, "Europe/Test is known"}));
  EXPECT_GT(store.generation(), before);
  EXPECT_TRUE(store.find("Europe/Test"));
}

TEST_F(ZoneStore, AwaitedZoneThatIsKnownIsNotReported) {
  int reported = 0;
  zone_store store(folder_.path().string(), [&](const zone_store::change&) { ++reported; });
  write("Europe/Test", 3600);

  store.await("Europe/Test");
  store.await("UTC");
  static_cast<void>(store.refresh());

  EXPECT_EQ(reported, 0);
}

TEST_F(ZoneStore, GenerationTellsEveryoneThatRulesChanged) {
  write("Europe/Test", 3600);
  ASSERT_TRUE(store_.find("Europe/Test"));
  auto first = store_.generation();

  write("Europe/Test", 3600);
  ASSERT_TRUE(store_.refresh().empty());
  EXPECT_EQ(store_.generation(), first);

  write("Europe/Test", 7200);
  ASSERT_EQ(store_.refresh().size(), 1u);
  EXPECT_NE(store_.generation(), first);

  auto changed = store_.generation();
  remove("Europe/Test");
  ASSERT_EQ(store_.refresh().size(), 1u);
  EXPECT_EQ(store_.generation(), changed);
}

TEST_F(ZoneStore, ZoneThatVanishedStaysKnownAndIsReportedOnce) {
  write("Europe/Test", 3600);
  ASSERT_TRUE(store_.find("Europe/Test"));

  remove("Europe/Test");
  auto changes = store_.refresh();

  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(
    to_string(changes[0].zone.error()), "io_error: there is no file " + path("Europe/Test"));
  EXPECT_EQ(offset("Europe/Test"), 3600);
  EXPECT_TRUE(store_.refresh().empty());

  write("Europe/Test", 7200);
  EXPECT_EQ(store_.refresh().size(), 1u);
  EXPECT_EQ(offset("Europe/Test"), 7200);
}

TEST_F(ZoneStore, ChangesAreTold) {
  std::string told;
  zone_store store(folder_.path().string(), [&](const zone_store::change& change) {
    told += change.name + (change.zone ? " changed\n" : " is gone\n");
  });
  write("Europe/One", 3600);
  write("Europe/Two", 3600);
  ASSERT_TRUE(store.find("Europe/One"));
  ASSERT_TRUE(store.find("Europe/Two"));

  write("Europe/One", 7200);
  remove("Europe/Two");
  static_cast<void>(store.refresh());

  EXPECT_EQ(told, "Europe/One changed\nEurope/Two is gone\n");
}

TEST_F(ZoneStore, ZoneThatIsDamagedLaterStaysKnown) {
  write("Europe/Test", 3600);
  ASSERT_TRUE(store_.find("Europe/Test"));

  write("Europe/Test", std::string("TZif"));
  auto changes = store_.refresh();

  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].zone.error().code, errc::corruption);
  EXPECT_EQ(offset("Europe/Test"), 3600);
}

TEST_F(ZoneStore, KnowsTheZonesOfThisMachine) {
  zone_store system;

  EXPECT_GT(system.names().size(), 400u);
  for (const auto& name : system.names())
    EXPECT_TRUE(system.find(name)) << name;
  EXPECT_TRUE(system.refresh().empty());
}

} // namespace
} // namespace codeq::schedule
