// SPDX-License-Identifier: Apache-2.0
#include "config/environment_names.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace codeq::config {
namespace {

using testing::ElementsAre;
using testing::Pair;

TEST(EnvironmentNames, AMisspeltOneIsFoundWithTheNameThatIsMeant) {
  EXPECT_THAT(
    find_unknown({"CODEQ_DATA", "CODEQ_DATA_DIR", "CODEQ_LOGLEVEL", "CODEQ_TOKEN"}),
    ElementsAre(
      Pair("CODEQ_DATA_DIR", "CODEQ_DATA"), Pair("CODEQ_LOGLEVEL", "CODEQ_LOG_LEVEL")));
}

TEST(EnvironmentNames, AHandlersOwnIsFoundWithoutAMeaning) {
  EXPECT_THAT(find_unknown({"CODEQ_LEDGER"}), ElementsAre(Pair("CODEQ_LEDGER", "")));
}

TEST(EnvironmentNames, AreSorted) {
  auto names = known_variables();

  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
}

} // namespace
} // namespace codeq::config
