// SPDX-License-Identifier: Apache-2.0

#include "base/tuning.hpp"
#include "coordinator/actors/disk_reserve.hpp"
#include "coordinator/actors/free_space.hpp"
#include "support/temporary_directory.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <limits>

namespace codeq::coordinator {
namespace {

constexpr auto most = std::numeric_limits<std::uint64_t>::max();

monotonic_time after(duration time) {
  return monotonic_time{} + time;
}

TEST(FreeSpace, RefusesBelowItsLimitAndNamesBoth) {
  free_space space(".", most);

  const auto& found = space.check(after(duration{0}));

  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, errc::disk_full);
  EXPECT_NE(
    found.error().context.find("from " + std::to_string(most) + " on (--free-bytes)"),
    std::string::npos);
  EXPECT_NE(found.error().context.find(" bytes free"), std::string::npos);
}

TEST(FreeSpace, AdmitsAboveIt) {
  EXPECT_TRUE(free_space(".", 0).check(after(duration{0})));
}

TEST(FreeSpace, IsTightBelowAPartOfItsLimit) {
  EXPECT_TRUE(free_space(".", most).is_tight(after(duration{0}), 0));
  EXPECT_FALSE(free_space(".", 1).is_tight(after(duration{0}), 0));
}

TEST(FreeSpace, LooksAgainBeforeMuchIsWritten) {
  std::filesystem::path directory = testing::TempDir() + "codeq_free_space_bytes";
  std::filesystem::create_directory(directory);
  free_space space(directory, 0);
  ASSERT_TRUE(space.check(after(duration{0})));
  std::filesystem::remove(directory);

  EXPECT_TRUE(space.check(after(duration{0})));
  static_cast<void>(space.is_tight(after(duration{0}), tuning::free_space_look_bytes));
  EXPECT_FALSE(space.check(after(duration{0})));
}

TEST(DiskReserve, TakesUpSpaceWhereThereIsRoomAndIsFoundAgain) {
  test::temporary_directory directory;
  constexpr std::uint64_t bytes = 1u << 20;
  disk_reserve reserve{directory.path(), bytes};
  EXPECT_EQ(reserve.held(), 0u);

  ASSERT_TRUE(reserve.usable());

  EXPECT_EQ(reserve.held(), bytes);
  EXPECT_EQ(std::filesystem::file_size(directory.path() / "reserve"), bytes);
  EXPECT_EQ(disk_reserve(directory.path(), bytes).held(), bytes);
}

TEST(DiskReserve, DoesNotCountItselfAsUsableOnceGivenUp) {
  test::temporary_directory directory;
  std::ofstream{directory.path() / "reserve"};
  // More than any disk has, so that the reserve is not created again.
  disk_reserve reserve{directory.path(), most / 2};

  auto usable = reserve.usable();

  ASSERT_TRUE(usable);
  EXPECT_EQ(*usable, 0u);
}

TEST(FreeSpace, LooksAgainAfterAWhileOnly) {
  std::filesystem::path directory = testing::TempDir() + "codeq_free_space";
  std::filesystem::create_directory(directory);
  free_space space(directory, 0);
  ASSERT_TRUE(space.check(after(duration{0})));
  std::filesystem::remove(directory);

  auto just_before = tuning::free_space_look_interval - duration{1};
  EXPECT_TRUE(space.check(after(just_before)));
  auto later = space.check(after(tuning::free_space_look_interval));
  EXPECT_FALSE(later);
  EXPECT_EQ(later.error().code, errc::disk_full);
}

} // namespace
} // namespace codeq::coordinator
