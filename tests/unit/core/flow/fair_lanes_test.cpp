// SPDX-License-Identifier: Apache-2.0
#include "core/tables/fair_lanes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

namespace codeq::core {
namespace {

using namespace std::chrono_literals;

/// Tasks with fairness keys, which are granted in turns as a shard does.
class FairLanes : public testing::Test {
protected:
  /// Enqueues tasks of one key as a segment.
  void add(const std::string& name, std::uint32_t count, std::uint32_t weight = 1) {
    segment s;
    s.first = next_;
    s.count = count;
    segments_.add(std::move(s));
    fair_key who;
    for (std::uint32_t i = 0; i < count; ++i)
      who = keys_.take(name);
    lanes_.enter(who, {1, weight}, count).append(next_);
    for (std::uint32_t i = 0; i < count; ++i)
      key_of_[next_ + i] = who;
    next_ += count;
  }

  /// Grants tasks and returns their keys' names.
  std::string grant(std::uint32_t limit) {
    std::string names;
    while (limit > 0 && !lanes_.empty()) {
      auto [who, tasks, time, behind] = lanes_.front(segments_, keys_, limit);
      lanes_.charge(who, keys_, tasks.count);
      for (std::uint32_t i = 0; i < tasks.count; ++i) {
        auto seq = tasks.first + i;
        auto& entry = find_segment(segments_, seq)->touch(seq);
        lanes_.leave(who, seq, entry.token != fencing_token{});
        entry.state = task_state::leased;
        entry.token = fencing_token{1};
        names += keys_.name_of(who);
        granted_.push_back(seq);
      }
      limit -= tasks.count;
    }
    return names;
  }

  void put_back(sequence seq) {
    find_segment(segments_, seq)->touch(seq).state = task_state::ready;
    lanes_.enter(key_of_.at(seq), {}, 1).put_back(seq);
  }

  segment_table segments_;
  fair_keys keys_;
  fair_lanes lanes_;
  std::map<sequence, fair_key> key_of_;
  std::vector<sequence> granted_;
  sequence next_ = 1;
};

TEST_F(FairLanes, KeysTakeTurnsAndEachIsInTheOrderOfEnqueue) {
  add("a", 4);
  add("b", 2);
  add("a", 1);

  EXPECT_EQ(grant(5), "ababa");
  EXPECT_EQ(granted_, (std::vector<sequence>{1, 5, 2, 6, 3}));
  EXPECT_EQ(grant(9), "aa");
  EXPECT_EQ(granted_.back(), 7u);
  EXPECT_TRUE(lanes_.empty());
}

TEST_F(FairLanes, WeightLetsAKeyGetSeveralInARow) {
  add("a", 6, 3);
  add("b", 6);

  EXPECT_EQ(grant(8), "aaabaaab");
}

TEST_F(FairLanes, TaskThatIsPutBackKeepsItsPlaceInItsKey) {
  add("a", 3);
  add("b", 3);
  grant(4);

  put_back(1);

  EXPECT_EQ(grant(2), "ab");
  EXPECT_EQ(granted_[4], 1u);
}

TEST_F(FairLanes, FloodOfLongTasksDoesNotDelayOthersByMoreThanTheirTurn) {
  add("flood", 1000);
  keys_.note(key_of_.at(1), 100ms);
  for (int i = 0; i < 10; ++i) {
    add("k" + std::to_string(i), 5);
    keys_.note(key_of_.at(next_ - 1), 10ms);
  }

  auto order = grant(51);

  // The others end within the time of one task of the flood each.
  EXPECT_LE(std::count(order.begin(), order.end(), 'f'), 1);
  EXPECT_EQ(lanes_.ready(), 999u);
}

} // namespace
} // namespace codeq::core
