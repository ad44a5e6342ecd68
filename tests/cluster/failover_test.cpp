// SPDX-License-Identifier: Apache-2.0
// Three coordinators and one etcd as real processes: one of them dies.
#include "cluster/local_cluster.hpp"
#include "cluster/raw_client.hpp"

#include "base/wall_clock.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace codeq::test {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

constexpr std::size_t tasks_per_shard = 6;
constexpr auto fail_over_max = 3000ms;

/// Everything that was acknowledged of one shard.
struct acknowledged {
  std::vector<sequence> enqueued;
  std::map<sequence, std::string> completed;
  /// The highest token that was granted.
  std::uint64_t token = 0;
};

class FailOver : public testing::TestWithParam<const char*> {
protected:
  void SetUp() override {
    for (std::size_t i = 0; i < 3; ++i)
      cluster_.start(i);
    ASSERT_TRUE(cluster_.await_in_sync(2, 3)) << logs();
    ASSERT_TRUE(await_balance()) << logs();
  }

  /// Waits until each coordinator serves as many shards as the others, so that none moves later.
  bool await_balance() {
    const auto end = steady_clock::now() + 30s;
    auto is_balanced = [&] {
      const auto share = cluster_.shards().size() / 3;
      return shards_of(0).size() == share && shards_of(1).size() == share
             && shards_of(2).size() == share;
    };
    while (!is_balanced() && steady_clock::now() < end)
      std::this_thread::sleep_for(50ms);
    return is_balanced();
  }

  void TearDown() override {
    if (HasFailure())
      std::fprintf(stderr, "%s\n", logs().c_str());
  }

  std::string logs() const {
    std::string all;
    for (std::size_t i = 0; i < 3; ++i)
      all += "--- " + cluster_.name(i) + "\n" + cluster_.log(i);
    return all;
  }

  std::unique_ptr<raw_client> connect(std::size_t coordinator, schema::Role role) {
    return std::make_unique<raw_client>(
      cluster_.host(coordinator), cluster_.port(coordinator), role,
      "client-" + std::to_string(++clients_));
  }

  /// A producer session of today: older ones are taken for expired.
  [[nodiscard]] producer_id producer_of(shard_id shard) const {
    return make_producer_id(began_, 1, 100u + value(shard));
  }

  /// Enqueues into each shard at its primary, and completes a half of that.
  void work() {
    for (const auto& [shard, record] : cluster_.shards())
      ASSERT_NE(await_served(shard, 1, tasks_per_shard), steady_clock::time_point::max())
        << "shard " << value(shard);
    for (std::size_t i = 0; i < 3; ++i)
      complete_at(i, tasks_per_shard * told_.size() / 6);
  }

  /// Claims so many tasks of one coordinator, and completes those that come in time.
  void
  complete_at(std::size_t coordinator, std::size_t count, std::chrono::milliseconds wait = 20s) {
    auto worker = connect(coordinator, schema::Role::WORKER);
    worker->give_credits(static_cast<std::uint32_t>(count));
    for (const auto& task : worker->receive_tasks(count, wait)) {
      auto& shard = told_[task.shard];
      EXPECT_FALSE(shard.completed.contains(task.seq)) << "a completed task is delivered again";
      const auto text = "done " + std::to_string(task.seq);
      if (worker->complete(task, text))
        shard.completed.emplace(task.seq, text);
      shard.token = std::max(shard.token, task.token);
    }
  }

  std::vector<shard_id> shards_of(std::size_t coordinator) {
    std::vector<shard_id> shards;
    for (const auto& [shard, record] : cluster_.shards())
      if (cluster_.primary_of(record) == coordinator)
        shards.push_back(shard);
    return shards;
  }

