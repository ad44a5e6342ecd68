// SPDX-License-Identifier: Apache-2.0
#include "core/state/depth_book.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace codeq::core {
namespace {

using namespace std::chrono_literals;

/// The book of a shard that counts the depth of one queue for two others.
class DepthBook : public testing::Test {
protected:
  void book(shard_id asker, permit_number life, std::uint64_t booked, std::uint64_t granted = 0) {
    permit what{life, counted_.tenant, {{std::string(depth_limit), counted_.queue, 1}}};
    what.booked = booked;
    what.granted = granted;
    book_.book(asker, what);
  }

  depth_book::count& count() { return *book_.find(counted_); }

  const queue_address counted_{"t", "q"};
  const shard_id one_{1};
  const shard_id two_{2};
  depth_book book_;
  const monotonic_time now_{1h};
};

TEST_F(DepthBook, BookingsAreReplacedAndSummed) {
  book(one_, 11, 5, 2);
  book(two_, 21, 7);
  book(one_, 11, 4, 3);

  EXPECT_EQ(book_.total(counted_), 11u);
  EXPECT_EQ(book_.find(counted_, one_)->granted, 3u);
  EXPECT_EQ(book_.total({"t", "other"}), 0u);
  EXPECT_EQ(book_.find(counted_, shard_id{3}), nullptr);
}

TEST_F(DepthBook, NextLifeTakesThePlaceOfTheLastOne) {
  book(one_, 11, 5, 2);
  book(one_, 12, 3);

  book_.free(one_, 11);

  EXPECT_EQ(book_.total(counted_), 3u);
  EXPECT_EQ(book_.find(counted_, one_)->life, 12u);
}

TEST_F(DepthBook, LastBookingThatIsFreedLeavesNothing) {
  book(one_, 11, 5);
  book_.free(two_, 11);
  EXPECT_EQ(book_.total(counted_), 5u);

  book_.free(one_, 11);

  EXPECT_EQ(std::as_const(book_).find(counted_), nullptr);
}

TEST_F(DepthBook, ShardKeepsItsPlaceInTheLine) {
  book_.ask(counted_, {one_, 3, 1});
  book_.ask(counted_, {two_, 1, 1});
  book_.ask(counted_, {one_, 4, 2});

  ASSERT_EQ(count().line.size(), 2u);
  EXPECT_EQ(count().line[0].asker, one_);
  EXPECT_EQ(count().line[0].wants, 4u);
  EXPECT_EQ(count().line[0].ask, 2u);
  EXPECT_EQ(book_.waiting(), std::vector{counted_});
}

TEST_F(DepthBook, RecallEndsWhenNobodyWaits) {
  book_.ask(counted_, {one_, 3, 1});
  count().is_recalling = true;

  book_.leave(counted_, one_);

  EXPECT_FALSE(count().is_recalling);
  EXPECT_TRUE(book_.waiting().empty());
  EXPECT_EQ(book_.next_look(), std::nullopt);
}

TEST_F(DepthBook, RecallIsOverWhenAllHaveAnsweredIt) {
  book(one_, 11, 5);
  book_.ask(counted_, {two_, 3, 1});
  count().recall = 9;
  count().recall_until = now_ + depth_book::recall_wait;
  count().silent_until = now_ + depth_book::silent_wait;
  count().unanswered = {one_, two_};

  book_.note_answer(counted_, one_, 8);
  book_.note_answer(counted_, two_, 9);
  EXPECT_FALSE(count().is_recall_over(now_)) << "the answer was to another recall";
  EXPECT_TRUE(count().is_recall_over(now_ + depth_book::recall_wait));

  book_.note_answer(counted_, one_, 9);
  EXPECT_TRUE(count().is_recall_over(now_));
}

TEST_F(DepthBook, ShardsThatDidNotAnswerBeforeAreWaitedForLess) {
  book(one_, 11, 5);
  count().recall_until = now_ + depth_book::recall_wait;
  count().silent_until = now_ + depth_book::silent_wait;
  count().silent = {one_};
  count().unanswered = {one_};

  EXPECT_FALSE(count().is_recall_over(now_));
  EXPECT_TRUE(count().is_recall_over(now_ + depth_book::silent_wait));
  count().unanswered.insert(two_);
  EXPECT_FALSE(count().is_recall_over(now_ + depth_book::silent_wait));
}

TEST_F(DepthBook, AnotherMaximumLeavesBookingsOnly) {
  book(one_, 11, 5);
  book_.ask(counted_, {two_, 3, 1});
  count().are_all_asked = true;

  book_.drop(counted_);

  EXPECT_EQ(book_.total(counted_), 5u);
  EXPECT_TRUE(count().line.empty());
  EXPECT_FALSE(count().are_all_asked);
  EXPECT_TRUE(count().is_doubtful);
  book_.free(one_, 11);
  EXPECT_EQ(std::as_const(book_).find(counted_), nullptr);
}

TEST_F(DepthBook, BookingsOfARemovedQueueAreFreedAtOnce) {
  book_.abandon(counted_);
  EXPECT_EQ(book_.next_look(), std::nullopt) << "nothing is booked";
  book(one_, 11, 5);

  book_.abandon(counted_);

  EXPECT_EQ(book_.next_look(), monotonic_time{});
  EXPECT_EQ(book_.take_abandoned(), std::set{counted_});
  EXPECT_EQ(book_.next_look(), std::nullopt);
}

TEST_F(DepthBook, RecallsOfLaterProcessesHaveGreaterNumbers) {
  const auto first = book_.next_recall(4);
  EXPECT_GT(book_.next_recall(4), first);

  depth_book next;
  EXPECT_GT(next.next_recall(5), book_.next_recall(4));
}

TEST_F(DepthBook, ProcessHasMoreRecallsThanThirtyTwoBitsCount) {
  depth_book next;
  const auto first_of_next = next.next_recall(5);

  EXPECT_GT(first_of_next - book_.next_recall(4), std::uint64_t{1} << 39);
}

} // namespace
} // namespace codeq::core
