// SPDX-License-Identifier: Apache-2.0
// A producer's window while shards of a cluster do not answer, because they wait for other copies.
#include "codeq/limits.hpp"

#include "client/enqueue_outbox.hpp"
#include "core/commands/routing.hpp"
#include "unit/client/sent_request.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace codeq::client {
namespace {

constexpr store_identity the_store{1, 4};
constexpr shard_id s0{0};
constexpr shard_id s1{1};
constexpr shard_id s2{2};
constexpr shard_id s3{3};

/// A key that belongs to the shard.
std::string key_of(shard_id shard) {
  for (std::size_t i = 0;; ++i)
    if (auto key = "k" + std::to_string(i);
        core::shard_of_name({"default", "q"}, key, the_store.shard_count) == shard)
      return key;
}

/// An outbox with a window of 8 that is connected with all 4 shards of a cluster.
class SharedWindow : public testing::Test {
protected:
  SharedWindow() : box_({.in_flight_max = 8, .new_session = [] { return producer_id{7, 0}; }}) {
    box_.connect(
      enqueue_outbox::way{
        [this](shard_id, const protocol::enqueue_request& frame) {
          sent_.push_back(read_sent(frame));
        },
        [this](shard_id shard) { return !away_.contains(shard); }},
      the_store);
  }

  /// Enqueues a task that belongs to the shard, or that any may have.
  void submit(std::optional<shard_id> to = std::nullopt) {
    std::vector<task_spec> tasks(1);
    tasks[0].queue = "q";
    if (to)
      tasks[0].key = key_of(*to);
    auto encoded = protocol::encoded_tasks::encode(tasks);
    ASSERT_TRUE(encoded);
    last_tasks_ = std::make_shared<const protocol::encoded_tasks>(std::move(*encoded));
    last_ = box_.submit(last_tasks_, [this](const result<enqueue_answers>& answer) {
      const auto is_added = answer && answer->front();
      ++(is_added ? added_ : failed_);
    });
  }

  void submit(std::size_t count, shard_id to) {
    for (std::size_t i = 0; i < count; ++i)
      submit(to);
  }

  void answer(const sent_request& to) {
    auto accepted = box_.accept(protocol::enqueue_reply::build([&](auto root) {
      root.setNumber(to.number);
      root.setShard(to.shard);
      auto runs = root.initTasks(1);
      runs[0].setFirst(to.number);
      runs[0].setCount(to.tasks);
    }));
    ASSERT_TRUE(accepted) << to_string(accepted.error());
  }

  [[nodiscard]] std::ptrdiff_t sent_to(shard_id shard) const {
    return std::count_if(sent_.begin(), sent_.end(), [shard](const sent_request& one) {
      return shard_id{one.shard} == shard;
    });
  }

