// SPDX-License-Identifier: Apache-2.0
#include "node/token_warnings.hpp"

#include "observe/log.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace codeq::node {
namespace {

TEST(RefusalLog, WritesAReasonOnceHoweverOftenATokenIsRefusedForIt) {
  observe::init_log(observe::log_level::warn);
  const auto note = refusal_log();
  testing::internal::CaptureStderr();

  for (int i = 0; i < 20; ++i)
    note({errc::unauthorized, "it is not known"});
  note({errc::unauthorized, "it has expired"});

  observe::flush_log();
  const auto lines = testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 2) << lines;
  EXPECT_NE(lines.find("it is not known"), std::string::npos) << lines;
  EXPECT_NE(lines.find("it has expired"), std::string::npos) << lines;
}

} // namespace
} // namespace codeq::node
