// SPDX-License-Identifier: Apache-2.0
#include "config/environment_names.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace codeq::config {
namespace {

TEST(EnvironmentNames, AMisspeltOneIsFoundWithTheNameThatIsMeant) {
  auto unknown = find_unknown({"CODEQ_DATA", "CODEQ_DATA_DIR", "CODEQ_LOGLEVEL", "CODEQ_TOKEN"});

  ASSERT_EQ(unknown.size(), 2u);
  EXPECT_EQ(unknown[0].name, "CODEQ_DATA_DIR");
  EXPECT_EQ(unknown[0].meant, "CODEQ_DATA");
  EXPECT_EQ(unknown[1].name, "CODEQ_LOGLEVEL");
  EXPECT_EQ(unknown[1].meant, "CODEQ_LOG_LEVEL");
}

TEST(EnvironmentNames, AHandlersOwnIsFoundWithoutAMeaning) {
  auto unknown = find_unknown({"CODEQ_LEDGER"});

  ASSERT_EQ(unknown.size(), 1u);
  EXPECT_EQ(unknown[0].meant, "");
}

TEST(EnvironmentNames, AreSorted) {
  auto names = known_variables();

  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
}

} // namespace
} // namespace codeq::config
