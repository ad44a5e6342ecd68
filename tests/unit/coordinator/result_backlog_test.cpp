// SPDX-License-Identifier: Apache-2.0

#include "base/tuning.hpp"
#include "coordinator/session/result_backlog.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace codeq::coordinator {
namespace {

using testing::ElementsAre;

constexpr shard_id shard{3};

protocol::awaited_task ended(sequence seq, std::size_t bytes) {
  return {seq, errc::none, task_state::completed, 1, codeq::bytes(std::string(bytes, 'x'))};
}

std::vector<sequence> numbers_of(const protocol::tasks_told& told) {
  std::vector<sequence> numbers;
  for (const auto& task : told.tasks)
    numbers.push_back(task.seq);
  return numbers;
}

TEST(ResultBacklog, AdmitsResultsUntilThereIsNoRoom) {
  result_backlog backlog;
  protocol::tasks_told told{{ended(1, 60), ended(2, 60), ended(3, 1)}};

  EXPECT_THAT(numbers_of(backlog.admit(shard, told, 100)), ElementsAre(1, 2));

  auto asked = backlog.take();
  ASSERT_TRUE(asked);
  EXPECT_EQ(asked->first, shard);
  EXPECT_THAT(asked->second, ElementsAre(3));
  EXPECT_TRUE(backlog.empty());
}

TEST(ResultBacklog, AdmitsProgressAlways) {
  result_backlog backlog;
  auto progress = ended(1, 5);
  progress.state = task_state::leased;

  EXPECT_THAT(numbers_of(backlog.admit(shard, {{progress}}, 0)), ElementsAre(1));
  EXPECT_TRUE(backlog.empty());
}

TEST(ResultBacklog, KeepsTasksThatAreUnknown) {
  result_backlog backlog;
  auto unknown = ended(1, 0);
  unknown.code = errc::unknown_task;

  EXPECT_THAT(numbers_of(backlog.admit(shard, {{unknown}}, 0)), ElementsAre());
  EXPECT_FALSE(backlog.empty());
}

TEST(ResultBacklog, AsksForAFewAtATime) {
  result_backlog backlog;
  protocol::tasks_told told;
  for (sequence seq = 1; seq <= tuning::results_asked_again_max + 1; ++seq)
    told.tasks.push_back(ended(seq, 1));
  static_cast<void>(backlog.admit(shard, told, 0));

  EXPECT_EQ(backlog.take()->second.size(), tuning::results_asked_again_max);
  EXPECT_THAT(backlog.take()->second, ElementsAre(tuning::results_asked_again_max + 1));
  EXPECT_FALSE(backlog.take());
}

} // namespace
} // namespace codeq::coordinator
