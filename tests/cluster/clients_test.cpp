// SPDX-License-Identifier: Apache-2.0
// A producer, a worker and an operator that know one coordinator of three, while another one dies
// under load and comes back.
#include "codeq/operator.hpp"
#include "codeq/producer.hpp"
#include "codeq/worker_node.hpp"

#include "cluster/local_cluster.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace codeq::test {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t batches = 120;
constexpr std::size_t batch_tasks = 50;

/// How often each payload was handled.
class handled_tasks {
public:
  outcome handle(const task& attempt) {
    std::lock_guard lock(mutex_);
    ++times_[std::string(attempt.payload.view())];
    return outcome::completed("done " + std::string(attempt.payload.view()));
  }

  [[nodiscard]] std::size_t count() {
    std::lock_guard lock(mutex_);
    return times_.size();
  }

private:
  std::mutex mutex_;
  std::map<std::string, int> times_;
};

class ClientsOfACluster : public testing::Test {
protected:
  void SetUp() override {
    for (std::size_t i = 0; i < 3; ++i)
      cluster_.start(i);
    ASSERT_TRUE(cluster_.await_in_sync(2, 3)) << logs();
    // The only one that the clients are told of.
    const auto known = cluster_.host(0) + ":" + std::to_string(cluster_.port(0));
    addresses_ = {known};
    auto made = producer::connect({addresses_, "p", 32});
    ASSERT_TRUE(made) << to_string(made.error());
    producer_ = std::move(*made);
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

  void start_worker() {
    worker_node_options options;
    options.coordinators = addresses_;
    options.name = "w";
    options.slots = 16;
    options.handlers.handle("q", [this](const task& attempt) { return handled_.handle(attempt); });
    auto made = worker_node::start(std::move(options));
    ASSERT_TRUE(made) << to_string(made.error());
    worker_ = std::move(*made);
  }

  /// Adds tasks with payloads of their own, some with keys; all have to be acknowledged.
  void enqueue_batch(std::size_t number) {
    std::vector<task_spec> tasks(batch_tasks);
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      tasks[i].queue = "q";
      const auto name = std::to_string(number) + "-" + std::to_string(i);
      tasks[i].payload = name;
      if (number % 2 == 0)
        tasks[i].key = name;
    }
    for (const auto& answer : producer_->enqueue(std::move(tasks), 30s)) {
      ASSERT_TRUE(answer) << to_string(answer.error());
      EXPECT_EQ(answer->kind, enqueue_kind::created);
      EXPECT_TRUE(ids_.insert(answer->id).second) << "an id was given twice";
    }
  }

  void expect_all_completed() {
    for (auto id : ids_) {
      auto end = producer_->await(id, 60s);
      ASSERT_TRUE(end) << to_string(id) << " " << to_string(end.error());
      EXPECT_EQ(end->state, task_state::completed) << end->error_text;
    }
    EXPECT_EQ(handled_.count(), ids_.size());
  }

  local_cluster cluster_{{.coordinators = 3, .replicas = 2}};
  std::vector<std::string> addresses_;
  std::unique_ptr<producer> producer_;
  handled_tasks handled_;
  std::unique_ptr<worker_node> worker_;
  std::set<task_id> ids_;
};

TEST_F(ClientsOfACluster, LoseAndDoubleNothingWhenACoordinatorDies) {
  start_worker();
  std::size_t dying = 2;

  auto longest = 0ms;
  for (std::size_t number = 0; number < batches && !HasFailure(); ++number) {
    if (number == batches / 3)
      cluster_.kill(dying);
    if (number == 2 * batches / 3)
      cluster_.start(dying);
    const auto before = std::chrono::steady_clock::now();
    enqueue_batch(number);
    longest = std::max(
      longest,
      std::chrono::duration_cast<std::chrono::milliseconds>(
        std::chrono::steady_clock::now() - before));
  }
  expect_all_completed();

  std::printf(
    "%zu tasks, all completed, longest enqueue %ld ms\n",
    ids_.size(),
    static_cast<long>(longest.count()));
  EXPECT_EQ(ids_.size(), batches * batch_tasks);
}

TEST_F(ClientsOfACluster, OperatorReachesEveryTaskFromOneAddress) {
  enqueue_batch(1);
  std::set<shard_id> shards;
  for (auto id : ids_)
    shards.insert(id.shard);
  auto made = operator_client::connect({addresses_, 10s});
  ASSERT_TRUE(made) << to_string(made.error());

  for (auto id : ids_) {
    auto status = (*made)->status(id);
    ASSERT_TRUE(status) << to_string(id) << " " << to_string(status.error());
    EXPECT_EQ(status->state, task_state::ready);
  }
}

} // namespace
} // namespace codeq::test
