// SPDX-License-Identifier: Apache-2.0
#include "transport/backoff.hpp"

#include <gtest/gtest.h>

namespace codeq::transport {

namespace {

TEST(Backoff, PausesDoubleUpToTheMaximum) {
  backoff pauses{duration(50), duration(300)};

  EXPECT_EQ(pauses.next(0), duration(50));
  EXPECT_EQ(pauses.next(0), duration(100));
  EXPECT_EQ(pauses.next(0), duration(200));
  EXPECT_EQ(pauses.next(0), duration(300));
  EXPECT_EQ(pauses.next(0), duration(300));
}

TEST(Backoff, ChanceCutsAPauseByUpToHalf) {
  backoff pauses{duration(100), duration(100)};

  EXPECT_EQ(pauses.next(0.5), duration(75));
  EXPECT_GT(pauses.next(0.999), duration(50));
}

TEST(Backoff, ASuccessMakesTheNextPauseShort) {
  backoff pauses{duration(50), duration(1000)};
  static_cast<void>(pauses.next(0));
  static_cast<void>(pauses.next(0));

  pauses.reset();

  EXPECT_EQ(pauses.next(0), duration(50));
}

} // namespace

} // namespace codeq::transport
