// SPDX-License-Identifier: Apache-2.0
#include "core/blocks/segment_table.hpp"
#include "support/seed.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

namespace codeq::core {
namespace {

const queue_address only_queue{.queue = "q"};

const queue_address& address_of(std::uint32_t) {
  return only_queue;
}

std::uint32_t number_of(const queue_address&) {
  return 0;
}

class SegmentTable : public testing::Test {
protected:
  SegmentTable() { limit(0); }

  void limit(std::size_t segments_kept) {
    paging_limits limits;
    limits.weight_kept = segments_kept * segment_table::segment_weight;
    limits.block_segments_max = 3;
    table_.set_limits(limits);
  }

  void add(sequence first, std::uint32_t count = 1) {
    segment s;
    s.first = first;
    s.count = s.kept = count;
    table_.add(std::move(s));
    changed_.insert(first);
  }

  void touch(sequence seq, std::uint16_t attempt) {
    auto* s = table_.find(seq);
    ASSERT_TRUE(s);
    s->touch(seq).attempt = attempt;
    changed_.insert(s->first);
  }

  void close(sequence first) {
    table_.at(first).kept = 0;
    changed_.insert(first);
    closed_.insert(first);
  }

  /// Returns the first sequences of the blocks that are written; those of removed blocks are
  /// negative.
  std::vector<std::int64_t> snapshot() {
    std::vector<sequence> changed(changed_.begin(), changed_.end());
    auto blocks = table_.pack(changed, address_of);
    for (auto first : closed_)
      table_.erase(first);
    table_.install(blocks, number_of);
    changed_.clear();
    closed_.clear();
    std::vector<std::int64_t> written;
    for (const auto& block : blocks) {
      auto first = static_cast<std::int64_t>(block.first);
      written.push_back(block.packed.empty() ? -first : first);
      if (block.packed.empty())
        disk_.erase(block.first);
      else
        disk_.insert_or_assign(block.first, block);
    }
    return written;
  }

  std::vector<sequence> walk(sequence from = 0, sequence below = segment_table::no_end) {
    std::vector<sequence> firsts;
    table_.walk(from, below, [&](const segment& s) {
      firsts.push_back(s.first);
      return true;
    });
    return firsts;
  }

  std::vector<sequence> walk_down(sequence from = 0, sequence below = segment_table::no_end) {
    std::vector<sequence> firsts;
    table_.walk_down(from, below, [&](const segment& s) {
      firsts.push_back(s.first);
      return true;
    });
    return firsts;
  }

