// SPDX-License-Identifier: Apache-2.0
#include "worker/node/queue_quota.hpp"
#include "worker/node/waiting_tasks.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

namespace codeq::worker {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// Waiting tasks, and the order in which they start. Queues have free slots unless a test limits
/// them.
class WaitingTasks : public testing::Test {
protected:
  void add(const std::string& queue, std::uint64_t token, int priority = 0) {
    task made;
    made.queue = queue;
    made.priority = priority;
    made.token = fencing_token{token};
    tasks.add({0, shard_id{}, made.token}, std::move(made));
  }

  std::vector<std::uint64_t> take() {
    std::vector<std::uint64_t> tokens;
    for (const auto& taken : tasks.take_next())
      tokens.push_back(value(taken.key.token));
    return tokens;
  }

  /// The queues of the next starts, one letter each.
  std::string take_queues(int starts) {
    std::string names;
    for (int i = 0; i < starts; ++i)
      for (const auto& taken : tasks.take_next())
        names += taken.attempt.queue;
    return names;
  }

  std::map<std::string, std::size_t> room;
  /// The queues whose room was asked for.
  std::set<std::string> asked;
  std::set<std::uint64_t> lost;
  std::set<std::uint64_t> blocked;
  waiting_tasks tasks{waiting_tasks::rules{
    [this](const std::string& queue) {
      asked.insert(queue);
      return room.contains(queue) ? room[queue] : 1;
    },
    [this](const lease_key& key) { return !lost.contains(value(key.token)); },
    [this](const task& attempt) { return !blocked.contains(value(attempt.token)); }}};
};

TEST_F(WaitingTasks, GoByPriorityAndThenInOrderOfArrival) {
  add("a", 1);
  add("a", 2, 9);
  add("a", 3);

  EXPECT_THAT(take(), ElementsAre(2));
  EXPECT_THAT(take(), ElementsAre(1));
  EXPECT_THAT(take(), ElementsAre(3));
  EXPECT_THAT(take(), IsEmpty());
}

TEST_F(WaitingTasks, StartTogetherAsFarAsThereIsRoom) {
  room["a"] = 2;
  add("a", 1);
  add("a", 2);
  add("a", 3);

  EXPECT_THAT(take(), ElementsAre(1, 2));
  EXPECT_THAT(take(), ElementsAre(3));
}

TEST_F(WaitingTasks, QueueIsForgottenWhenItsLastTasksWereDropped) {
  room["a"] = 0;
  add("a", 1);
  add("b", 2);
  lost = {1};
  tasks.drop_lost();

  tasks.forget("a");

  EXPECT_EQ(take_queues(1), "b");
  EXPECT_THAT(asked, testing::Not(testing::Contains("a")));
}

TEST_F(WaitingTasks, LostOnesAreDropped) {
  add("a", 1);
  add("a", 2);
  lost = {1};

  EXPECT_THAT(take(), ElementsAre(2));
  EXPECT_EQ(tasks.count("a"), 0u);
}

TEST_F(WaitingTasks, QueueWithoutRoomHoldsUpNoOther) {
  room["a"] = 0;
  add("a", 1);
  add("b", 2);

  EXPECT_THAT(take(), ElementsAre(2));
  EXPECT_THAT(take(), IsEmpty());
  room["a"] = 1;
  EXPECT_THAT(take(), ElementsAre(1));
}

TEST_F(WaitingTasks, QueuesStartInProportionToTheirWeights) {
  tasks.set_weight("b", 3);
  for (std::uint64_t i = 0; i < 8; ++i) {
    add("a", 100 + i);
    add("b", 200 + i);
  }

  auto taken = take_queues(8);

  EXPECT_EQ(std::count(taken.begin(), taken.end(), 'a'), 2);
  EXPECT_EQ(std::count(taken.begin(), taken.end(), 'b'), 6);
}

TEST_F(WaitingTasks, QueueThatWasEmptyDoesNotMakeUpForIt) {
  for (std::uint64_t i = 0; i < 8; ++i)
    add("a", 100 + i);
  EXPECT_EQ(take_queues(4), "aaaa");
  for (std::uint64_t i = 0; i < 4; ++i)
    add("b", 200 + i);

  auto taken = take_queues(4);

  EXPECT_EQ(std::count(taken.begin(), taken.end(), 'b'), 2);
}

TEST_F(WaitingTasks, OneWhoseGroupIsBusyIsPassedOver) {
  add("a", 1);
  add("a", 2);
  blocked = {1};

  EXPECT_THAT(take(), ElementsAre(2));
  EXPECT_THAT(take(), IsEmpty());
  blocked.clear();
  EXPECT_THAT(take(), ElementsAre(1));
}

TEST(QueueQuota, IsTheQueuesSlotsAndItsPartOfThePrefetch) {
  auto quota = make_quota(2, 8, 8);

  EXPECT_EQ(quota.most, 4u);
  EXPECT_EQ(quota.reopen, 2u);
}

TEST(QueueQuota, WithoutPrefetchIsTheSlots) {
  auto quota = make_quota(1, 8, 0);

  EXPECT_EQ(quota.most, 1u);
  EXPECT_EQ(quota.reopen, 0u);
}

} // namespace
} // namespace codeq::worker
