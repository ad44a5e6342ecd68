// SPDX-License-Identifier: Apache-2.0
#include "core/tables/lane.hpp"

#include <gtest/gtest.h>

#include <utility>

namespace codeq::core {
namespace {

class Lane : public testing::Test {
protected:
  void add(sequence first, std::uint32_t count) {
    segment s;
    s.first = first;
    s.count = count;
    segments_.add(std::move(s));
    lane_.append(first);
  }

  /// Leases tasks from the front, as a turn does.
  seq_run take(std::uint32_t limit) {
    auto run = lane_.front(segments_, limit);
    for (std::uint32_t i = 0; i < run.count; ++i) {
      auto& entry = find_segment(segments_, run.first + i)->touch(run.first + i);
      if (entry.token != fencing_token{})
        lane_.remove(run.first + i);
      entry.state = task_state::leased;
      entry.token = fencing_token{1};
    }
    return run;
  }

  void put_back(sequence seq) {
    find_segment(segments_, seq)->touch(seq).state = task_state::ready;
    lane_.put_back(seq);
  }

  segment_table segments_;
  lane lane_;
};

TEST_F(Lane, EmptyLaneHasNothingInFront) {
  EXPECT_EQ(take(5), (seq_run{}));
}

TEST_F(Lane, RunsStayWithinTheirSegmentAndTheLimit) {
  add(1, 3);
  add(4, 3);

  EXPECT_EQ(take(2), (seq_run{1, 2}));
  EXPECT_EQ(take(9), (seq_run{3, 1}));
  EXPECT_EQ(take(9), (seq_run{4, 3}));
  EXPECT_EQ(take(9).count, 0u);
}

TEST_F(Lane, TaskPutBackKeepsItsOldPlace) {
  add(1, 3);
  add(10, 2);
  take(3);
  put_back(2);

  EXPECT_EQ(take(9), (seq_run{2, 1}));
  EXPECT_EQ(take(9), (seq_run{10, 2}));
}

TEST_F(Lane, TaskPutBackFromTheMiddleSplitsNothing) {
  add(1, 4);
  take(2);
  put_back(2);
  put_back(1);

  EXPECT_EQ(take(9), (seq_run{1, 2}));
  EXPECT_EQ(take(9), (seq_run{3, 2}));
}

TEST_F(Lane, NeighboursThatWerePutBackAreOneRunWithinTheirSegmentAndTheLimit) {
  add(1, 6);
  add(7, 4);
  add(11, 1);
  take(6);
  take(4);
  for (sequence seq : {9u, 3u, 8u, 5u, 7u, 2u, 6u})
    put_back(seq);

  EXPECT_EQ(take(9), (seq_run{2, 2}));
  EXPECT_EQ(take(9), (seq_run{5, 2}));
  EXPECT_EQ(take(2), (seq_run{7, 2}));
  EXPECT_EQ(take(9), (seq_run{9, 1}));
  EXPECT_EQ(take(9), (seq_run{11, 1}));
}

TEST_F(Lane, DeferredTaskStandsBetweenFreshOnes) {
  add(1, 2);
  segment deferred;
  deferred.first = 3;
  deferred.count = 1;
  deferred.aside = true;
  segments_.add(std::move(deferred));
  add(4, 2);
  put_back(3);

  EXPECT_EQ(take(9), (seq_run{1, 2}));
  EXPECT_EQ(lane_.front(segments_, 9), (seq_run{3, 1}));
  lane_.remove(3);
  EXPECT_EQ(take(9), (seq_run{4, 2}));
}

TEST_F(Lane, ClosedSegmentsAreSkipped) {
  add(1, 2);
  add(3, 2);
  take(2);
  segments_.erase(1);

  EXPECT_EQ(take(9), (seq_run{3, 2}));
}

TEST_F(Lane, ForgottenSegmentsLeaveFromAnyPlace) {
  for (sequence first : {1u, 2u, 3u, 4u})
    add(first, 1);

  lane_.forget(3);
  lane_.forget(1);
  lane_.forget(9);

  EXPECT_EQ(lane_.segments(), 2u);
  EXPECT_EQ(take(9), (seq_run{2, 1}));
  EXPECT_EQ(take(9), (seq_run{4, 1}));
  EXPECT_EQ(take(9).count, 0u);
}

TEST_F(Lane, TasksAppendedToAnEmptiedLaneAreFound) {
  add(1, 1);
  take(1);
  EXPECT_EQ(take(1).count, 0u);
  add(7, 1);

  EXPECT_EQ(take(1), (seq_run{7, 1}));
}

} // namespace
} // namespace codeq::core