  /// Enqueues into a shard at whichever coordinator serves it, until that is acknowledged.
  steady_clock::time_point
  await_served(shard_id shard, std::uint64_t number, std::size_t tasks = 1) {
    const auto end = steady_clock::now() + 20s;
    while (steady_clock::now() < end) {
      const auto records = cluster_.shards();
      const auto at = cluster_.primary_of(records.at(shard));
      if (at && cluster_.is_up(*at)) {
        auto producer = connect(*at, schema::Role::PRODUCER);
        if (auto seqs = producer->enqueue(shard, producer_of(shard), number, tasks, 100ms)) {
          auto& all = told_[shard].enqueued;
          all.insert(all.end(), seqs->begin(), seqs->end());
          return steady_clock::now();
        }
      }
      std::this_thread::sleep_for(10ms);
    }
    return steady_clock::time_point::max();
  }

  /// Everything acknowledged of these shards is at their primaries now, as it was acknowledged.
  void expect_nothing_lost(const std::vector<shard_id>& shards) {
    const auto records = cluster_.shards();
    for (auto shard : shards) {
      auto producer =
        connect(cluster_.primary_of(records.at(shard)).value(), schema::Role::PRODUCER);
      const auto& told = told_.at(shard);
      auto again = producer->enqueue(shard, producer_of(shard), 1, tasks_per_shard);
      ASSERT_TRUE(again);
      EXPECT_TRUE(std::equal(again->begin(), again->end(), told.enqueued.begin()));
      for (const auto& [seq, text] : told.completed)
        EXPECT_EQ(producer->result_of(shard, seq), text) << "shard " << value(shard);
    }
  }

  [[nodiscard]] std::size_t left_of(const std::vector<shard_id>& shards) {
    std::size_t left = 0;
    for (auto shard : shards)
      left += told_[shard].enqueued.size() - told_[shard].completed.size();
    return left;
  }

  /// Completes everything that is left, with tokens that are higher than all before. Shards move
  /// meanwhile, since the cluster spreads its primaries again.
  void expect_all_complete(std::size_t without) {
    const auto end = steady_clock::now() + 40s;
    for (bool is_left = true; is_left && steady_clock::now() < end;) {
      is_left = false;
      for (std::size_t i = 0; i < 3; ++i) {
        auto left = i == without ? 0 : left_of(shards_of(i));
        is_left = is_left || left > 0;
        if (left > 0)
          complete_at(i, left, 2s);
      }
    }
    for (const auto& [shard, told] : told_)
      EXPECT_EQ(told.completed.size(), told.enqueued.size()) << "shard " << value(shard);
  }

  local_cluster cluster_{{.durability = GetParam()}};
  std::map<shard_id, acknowledged> told_;
  int clients_ = 0;
  timestamp began_ = base::wall_now();
};

TEST_P(FailOver, ShardsOfAKilledCoordinatorAreServedByOthersInTimeWithEverythingAcknowledged) {
  ASSERT_NO_FATAL_FAILURE(work());
  const std::size_t victim = cluster_.primary_of(cluster_.shards().at(shard_id{0})).value();
  const auto moved = shards_of(victim);
  ASSERT_FALSE(moved.empty());
  const auto tokens = told_;

  cluster_.kill(victim);
  const auto killed = steady_clock::now();
  auto longest = 0ms;
  for (auto shard : moved) {
    const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(
      await_served(shard, 2) - killed);
    longest = std::max(longest, took);
  }

  std::printf(
    "fail-over of %zu shards: %ld ms\n", moved.size(), static_cast<long>(longest.count()));
  EXPECT_LT(longest, fail_over_max);
  expect_nothing_lost(moved);
  expect_all_complete(victim);
  for (auto shard : moved)
    EXPECT_GT(told_[shard].token, tokens.at(shard).token);

  cluster_.start(victim);
  EXPECT_TRUE(cluster_.await_in_sync(2, 2));
}

INSTANTIATE_TEST_SUITE_P(
  Durability, FailOver, testing::Values("sync", "os"), [](const auto& mode) {
    return std::string(mode.param);
  });

} // namespace
} // namespace codeq::test