  segment_table table_;
  std::set<sequence> changed_;
  std::set<sequence> closed_;
  std::map<sequence, segment_block> disk_;
};

TEST_F(SegmentTable, LooksUpWhatIsPackedAsWhatIsNot) {
  add(1, 4);
  add(10, 2);
  touch(3, 7);
  snapshot();
  EXPECT_EQ(table_.unpacked_segments(), 0u);

  EXPECT_EQ(table_.find(3)->view(3).attempt, 7);
  EXPECT_EQ(table_.find(2)->view(2).attempt, 0);
  EXPECT_EQ(table_.find(11)->first, 10u);
  EXPECT_FALSE(table_.find(5));
  EXPECT_FALSE(table_.find(12));
  EXPECT_FALSE(table_.find(0));
}

TEST_F(SegmentTable, PacksBlocksOfTheVersionThatIsSet) {
  table_.set_block_version(block_version_oldest);
  add(1, 2);
  add(3, 2);
  snapshot();
  EXPECT_EQ(disk_.at(1).packed.view().front(), block_version_oldest);
  table_.set_block_version(block_version_newest);
  touch(4, 7);
  snapshot();

  EXPECT_EQ(disk_.at(1).packed.view().front(), block_version_newest);
  EXPECT_EQ(table_.find(4)->view(4).attempt, 7);
  EXPECT_EQ(table_.find(2)->first, 1u);
}

TEST_F(SegmentTable, LooksUpInAnyOrder) {
  for (sequence first = 1; first <= 12; first += 2)
    add(first, 2);
  snapshot();

  for (sequence seq : {2, 6, 3, 5, 1, 12, 8, 11, 10})
    EXPECT_EQ(table_.find(seq)->first, (seq - 1) / 2 * 2 + 1) << seq;
  snapshot();
  touch(3, 9);
  touch(6, 9);
  snapshot();

  EXPECT_EQ(table_.find(1)->first, 1u);
  EXPECT_EQ(table_.find(3)->view(3).attempt, 9);
  EXPECT_EQ(table_.find(6)->view(6).attempt, 9);
  EXPECT_FALSE(table_.find(13));
}

TEST_F(SegmentTable, ChangeOfAnUnpackedSegmentCountsBeforeItsBlock) {
  add(1, 2);
  add(3, 2);
  snapshot();
  touch(2, 5);

  EXPECT_EQ(table_.find(2)->view(2).attempt, 5);
  EXPECT_EQ(walk(), (std::vector<sequence>{1, 3}));
  snapshot();
  EXPECT_EQ(table_.find(2)->view(2).attempt, 5);
}

TEST_F(SegmentTable, KeepsTheOldestUnpacked) {
  limit(2);
  for (sequence first = 1; first <= 5; ++first)
    add(first);

  snapshot();

  EXPECT_EQ(table_.unpacked_segments(), 2u);
  EXPECT_TRUE(table_.find_unpacked(2));
  EXPECT_FALSE(table_.find_unpacked(3));
  EXPECT_EQ(table_.packed_segments(), 5u);
}

TEST_F(SegmentTable, WritesOnlyBlocksInWhichSomethingChanged) {
  for (sequence first = 1; first <= 9; ++first)
    add(first);
  EXPECT_EQ(snapshot(), (std::vector<std::int64_t>{1, 4, 7}));
  EXPECT_EQ(snapshot(), (std::vector<std::int64_t>{}));

  touch(5, 1);
  EXPECT_EQ(snapshot(), (std::vector<std::int64_t>{4}));
  add(10);
  EXPECT_EQ(snapshot(), (std::vector<std::int64_t>{7, 10}));
}

TEST_F(SegmentTable, RemovesBlocksWithoutSegments) {
  for (sequence first = 1; first <= 6; ++first)
    add(first);
  snapshot();
  for (sequence first = 4; first <= 6; ++first)
    close(first);

  EXPECT_EQ(snapshot(), (std::vector<std::int64_t>{-4}));
  EXPECT_EQ(walk(), (std::vector<sequence>{1, 2, 3}));
  EXPECT_FALSE(table_.find(4));
  EXPECT_EQ(table_.packed_segments(), 3u);
}

TEST_F(SegmentTable, PutsWhatIsLeftOfNeighboursTogether) {
  for (sequence first = 1; first <= 9; ++first)
    add(first);
  snapshot();
  for (sequence first : {1, 3, 4, 6, 8})
    close(first);

  EXPECT_EQ(snapshot(), (std::vector<std::int64_t>{1, 9, -4, -7}));
  EXPECT_EQ(walk(), (std::vector<sequence>{2, 5, 7, 9}));
}

TEST_F(SegmentTable, WalksFromTheSegmentThatHoldsATask) {
  add(1, 4);
  add(5, 4);
  snapshot();
  add(9, 4);

  EXPECT_EQ(walk(3), (std::vector<sequence>{1, 5, 9}));
  EXPECT_EQ(walk(5), (std::vector<sequence>{5, 9}));
  EXPECT_EQ(walk(12), (std::vector<sequence>{9}));
  EXPECT_EQ(walk(13), (std::vector<sequence>{}));
  EXPECT_EQ(walk(3, 5), (std::vector<sequence>{1}));
  EXPECT_EQ(walk(4, 6), (std::vector<sequence>{1, 5}));
  EXPECT_EQ(walk(3, 1), (std::vector<sequence>{}));
}

TEST_F(SegmentTable, WalksDownFromTheLastSegmentBefore) {
  for (sequence first = 1; first <= 17; first += 4)
    add(first, 4);
  snapshot();
  add(21, 4);
  touch(6, 1);
  touch(13, 1);

  EXPECT_EQ(walk_down(), (std::vector<sequence>{21, 17, 13, 9, 5, 1}));
  EXPECT_EQ(walk_down(7, 17), (std::vector<sequence>{13, 9, 5}));
  EXPECT_EQ(walk_down(9, 18), (std::vector<sequence>{17, 13, 9}));
  EXPECT_EQ(walk_down(24, 25), (std::vector<sequence>{21}));
  EXPECT_EQ(walk_down(25), (std::vector<sequence>{}));
  EXPECT_EQ(walk_down(5, 5), (std::vector<sequence>{}));
}

TEST_F(SegmentTable, WalkEndsWhenItIsTold) {
  for (sequence first = 1; first <= 5; ++first)
    add(first);
  snapshot();
  touch(2, 1);
  touch(4, 1);
  for (sequence last = 1; last <= 5; ++last) {
    sequence up = 0;
    sequence down = 0;

    table_.walk(0, segment_table::no_end, [&](const segment& s) { return (up = s.first) != last; });
    table_.walk_down(
      0, segment_table::no_end, [&](const segment& s) { return (down = s.first) != last; });

    EXPECT_EQ(up, last);
    EXPECT_EQ(down, last);
  }
}

TEST_F(SegmentTable, IsHeavyWhenMuchIsUnpackedAndLightAfterASnapshot) {
  paging_limits limits;
  limits.weight_kept = 0;
  limits.weight_max = 3 * segment_table::segment_weight;
  table_.set_limits(limits);
  add(1);
  add(2);
  EXPECT_FALSE(table_.is_heavy());
  add(3);
  EXPECT_TRUE(table_.is_heavy());

  snapshot();

  EXPECT_FALSE(table_.is_heavy());
}

TEST_F(SegmentTable, DoesWhatAMapDoesAndItsBlocksHoldTheSame) {
  std::minstd_rand random(static_cast<std::uint32_t>(test::choose_seed()));
  std::map<sequence, std::uint16_t> expected;
  sequence next = 1;

  for (int step = 0; step < 5'000; ++step) {
    auto some = expected.lower_bound(next > 40 ? next - random() % 40 : 1);
    switch (random() % 4) {
    case 0:
      add(next);
      expected.emplace(next, 0);
      next += 1 + random() % 3;
      break;
    case 1:
      if (some != expected.end() && !closed_.contains(some->first))
        touch(some->first, some->second = static_cast<std::uint16_t>(random() % 100));
      break;
    case 2:
      if (some != expected.end() && !closed_.contains(some->first))
        close(some->first);
      break;
    case 3:
      for (auto first : closed_)
        expected.erase(first);
      limit(random() % 4);
      snapshot();
      break;
    }
  }
  for (auto first : closed_)
    expected.erase(first);
  snapshot();

  std::map<sequence, std::uint16_t> found;
  table_.for_each([&](const segment& s) { found.emplace(s.first, s.view(s.first).attempt); });
  EXPECT_EQ(found, expected);
  auto ascending = walk();
  EXPECT_EQ(walk_down(), (std::vector<sequence>{ascending.rbegin(), ascending.rend()}));
  segment_table restored;
  std::map<sequence, std::uint16_t> read;
  for (const auto& [first, block] : disk_)
    EXPECT_TRUE(restored.restore(
      block, number_of, [&](segment& s) { read.emplace(s.first, s.view(s.first).attempt); }));
  EXPECT_EQ(read, expected);
  EXPECT_EQ(restored.packed_segments(), table_.packed_segments());
  EXPECT_EQ(restored.packed_bytes(), table_.packed_bytes());
}

} // namespace
} // namespace codeq::core
