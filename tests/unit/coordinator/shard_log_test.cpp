// SPDX-License-Identifier: Apache-2.0
#include "coordinator/actors/shard_log.hpp"

#include "observe/log.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace codeq::coordinator {
namespace {

using namespace std::chrono_literals;

class ShardLog : public testing::Test {
protected:
  ShardLog() { observe::init_log(observe::log_level::info); }

  ~ShardLog() override { observe::init_log(observe::log_level::warn); }

  /// The lines that the calls write.
  template <class Calls>
  static std::string written(Calls calls) {
    testing::internal::CaptureStderr();
    calls();
    observe::flush_log();
    return testing::internal::GetCapturedStderr();
  }

  static bool has(const std::string& lines, const std::string& text) {
    return lines.find(text) != std::string::npos;
  }

  const result<void> full_{error{errc::disk_full, "1 byte is free"}};
};

TEST_F(ShardLog, SaysOnceThatTheDiskIsLowAndOnceThatItHasSpaceAgain) {
  shard_log lines{shard_id{}};

  EXPECT_EQ(written([&] { lines.note_disk({}); }), "");
  EXPECT_TRUE(has(written([&] { lines.note_disk(full_); }), "reason=\"1 byte is free\""));
  EXPECT_EQ(written([&] { lines.note_disk(full_); }), "");
  EXPECT_TRUE(has(written([&] { lines.note_disk({}); }), "disk has space again"));
  EXPECT_EQ(written([&] { lines.note_disk({}); }), "");
}

TEST_F(ShardLog, LeavesTheDiskOfAllShardsToTheFirstOne) {
  shard_log lines{shard_id{1}};

  EXPECT_EQ(written([&] { lines.note_disk(full_); }), "");
}

TEST_F(ShardLog, CountsTheExpiredLeasesOfAQueueThatItLeavesOut) {
  shard_log lines{shard_id{}};
  const core::leases_expired expired{
    .queue = {"default", "mail"},
    .count = 3,
    .quarantined = 1,
    .seq = 1,
    .attempt = 2,
    .worker = "w",
    .reason = "no heartbeat"};
  const monotonic_time start{1h};

  const auto first = written([&] {
    lines.note_expired(expired, start);
    lines.note_expired(expired, start + 999ms);
  });
  const auto second = written([&] { lines.note_expired(expired, start + 1s); });

  EXPECT_EQ(std::count(first.begin(), first.end(), '\n'), 2) << first;
  EXPECT_TRUE(has(first, "leases expire tenant=default queue=mail count=3")) << first;
  EXPECT_TRUE(has(first, "tasks are quarantined tenant=default queue=mail count=1")) << first;
  EXPECT_TRUE(has(first, "left_out=0")) << first;
  EXPECT_TRUE(has(second, "left_out=1")) << second;
}

} // namespace
} // namespace codeq::coordinator
