// SPDX-License-Identifier: Apache-2.0
#include "replication/disk_watch.hpp"

#include <gtest/gtest.h>

namespace codeq::replication {
namespace {

using namespace std::chrono_literals;

class DiskWatch : public testing::Test {
protected:
  /// Begins a write, and ends it after that time.
  void write(duration took) {
    disk_.begin(now_);
    now_ += took;
    disk_.end(false, now_);
  }

  /// How long a write that begins now may take until the disk counts as hung.
  duration patience(duration longest = timing::slow_disk) {
    disk_.begin(now_);
    duration waited{0};
    while (!disk_.hangs(now_ + waited + 1ms, longest))
      waited += 1ms;
    disk_.forget_writes();
    return waited;
  }

  disk_watch disk_;
  monotonic_time now_{1h};
};

TEST_F(DiskWatch, DoesNotHangWithoutAWrite) {
  write(5ms);

  EXPECT_FALSE(disk_.hangs(now_ + 1h, timing::slow_disk));
}

TEST_F(DiskWatch, OfAFastDiskWaitsOneSecond) {
  EXPECT_EQ(patience(), timing::hung_disk);
  write(500ms);

  EXPECT_EQ(patience(), timing::hung_disk);
}

TEST_F(DiskWatch, OfASlowDiskWaitsTwiceItsSlowestWrite) {
  write(800ms);
  write(5ms);

  EXPECT_EQ(patience(), 1600ms);
}

TEST_F(DiskWatch, WaitsNoLongerThanItMay) {
  write(20s);

  EXPECT_EQ(patience(), timing::slow_disk);
  EXPECT_EQ(patience(timing::slow_disk_at_start), timing::slow_disk_at_start);
}

TEST_F(DiskWatch, CountsFromTheLastWriteThatEnded) {
  disk_.begin(now_);
  disk_.begin(now_ + 900ms);
  disk_.end(true, now_ + 900ms);

  EXPECT_FALSE(disk_.hangs(now_ + 900ms + timing::hung_disk, timing::slow_disk));
  EXPECT_TRUE(disk_.hangs(now_ + 900ms + timing::slow_disk, timing::slow_disk));
}

TEST_F(DiskWatch, RemembersSlowWritesThatWereNotTheSlowest) {
  write(1300ms);
  now_ += timing::slow_disk_remembered - 2s;
  write(1200ms);
  now_ += 2s;
  write(5ms);

  EXPECT_GE(patience(), 1200ms);
}

TEST_F(DiskWatch, ForgetsASlowWriteOnceLaterOnesAreFast) {
  write(900ms);
  now_ += timing::slow_disk_remembered;
  EXPECT_EQ(patience(), 1800ms) << "nothing was written since";
  write(5ms);

  EXPECT_EQ(patience(), timing::hung_disk);
}

} // namespace
} // namespace codeq::replication
