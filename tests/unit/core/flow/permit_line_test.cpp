// SPDX-License-Identifier: Apache-2.0
#include "core/flow/permit_line.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace codeq::core {
namespace {

/// A line of tasks that are taken one after the other.
class PermitLine : public testing::Test {
protected:
  void add(sequence seq, std::uint32_t queue, std::uint8_t priority, const char* key = "") {
    line_.insert(queue, {priority, seq, key});
  }

  std::vector<sequence> take_all() {
    std::vector<sequence> all;
    while (!line_.empty())
      all.push_back(line_.take_next({}).seq);
    return all;
  }

  permit_line line_;
};

TEST_F(PermitLine, HigherPriorityComesFirstAndThenTheOlderTask) {
  add(3, 0, 1);
  add(2, 0, 1);
  add(1, 0, 0);
  add(4, 0, 9);

  EXPECT_EQ(line_.next_priority(), 9);
  EXPECT_FALSE(line_.has_turns());
  EXPECT_EQ(take_all(), (std::vector<sequence>{4, 2, 3, 1}));
}

TEST_F(PermitLine, QueuesTakeTurns) {
  for (sequence seq : {1, 2, 3})
    add(seq, 7, 0);
  add(4, 8, 0);
  add(5, 9, 1);

  EXPECT_EQ(take_all(), (std::vector<sequence>{5, 1, 4, 2, 3}));
}

TEST_F(PermitLine, FairnessKeysTakeTurns) {
  for (sequence seq : {1, 2, 3, 4})
    add(seq, 0, 0, "flood");
  add(5, 0, 0, "small");
  add(6, 0, 0, "small");

  EXPECT_TRUE(line_.has_turns());
  EXPECT_EQ(line_.before(0, {0, 5, "small"}, {}), 1u);
  EXPECT_EQ(take_all(), (std::vector<sequence>{1, 5, 2, 6, 3, 4}));
  EXPECT_FALSE(line_.has_turns());
}

TEST_F(PermitLine, WeightsCountFromTheNextTurnOn) {
  for (sequence seq = 1; seq <= 16; ++seq)
    add(seq, 0, 0, seq <= 8 ? "heavy" : "light");
  const fair_terms_of terms = [](std::uint32_t, std::string_view key) {
    return fair_terms{{1, key == "heavy" ? 3u : 1u}, 1};
  };

  int heavy = 0;
  for (int i = 0; i < 8; ++i)
    heavy += line_.take_next(terms).seq <= 8 ? 1 : 0;

  EXPECT_GE(heavy, 5);
}

TEST_F(PermitLine, TaskThatWaitsAgainGetsItsTurnBack) {
  for (sequence seq : {1, 2, 3, 4})
    add(seq, 0, 0, seq % 2 == 1 ? "a" : "b");
  const auto taken = line_.take_next({});
  EXPECT_EQ(taken.seq, 1u);

  add(1, 0, 0, "a");
  line_.give_turn_back(0, {0, 1, "a"}, taken.charged);

  std::vector<sequence> next{line_.take_next({}).seq, line_.take_next({}).seq};
  std::sort(next.begin(), next.end());
  EXPECT_EQ(next, (std::vector<sequence>{1, 2})) << "each key once";
}

TEST_F(PermitLine, TasksOfAnIdleQueueKeepTheirPlacesAndDoNotComeNext) {
  add(1, 7, 9, "a");
  add(2, 7, 9, "b");
  add(3, 8, 0);
  line_.set_idle(7, true);
  add(4, 7, 9, "a");

  EXPECT_EQ(line_.next_priority(), 0);
  EXPECT_FALSE(line_.has_turns());
  EXPECT_EQ(line_.before(8, {0, 3, ""}, {}), 0u);
  EXPECT_EQ(line_.take_next({}).seq, 3u);
  EXPECT_FALSE(line_.has_next());
  EXPECT_FALSE(line_.empty());
  line_.set_idle(7, false);
  EXPECT_EQ(take_all(), (std::vector<sequence>{1, 2, 4}));
}

TEST_F(PermitLine, TaskLeaves) {
  add(1, 0, 0, "a");
  add(2, 1, 3);
  line_.erase(1, {3, 2, ""});
  EXPECT_EQ(line_.next_priority(), 0);
  line_.erase(0, {0, 1, "a"});
  EXPECT_TRUE(line_.empty());
}

} // namespace
} // namespace codeq::core
