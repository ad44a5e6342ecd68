// SPDX-License-Identifier: Apache-2.0
#include "support/shard_fixture.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace codeq::test {
namespace {

using namespace std::chrono_literals;

constexpr int segments = 300;
constexpr int tasks_per_segment = 16;

/// Maximum size of a segment in memory and in a block on disk while one of its tasks is kept. With
/// an entry for each task it would be 800 bytes.
constexpr std::size_t held_segment_bytes_max = 80;

/// A shard with many waiting tasks that keeps no segment unpacked after a snapshot.
class Backlog : public shard_fixture {
protected:
  Backlog() {
    core::paging_limits limits;
    limits.weight_kept = 0;
    limits.block_segments_max = 32;
    state().segments.set_limits(limits);
    attach("w", {"q"});
  }

  /// Enqueues each segment in a turn of its own.
  void enqueue_segments(const std::string& queue) {
    for (int i = 0; i < segments; ++i)
      enqueue(queue, tasks_per_segment, {.settings = {.lease = 1h}});
  }

  /// Claims all tasks and completes all but the first of each segment.
  void complete_all_but_first() {
    claim("w", segments * tasks_per_segment);
    for (int i = 0; i < segments; ++i) {
      std::vector<core::task_lease> done;
      for (int j = 1; j < tasks_per_segment; ++j)
        done.push_back(held(i * tasks_per_segment + j + 1, i * tasks_per_segment + j + 1));
      complete_all("w", done);
    }
  }

  /// The lease on the first task of a segment.
  static core::task_lease first_of(int segment) {
    auto number = segment * tasks_per_segment + 1;
    return held(number, number);
  }

  void expect_small() {
    EXPECT_EQ(state().segments.weight(), 0u);
    EXPECT_EQ(state().segments.packed_segments(), static_cast<std::size_t>(segments));
    EXPECT_LT(state().segments.packed_bytes(), segments * held_segment_bytes_max);
  }

  /// Number of blocks that the latest snapshot wrote or removed.
  std::size_t blocks_written() {
    return std::get<core::snapshot_taken>(events().back()).blocks.size();
  }
};

TEST_F(Backlog, SegmentHeldOpenByASlowTaskCostsABoundedAmount) {
  enqueue_segments("q");
  complete_all_but_first();
  take_snapshot();
  expect_small();

  // Heartbeats and further snapshots do not change the packing.
  for (int i = 0; i < segments; ++i)
    beat("w", first_of(i));
  take_snapshot();
  EXPECT_EQ(blocks_written(), 0u);
  expect_small();

  for (int i = 0; i < segments; ++i)
    complete("w", first_of(i));
  take_snapshot();
  EXPECT_EQ(state().segments.packed_segments(), 0u);
  EXPECT_EQ(state().segments.packed_bytes(), 0u);
}

TEST_F(Backlog, SegmentHeldOpenByADeferredTaskCostsABoundedAmount) {
  enqueue_segments("q");
  complete_all_but_first();
  for (int i = 0; i < segments; ++i)
    nack("w", first_of(i), 30min);
  take_snapshot();
  expect_small();
  restart();
  advance(1h);
  attach("w", {"q"});

  claim("w", segments);
  for (int i = 0; i < segments; ++i)
    EXPECT_EQ(state_of(i * tasks_per_segment + 1), "leased") << i;
}

TEST_F(Backlog, SnapshotsOfASmallQueueDoNotDependOnADeepOneBesideIt) {
  enqueue_segments("deep");
  take_snapshot();
  auto deep = state().segments.packed_segments();

  for (int round = 0; round < 50; ++round) {
    auto number = segments * tasks_per_segment + round + 1;
    claim("w", 1);
    enqueue("q");
    complete("w", held(number, round + 1));
    EXPECT_LE(state().segments.unpacked_segments(), 1u);
    take_snapshot();
    // Only the last block is written: new segments are appended to it.
    EXPECT_LE(blocks_written(), 1u);
    EXPECT_EQ(state().segments.packed_segments(), deep);
  }
}

TEST_F(Backlog, ClaimsFromADeepQueueUnpackNoMoreThanTheyTake) {
  enqueue_segments("q");
  take_snapshot();

  for (int round = 0; round < segments; ++round) {
    claim("w", tasks_per_segment);
    EXPECT_LE(state().segments.unpacked_segments(), 2u);
    std::vector<core::task_lease> done;
    for (int j = 1; j <= tasks_per_segment; ++j)
      done.push_back(held(round * tasks_per_segment + j, round * tasks_per_segment + j));
    complete_all("w", done);
    take_snapshot();
    EXPECT_LE(blocks_written(), 2u);
  }
  EXPECT_EQ(state().segments.packed_segments(), 0u);
}

} // namespace
} // namespace codeq::test
