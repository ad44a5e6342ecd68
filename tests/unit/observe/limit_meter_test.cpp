// SPDX-License-Identifier: Apache-2.0
#include "observe/limit_meter.hpp"

#include "observe/log.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace codeq::observe {
namespace {

/// The lines that the meter logs.
template <class Notes>
std::string lines_of(Notes notes) {
  init_log(log_level::warn);
  testing::internal::CaptureStderr();
  notes();
  flush_log();
  return testing::internal::GetCapturedStderr();
}

TEST(LimitMeter, LineNamesTheQueueThatIsFull) {
  limit_meter meter;

  const auto lines = lines_of([&] { meter.note({"max_depth", 0, "tenant", "shop", "mail"}); });

  EXPECT_NE(
    lines.find("limit is reached limit=max_depth tenant=shop times=1 queue=mail\n"),
    std::string::npos)
    << lines;
}

TEST(LimitMeter, ManyFullQueuesOfATenantCauseOneLine) {
  limit_meter meter;

  const auto lines = lines_of([&] {
    for (int i = 0; i < 100; ++i)
      meter.note({"max_depth", 0, "tenant", "shop", "q" + std::to_string(i)});
  });

  // A slow machine may need more than the second of a line.
  EXPECT_LT(std::count(lines.begin(), lines.end(), '\n'), 10) << lines;
  EXPECT_EQ(meter.counts().at("max_depth"), 100u);
}

TEST(LimitMeter, OtherLimitsNameNoQueue) {
  limit_meter meter;

  const auto lines = lines_of([&] {
    meter.note({"free_bytes", 0, "tenant", "shop"});
    meter.note({"connections_max", 9, "remote", "192.0.2.1"});
  });

  EXPECT_NE(lines.find("limit=free_bytes tenant=shop times=1\n"), std::string::npos) << lines;
  EXPECT_NE(
    lines.find("limit=connections_max max=9 remote=192.0.2.1 times=1\n"), std::string::npos)
    << lines;
}

} // namespace
} // namespace codeq::observe
