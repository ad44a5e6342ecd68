// SPDX-License-Identifier: Apache-2.0
#include "schedule/nominal_time.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace codeq::schedule {
namespace {

using namespace std::chrono_literals;

constexpr local_seconds fold_end = std::chrono::local_days{2026y / 10 / 25} + 3h;

TEST(NominalTime, TimesOfAFoldAreOrderedAsTheyFire) {
  nominal_time first{fold_end - 30min, fold_end - 30min};
  nominal_time last_of_first{fold_end - 1s, fold_end - 1s};
  nominal_time second{fold_end, fold_end - 30min};
  nominal_time after{fold_end, fold_end};

  EXPECT_LT(first, last_of_first);
  EXPECT_LT(last_of_first, second);
  EXPECT_LT(second, after);
  EXPECT_TRUE(second.is_second());
  EXPECT_FALSE(first.is_second());
}

TEST(NominalTime, TextSaysWhichOfTwo) {
  EXPECT_EQ(to_string(nominal_time{fold_end, fold_end}), "2026-10-25T03:00:00");
  EXPECT_EQ(to_string(nominal_time{fold_end, fold_end - 30min}), "2026-10-25T02:30:00 second");
}

TEST(NominalTime, BytesKeepTheOrder) {
  local_seconds early{-5s};
  std::vector<nominal_time> ordered{
    {early, early}, {}, {fold_end, fold_end - 30min}, {fold_end, fold_end}};

  for (std::size_t i = 0; i < ordered.size(); ++i) {
    EXPECT_EQ(encode(ordered[i]).size(), 16u);
    if (i > 0) {
      EXPECT_LT(encode(ordered[i - 1]), encode(ordered[i]));
    }
  }
}

TEST(NominalTime, BytesStayWhatTheyAre) {
  nominal_time when{local_seconds{2s}, local_seconds{-1s}};

  EXPECT_EQ(
    encode(when), std::string("\x80\0\0\0\0\0\0\x02\x7f\xff\xff\xff\xff\xff\xff\xff", 16));
}

} // namespace
} // namespace codeq::schedule
