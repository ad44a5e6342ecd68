// SPDX-License-Identifier: Apache-2.0
#include "coordinator/shared/shared_board.hpp"

#include <gtest/gtest.h>

#include <span>
#include <string>
#include <vector>

namespace codeq::coordinator {
namespace {

using namespace std::chrono_literals;

core::ready_head head(std::uint8_t priority, int time) {
  return {priority, timestamp{duration{time}}};
}

TEST(SharedBoard, ShowsTheBestTaskOfTheOtherShards) {
  shared_board board(3);
  auto first = board.join({"t", "q"}, shard_id{0});
  auto second = board.join({"t", "q"}, shard_id{1});
  auto third = board.join({"t", "q"}, shard_id{2});
  EXPECT_FALSE(first->best_elsewhere());

  first->publish(head(9, 1));
  EXPECT_FALSE(first->best_elsewhere());
  second->publish(head(3, 20));
  third->publish(head(3, 10));

  EXPECT_EQ(first->best_elsewhere()->head, head(3, 10));
  EXPECT_EQ(first->best_elsewhere()->shard, shard_id{2});
  EXPECT_EQ(third->best_elsewhere()->head, head(9, 1));
  EXPECT_EQ(third->best_elsewhere()->shard, shard_id{0});

  third->publish(std::nullopt);
  EXPECT_EQ(first->best_elsewhere()->head, head(3, 20));
}

TEST(SharedBoard, FindsTheShardOfTheFirstTask) {
  shared_board board(3);
  const std::vector<queue_address> queues{{"t", "q"}, {"t", "r"}, {"t", "unknown"}};
  auto first = board.join({"t", "q"}, shard_id{0});
  auto second = board.join({"t", "q"}, shard_id{1});
  auto third = board.join({"t", "r"}, shard_id{2});
  EXPECT_FALSE(board.first_shard(queues, 0));

  second->publish(head(3, 5000));
  EXPECT_EQ(board.first_shard(queues, 0), shard_id{1});
  third->publish(head(3, 3999));
  EXPECT_EQ(board.first_shard(queues, 0), shard_id{2});
  EXPECT_EQ(board.first_shard(std::span(queues).first(1), 0), shard_id{1});
  first->publish(head(4, 9000));
  EXPECT_EQ(board.first_shard(queues, 1), shard_id{0});
}

TEST(SharedBoard, ShardsWithEqualTasksTakeTurns) {
  shared_board board(3);
  const std::vector<queue_address> queues{{"t", "q"}};
  auto first = board.join(queues[0], shard_id{0});
  auto third = board.join(queues[0], shard_id{2});
  first->publish(head(3, 5000));
  third->publish(head(3, 4000));

  EXPECT_EQ(board.first_shard(queues, 6), shard_id{0});
  EXPECT_EQ(board.first_shard(queues, 7), shard_id{2});
}

TEST(SharedBoard, TurnComesLaterByWhatShardsGiveItsKeyMeanwhile) {
  shared_board board(2);
  auto first = board.join({"t", "q"}, shard_id{0});
  auto second = board.join({"t", "q"}, shard_id{1});
  EXPECT_FALSE(first->has_turns());
  auto credits = second->share_turns(3, "key");
  EXPECT_TRUE(first->has_turns());
  const core::ready_head at_100{3, core::time_of_turn(100)};

  second->publish_turn({at_100, credits.group});
  EXPECT_EQ(first->best_elsewhere()->head, at_100);
  credits.group->add({50, 1, 50});
  EXPECT_EQ(first->best_elsewhere()->head, (core::ready_head{3, core::time_of_turn(150)}));

  second->publish_turn({at_100});
  credits.group->add({90, 1, 50});
  EXPECT_EQ(first->best_elsewhere()->head, at_100);
  second->publish(std::nullopt);
  EXPECT_FALSE(first->best_elsewhere());
}

TEST(SharedBoard, TurnOfARingBeforeItsFirstTimeIsATurn) {
  EXPECT_TRUE(core::is_turn(core::time_of_turn(-10)));
  EXPECT_EQ(core::time_of_turn(-10), core::time_of_turn(0));
}

TEST(SharedBoard, FindsTheShardWhoseTurnComesFirst) {
  shared_board board(2);
  const std::vector<queue_address> queues{{"t", "q"}};
  auto first = board.join(queues[0], shard_id{0});
  auto second = board.join(queues[0], shard_id{1});
  static_cast<void>(first->share_turns(0, "key"));

  first->publish_turn({{0, core::time_of_turn(1500)}});
  second->publish_turn({{0, core::time_of_turn(400)}});
  EXPECT_EQ(board.first_shard(queues, 0), shard_id{1});
  EXPECT_EQ(board.first_shard(queues, 1), shard_id{1});
}

TEST(SharedBoard, ShardThatWaitsForAnotherShowsNoTaskWhileItDoes) {
  shared_board board(2);
  auto first = board.join({"t", "q"}, shard_id{0});
  auto second = board.join({"t", "q"}, shard_id{1});
  auto x = first->share_turns(0, "a/x");
  auto y = second->share_turns(0, "a/y");
  const core::ready_head at_900{0, core::time_of_turn(900)};
  x.key->show(x.here, 0);
  first->publish_turn({at_900});

  second->publish_turn({at_900, nullptr, {y.key, y.here, 5000}});
  EXPECT_FALSE(first->best_elsewhere());
  EXPECT_EQ(board.first_shard(std::vector<queue_address>{{"t", "q"}}, 1), shard_id{0});
  x.key->show(x.here, 4000);
  EXPECT_EQ(first->best_elsewhere()->head, at_900);

  x.key->show(x.here, 0);
  EXPECT_FALSE(first->best_elsewhere());
  first->publish(std::nullopt);
  EXPECT_EQ(first->best_elsewhere()->shard, shard_id{1});
}

TEST(SharedBoard, KeepsQueuesApart) {
  shared_board board(2);
  auto of_q = board.join({"t", "q"}, shard_id{0});
  auto of_r = board.join({"t", "r"}, shard_id{1});
  of_q->publish(head(1, 0));

  EXPECT_FALSE(of_r->best_elsewhere());
}

TEST(SharedBoard, ShowsTheTaskOfOtherCoordinatorsApartFromThoseHere) {
  shared_board board(3);
  const core::rival_head far{{9, timestamp{5'000ms}}, shard_id{2}};
  board.set_far({"t", "q"}, far);
  auto first = board.join({"t", "q"}, shard_id{0});
  auto other = board.join({"t", "r"}, shard_id{0});

  EXPECT_EQ(first->best_far(), far);
  EXPECT_FALSE(first->best_elsewhere());
  EXPECT_FALSE(other->best_far());
  board.set_far({"t", "q"}, {{{3, core::time_of_turn(77)}, shard_id{1}}});
  EXPECT_EQ(first->best_far(), (core::rival_head{{3, core::time_of_turn(0)}, shard_id{1}}));
  board.set_far({"t", "q"}, std::nullopt);
  EXPECT_FALSE(first->best_far());
}

TEST(SharedBoard, FindsAShardOfAnotherCoordinatorWhenItsTaskComesFirst) {
  shared_board board(3);
  const std::vector<queue_address> queues{{"t", "q"}};
  auto first = board.join(queues[0], shard_id{0});
  board.set_far(queues[0], {{{3, timestamp{0ms}}, shard_id{2}}});

  EXPECT_EQ(board.first_shard(queues, 0), shard_id{2});
  first->publish(core::ready_head{3, timestamp{1ms}});
  EXPECT_EQ(board.first_shard(queues, 0), shard_id{0});
  first->publish(core::ready_head{2, timestamp{1ms}});
  EXPECT_EQ(board.first_shard(queues, 0), shard_id{2});
}

TEST(SharedBoard, ListsEachQueueWhoseTaskHasChangedOnce) {
  shared_board board(2, true);
  auto first = board.join({"t", "q"}, shard_id{0});
  auto second = board.join({"t", "q"}, shard_id{1});
  first->publish(head(3, 10));
  second->publish(head(5, 20));
  first->publish(head(4, 10));

  auto changes = board.take_changes();
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].head, (core::rival_head{head(5, 20), shard_id{1}}));
  EXPECT_TRUE(board.take_changes().empty());

  second.reset();
  first.reset();
  changes = board.take_changes();
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].queue, (queue_address{"t", "q"}));
  EXPECT_EQ(changes[0].head, std::nullopt);
}

TEST(SharedBoard, ShardThatLeavesWithdrawsItsTask) {
  shared_board board(2);
  auto first = board.join({"t", "q"}, shard_id{0});
  auto second = board.join({"t", "q"}, shard_id{1});
  second->publish(head(0, 0));
  EXPECT_TRUE(first->best_elsewhere());

  second.reset();

  EXPECT_FALSE(first->best_elsewhere());
}

TEST(SharedBoard, ForgetsQueuesThatAllShardsLeft) {
  shared_board board(2);
  auto kept = board.join({"t", "kept"}, shard_id{0});
  for (int i = 0; i < 1000; ++i)
    static_cast<void>(board.join({"t", std::to_string(i)}, shard_id{0}));

  EXPECT_EQ(board.queues(), 1u);
}

} // namespace
} // namespace codeq::coordinator