  enqueue_outbox box_;
  std::vector<sent_request> sent_;
  /// The shards that are not reached.
  std::set<shard_id> away_;
  enqueue_outbox::tasks_ptr last_tasks_;
  /// Number of the latest call of `submit`.
  std::uint64_t last_ = 0;
  int added_ = 0;
  int failed_ = 0;
};

TEST_F(SharedWindow, ShardThatDoesNotAnswerHoldsUpNoOther) {
  submit(20, s0);
  EXPECT_EQ(sent_to(s0), 4);

  submit(3, s1);
  EXPECT_EQ(sent_to(s1), 2);
  answer(sent_.back());

  EXPECT_EQ(sent_to(s1), 3);
  EXPECT_EQ(sent_to(s0), 4);
}

TEST_F(SharedWindow, EveryShardHasOnePlaceInAnyCase) {
  submit(20, s0);
  submit(20, s1);
  submit(20, s2);
  EXPECT_EQ(sent_to(s0) + sent_to(s1) + sent_to(s2), 7);

  submit(20, s3);
  for (int i = 0; i < 20; ++i) {
    ASSERT_EQ(sent_to(s3), i + 1);
    answer(sent_.back());
  }

  EXPECT_EQ(added_, 20);
}

TEST_F(SharedWindow, RequestsOfAShardAreSentInOrderWhenItAnswers) {
  submit(20, s0);

  for (std::size_t i = 0; i < 20; ++i) {
    ASSERT_LT(i, sent_.size());
    EXPECT_EQ(sent_[i].number, i + 1);
    answer(std::vector(sent_)[i]);
  }

  EXPECT_EQ(added_, 20);
}

TEST_F(SharedWindow, TasksThatAnyShardMayHaveGoToOneWithRoom) {
  submit(20, s0);

  for (std::size_t i = 0; i < 40; ++i) {
    submit();
    ASSERT_EQ(sent_.size(), 4 + i + 1);
    answer(sent_.back());
  }

  EXPECT_EQ(sent_to(s0), 4);
  EXPECT_EQ(added_, 40);
}

TEST_F(SharedWindow, TasksThatAnyShardMayHaveWaitOnceAllShardsAreFull) {
  for (int i = 0; i < 40; ++i)
    submit();
  EXPECT_LT(sent_.size(), 9u);

  for (std::size_t i = 0; i < sent_.size(); ++i)
    answer(std::vector(sent_)[i]);

  EXPECT_EQ(added_, 40);
}

TEST_F(SharedWindow, NumbersRunOnWhileAShardDoesNotAnswer) {
  submit(s0);
  const auto oldest = sent_.back();
  const auto many = 2 * limits::producer_requests_max;

  for (std::size_t i = 0; i < many; ++i) {
    submit(i % 2 == 0 ? s1 : s2);
    ASSERT_EQ(sent_.back().number, i + 2);
    EXPECT_EQ(sent_.back().answered_below, sent_.back().number);
    answer(sent_.back());
  }

  // The shard itself remembers no more answers.
  submit(s0);
  EXPECT_EQ(sent_to(s0), 1);
  answer(oldest);
  EXPECT_EQ(sent_to(s0), 2);
  EXPECT_EQ(sent_.back().answered_below, sent_.back().number);
}

TEST_F(SharedWindow, ShardIsToldOfItsOwnAnswersOnly) {
  submit(s0);
  submit(s1);
  submit(s1);
  EXPECT_EQ(sent_[1].answered_below, 2u);
  EXPECT_EQ(sent_[2].answered_below, 2u) << "request 2 is not answered";

  submit(s0);

  EXPECT_EQ(sent_[3].answered_below, 1u);
}

TEST_F(SharedWindow, ShardThatIsNotReachedIsNamedForWhatWaitsForIt) {
  away_ = {s1, s2};
  submit(s0);
  EXPECT_EQ(box_.unreached_shard(last_tasks_), std::optional<shard_id>());
  EXPECT_EQ(box_.unreached_shard(), std::optional<shard_id>());

  submit(s2);
  EXPECT_EQ(box_.unreached_shard(last_tasks_), std::optional(s2));
  EXPECT_EQ(box_.unreached_shard(), std::optional(s2));

  submit(s1);
  EXPECT_EQ(box_.unreached_shard(last_tasks_), std::optional(s1));
  EXPECT_EQ(box_.unreached_shard(), std::optional(s1));
}

TEST_F(SharedWindow, ShardThatWasLostIsNamedForWhatItWasSent) {
  submit(s0);

  away_ = {s0};

  EXPECT_EQ(box_.unreached_shard(last_tasks_), std::optional(s0));
  EXPECT_FALSE(box_.withdraw(last_, {errc::disconnected, {}})) << "it was sent";
}

TEST_F(SharedWindow, WhatWasNotSentIsWithdrawnByItsNumber) {
  away_ = {s1};
  submit(s1);

  EXPECT_TRUE(box_.withdraw(last_, {errc::disconnected, {}}));
  EXPECT_FALSE(box_.withdraw(last_, {errc::disconnected, {}})) << "it has ended";

  EXPECT_EQ(failed_, 1);
  away_.clear();
  const std::vector<shard_id> shards{s1};
  box_.resend(shards);
  EXPECT_TRUE(sent_.empty());
}

TEST_F(SharedWindow, WhatWaitsForItsShardEndsWithTheRest) {
  submit(20, s0);
  EXPECT_TRUE(box_.withdraw(last_tasks_, {errc::disconnected, {}}));
  EXPECT_EQ(failed_, 1);

  box_.fail_all({errc::going_away, "stopped"});

  EXPECT_EQ(failed_, 20);
}

} // namespace
} // namespace codeq::client
