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

  const auto& refusal = space.refusal(after(duration{0}));

  EXPECT_EQ(refusal.code, errc::disk_full);
  EXPECT_NE(refusal.context.find("from " + std::to_string(most)), std::string::npos);
  EXPECT_NE(refusal.context.find(" bytes free"), std::string::npos);
}

TEST(FreeSpace, AdmitsAboveIt) {
  EXPECT_EQ(free_space(".", 0).refusal(after(duration{0})).code, errc::none);
}

TEST(FreeSpace, LooksAgainAfterAWhileOnly) {
  std::filesystem::path directory = testing::TempDir() + "codeq_free_space";
  std::filesystem::create_directory(directory);
  free_space space(directory, 0);
  ASSERT_EQ(space.refusal(after(duration{0})).code, errc::none);
  std::filesystem::remove(directory);

  auto just_before = limits::free_space_look_interval - duration{1};
  EXPECT_EQ(space.refusal(after(just_before)).code, errc::none);
  EXPECT_EQ(space.refusal(after(limits::free_space_look_interval)).code, errc::disk_full);
}

} // namespace
} // namespace codeq::coordinator
