// SPDX-License-Identifier: Apache-2.0
#include "codeq/limits.hpp"

#include "coordinator/actors/free_space.hpp"

#include <gtest/gtest.h>

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
  EXPECT_NE(found.error().context.find("from " + std::to_string(most)), std::string::npos);
  EXPECT_NE(found.error().context.find(" bytes free"), std::string::npos);
}

TEST(FreeSpace, AdmitsAboveIt) {
  EXPECT_TRUE(free_space(".", 0).check(after(duration{0})));
}

TEST(FreeSpace, LooksAgainAfterAWhileOnly) {
  std::filesystem::path directory = testing::TempDir() + "codeq_free_space";
  std::filesystem::create_directory(directory);
  free_space space(directory, 0);
  ASSERT_TRUE(space.check(after(duration{0})));
  std::filesystem::remove(directory);

  auto just_before = limits::free_space_look_interval - duration{1};
  EXPECT_TRUE(space.check(after(just_before)));
  auto later = space.check(after(limits::free_space_look_interval));
  EXPECT_FALSE(later);
  EXPECT_EQ(later.error().code, errc::disk_full);
}

} // namespace
} // namespace codeq::coordinator
