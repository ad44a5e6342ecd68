// SPDX-License-Identifier: Apache-2.0
#include "storage/records/record_codec.hpp"
#include "support/task_builder.hpp"

#include <gtest/gtest.h>

#include <string>

namespace codeq::storage {
namespace {

core::segment_appended segment_of(core::fairness_mark fairness) {
  core::segment_appended e;
  e.position = 1;
  e.first = 7;
  e.queue = {"t", "q"};
  e.pieces = {test::encode_bodies(2, 8)};
  e.count = 2;
  e.body_bytes = 16;
  e.fairness = std::move(fairness);
  return e;
}

core::follow_ups_sent follow_up_of(core::fairness_mark fairness) {
  core::follow_ups_sent e;
  auto& task = e.tasks.emplace_back();
  task.run.queue = {"t", "q"};
  task.run.tasks = test::encode_bodies(1, 8);
  task.run.fairness = std::move(fairness);
  return e;
}

const core::fairness_mark mark{std::string("tenant/\0\xff", 9), 1000};

TEST(FairnessRecord, SegmentsFatesAndFollowUpsKeepKeyAndWeight) {
  core::segment_fate fate;
  fate.queue = {"t", "q"};
  fate.entries.emplace_back();
  fate.fairness = mark;

  EXPECT_EQ(decode_segment(encode(segment_of(mark)), 7)->fairness, mark);
  EXPECT_EQ(decode_follow_ups(encode(follow_up_of(mark)))->tasks.front().run.fairness, mark);
  EXPECT_EQ(decode_fate(encode(fate, 1), 0)->fairness, mark);
  EXPECT_FALSE(decode_segment(encode(segment_of({})), 7)->fairness.is_set());
}

TEST(FairnessRecord, WeightThatNoProducerCanHaveSetIsDamage) {
  for (std::uint16_t weight : {0, 1001}) {
    EXPECT_EQ(
      decode_segment(encode(segment_of({"k", weight})), 7).error().code, errc::corruption);
    EXPECT_EQ(
      decode_follow_ups(encode(follow_up_of({"k", weight}))).error().code, errc::corruption);
  }
}

} // namespace
} // namespace codeq::storage
