// SPDX-License-Identifier: Apache-2.0
// A tenant's enqueues at the gateway of a cluster, of which one shard does not answer.
#include "codeq/limits.hpp"

#include "core/commands/routing.hpp"
#include "http/desk/enqueue_desk.hpp"
#include "http/server/gateway_limits.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace codeq::http {
namespace {

constexpr client::store_identity the_store{1, 4};
constexpr shard_id s0{0};
constexpr shard_id s1{1};

/// A group that belongs to the shard.
std::string group_of(shard_id shard) {
  for (std::size_t i = 0;; ++i)
    if (auto group = "g" + std::to_string(i);
        core::shard_of_name({"acme", "q"}, group, the_store.shard_count) == shard)
      return group;
}

class EnqueueDesk : public testing::Test {
protected:
  void start(bool is_in_cluster, std::uint64_t bytes_max = limits::enqueue_bytes_default) {
    enqueue_desk::options options;
    options.new_session = [] { return producer_id{7, 0}; };
    options.send = [this](
                     shard_id shard, const protocol::enqueue_request&,
                     const coordinator::enqueue_share&) { ++sent_[shard]; };
    options.store = the_store;
    options.meter = meter_;
    options.shares = std::make_shared<coordinator::enqueue_shares>(bytes_max, meter_);
    if (is_in_cluster)
      options.reaches = [this](shard_id shard) { return !away_.contains(shard); };
    desk_.start(std::move(options));
  }

  /// Enqueues a task of the shard; its ticket is empty when it is refused at once.
  enqueue_ticket enqueue(shard_id to) {
    task_spec task;
    task.tenant = "acme";
    task.queue = "q";
    task.group = group_of(to);
    task.payload = payload_;
    return desk_.submit("acme", task, [this](const result<enqueued_task>& answer) {
      refusals_.push_back(to_string(answer.error()));
    });
  }

  /// Enqueues until one is refused; returns the number of the others.
  std::size_t fill(shard_id to) {
    std::size_t count = 0;
    while (enqueue(to).submission != 0)
      ++count;
    return count;
  }

  std::shared_ptr<observe::limit_meter> meter_ = std::make_shared<observe::limit_meter>();
  std::string payload_;
  std::map<shard_id, std::size_t> sent_;
  /// The shards that are not reached.
  std::set<shard_id> away_;
  std::vector<std::string> refusals_;
  enqueue_desk desk_;
};

TEST_F(EnqueueDesk, ShardThatDoesNotAnswerLeavesPlacesForOthers) {
  start(true);

  EXPECT_EQ(fill(s0), limits::http_enqueues_open_max / 2);
  EXPECT_EQ(
    refusals_,
    std::vector<std::string>{
      "overloaded: shard 0 has 2048 of 2048 enqueues of tenant acme at the gateway that are not "
      "answered yet; the shards share http_enqueues_open_max=4096"});
  EXPECT_EQ(meter_->counts()["http_enqueues_open_max"], 1u);

  EXPECT_NE(enqueue(s1).submission, 0u);
  EXPECT_EQ(sent_[s1], 1u) << "it does not wait behind those of the other shard";
}

TEST_F(EnqueueDesk, ShardThatDoesNotAnswerLeavesBytesForOthers) {
  start(true, limits::enqueue_bytes_min);
  payload_ = std::string(limits::payload_bytes_max, 'x');

  // The tenant may have half of the 64 MiB, and the shard a third: each leaves free what it has.
  EXPECT_EQ(fill(s0), 21u);
  EXPECT_NE(refusals_.back().find("; shard 0 has "), std::string::npos) << refusals_.back();
  EXPECT_EQ(meter_->counts()["enqueue_bytes_max"], 1u);

  EXPECT_GT(fill(s1), 5u);
}

TEST_F(EnqueueDesk, PlaceOfAShardIsFreeAgainOnceAnEnqueueHasEnded) {
  start(true);
  const auto first = enqueue(s0);
  fill(s0);

  desk_.give_up(first, {errc::timeout, "late"});

  EXPECT_EQ(fill(s0), 1u);
}

TEST_F(EnqueueDesk, EnqueueThatWaitsForItsShardIsWithdrawn) {
  start(true);
  away_ = {s1};
  const auto sent = enqueue(s0);
  const auto waiting = enqueue(s1);
  EXPECT_EQ(waiting.shard, std::optional(s1));

  EXPECT_FALSE(desk_.withdraw(sent, {errc::disconnected, "away"}));
  EXPECT_TRUE(desk_.withdraw(waiting, {errc::disconnected, "away"}));
  EXPECT_FALSE(desk_.withdraw({}, {errc::disconnected, "away"}));

  EXPECT_EQ(refusals_, std::vector<std::string>{"disconnected: away"});
  EXPECT_EQ(sent_[s1], 0u);
}

TEST_F(EnqueueDesk, CoordinatorThatIsAloneGivesOneShardAllPlaces) {
  start(false);

  const auto first = enqueue(s0);

  EXPECT_EQ(first.shard, std::optional<shard_id>());
  EXPECT_EQ(fill(s0), limits::http_enqueues_open_max - 1);
}

} // namespace
} // namespace codeq::http
