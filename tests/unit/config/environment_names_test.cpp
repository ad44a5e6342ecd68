// SPDX-License-Identifier: Apache-2.0
#include "config/environment_names.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

} // namespace
} // namespace codeq::config
