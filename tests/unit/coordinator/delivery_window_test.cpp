// SPDX-License-Identifier: Apache-2.0
#include "coordinator/session/delivery_window.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace codeq::coordinator {
namespace {

constexpr shard_id left{0};
constexpr shard_id right{1};

/// Tasks 5 and 6 under tokens 50 and 51.
core::tasks_granted tasks_of(std::uint64_t bytes) {
  core::tasks_granted granted;
  granted.bytes = bytes;
  granted.runs.emplace_back();
  granted.runs.back().first = 5;
  granted.runs.back().first_token = fencing_token{50};
  granted.runs.back().count = 2;
  return granted;
}

/// Two shards with 500 bytes each.
class DeliveryWindow : public testing::Test {
protected:
  DeliveryWindow() {
    static_cast<void>(window.take_room(left));
    static_cast<void>(window.take_room(right));
  }

  delivery_window window{2, 1000};
};

TEST(NewDeliveryWindow, GivesEachShardAnEqualShareOnce) {
  delivery_window window(2, 1000);

  EXPECT_EQ(window.take_room(left), 500);
  EXPECT_EQ(window.take_room(left), 0);
  EXPECT_EQ(window.take_room(right), 500);
}

TEST_F(DeliveryWindow, ReturnsRoomWhenTheSocketTookTheTasks) {
  window.sent(left, tasks_of(400), 1400);
  window.sent(right, tasks_of(300), 1700);

  window.written(1399);
  EXPECT_EQ(window.take_room(left), 0);
  window.written(1400);
  EXPECT_EQ(window.take_room(left), 400);
  EXPECT_EQ(window.take_room(right), 0);
  window.written(1700);
  EXPECT_EQ(window.take_room(right), 300);
  EXPECT_FALSE(window.is_waiting());
}

TEST_F(DeliveryWindow, OwesAShardThatMayRunOutOfRoom) {
  window.sent(left, tasks_of(249), 249);
  window.sent(right, tasks_of(250), 499);
  EXPECT_TRUE(window.is_filling());

  window.written(499);

  EXPECT_EQ(window.owed(), std::vector{right});
  EXPECT_TRUE(window.is_filling());
  EXPECT_EQ(window.take_room(right), 250);
  EXPECT_FALSE(window.is_filling());
}

TEST_F(DeliveryWindow, SmallTasksNeedNoRoomReturned) {
  window.sent(left, tasks_of(100), 100);

  EXPECT_FALSE(window.is_filling());
  EXPECT_TRUE(window.is_waiting());
}

TEST_F(DeliveryWindow, ReturnsTheRoomOfTasksThatWillNotBeSent) {
  window.dropped(left, 300);

  EXPECT_EQ(window.owed(), std::vector{left});
  EXPECT_EQ(window.take_room(left), 300);
}

TEST_F(DeliveryWindow, NamesTasksThatWaitForLongOnce) {
  window.sent(left, tasks_of(1), 1);
  EXPECT_TRUE(window.take_late().empty());

  auto late = window.take_late();

  ASSERT_EQ(late.size(), 1u);
  EXPECT_EQ(late[0].shard, left);
  ASSERT_EQ(late[0].leases.size(), 2u);
  EXPECT_EQ(late[0].leases[1].seq, 6u);
  EXPECT_EQ(late[0].leases[1].token, fencing_token{51});
  EXPECT_TRUE(late[0].leases[1].queued);
  EXPECT_TRUE(window.take_late().empty());
}

TEST_F(DeliveryWindow, NamesNoTaskThatTheSocketTook) {
  window.sent(left, tasks_of(1), 1);
  EXPECT_TRUE(window.take_late().empty());
  window.written(1);

  EXPECT_TRUE(window.take_late().empty());
}

TEST_F(DeliveryWindow, BeginsAnewForAShardThatLeft) {
  window.sent(left, tasks_of(400), 1400);
  window.sent(right, tasks_of(300), 1700);

  window.forget(left);

  EXPECT_EQ(window.take_room(left), 500);
  window.written(1700);
  EXPECT_EQ(window.take_room(left), 0);
  EXPECT_EQ(window.take_room(right), 300);
}

} // namespace
} // namespace codeq::coordinator
