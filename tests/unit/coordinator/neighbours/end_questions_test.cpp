// SPDX-License-Identifier: Apache-2.0
#include "coordinator/shard/end_questions.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

namespace codeq::coordinator {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

using question = end_questions::question;

constexpr shard_id a{1};
constexpr shard_id b{2};
constexpr monotonic_time start{1h};

TEST(EndQuestions, AreAskedAgainAfterAWhileUntilNoTaskIsOpen) {
  end_questions ends;
  EXPECT_FALSE(ends.is_due(start + 1h));
  ends.asked(start);
  EXPECT_EQ(ends.next_look(), start + 1s);
  EXPECT_FALSE(ends.is_due(start + 999ms));
  EXPECT_TRUE(ends.is_due(start + 1s));

  EXPECT_THAT(
    ends.take({{a, {5, 3}}, {b, {4}}}, start + 1s),
    ElementsAre(question{a, {3, 5}, {}}, question{b, {4}, {}}));
  EXPECT_EQ(ends.next_look(), start + 2s);
  EXPECT_THAT(ends.take({}, start + 2s), IsEmpty());
  EXPECT_EQ(ends.next_look(), std::nullopt);
}

TEST(EndQuestions, AreAskedAtOnceWhenAShardHasMoved) {
  end_questions ends;

  ends.moved(start);

  EXPECT_TRUE(ends.is_due(start));
}

TEST(EndQuestions, RepeatCancelsOfOpenTasks) {
  end_questions ends;
  ends.cancelled(a, 3, start);
  ends.cancelled(a, 4, start);

  EXPECT_THAT(ends.take({{a, {3, 5}}}, start + 1s), ElementsAre(question{a, {3, 5}, {3}}));
  EXPECT_THAT(ends.take({{a, {3, 5}}}, start + 2s), ElementsAre(question{a, {3, 5}, {3}}));
  EXPECT_THAT(ends.take({{a, {5}}}, start + 3s), ElementsAre(question{a, {5}, {}}));
  EXPECT_THAT(ends.take({{a, {3, 5}}}, start + 4s), ElementsAre(question{a, {3, 5}, {}}));
}

TEST(EndQuestions, ManyTasksTakeTurns) {
  end_questions ends;
  std::vector<sequence> tasks(end_questions::tasks_max + 10);
  std::iota(tasks.begin(), tasks.end(), 1);

  auto first = ends.take({{a, tasks}}, start);
  auto second = ends.take({{a, tasks}}, start + 1s);
  auto third = ends.take({{a, tasks}}, start + 2s);

  EXPECT_EQ(first.front().tasks.size(), end_questions::tasks_max);
  EXPECT_EQ(first.front().tasks.front(), 1u);
  EXPECT_EQ(second.front().tasks.size(), 10u);
  EXPECT_EQ(third.front().tasks.front(), 1u);
}

} // namespace
} // namespace codeq::coordinator
