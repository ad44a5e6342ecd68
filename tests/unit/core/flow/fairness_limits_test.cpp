// SPDX-License-Identifier: Apache-2.0
#include "core/state/queue_fairness.hpp"
#include "support/shard_fixture.hpp"
#include "support/task_builder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace codeq::test {
namespace {

using testing::HasSubstr;
using testing::Not;

class FairnessLimits : public shard_fixture {
protected:
  /// Enqueues a task for each of `count` keys that were not used before.
  std::string add_keys(const std::string& queue, std::size_t count) {
    std::vector<enqueue_options> tasks(count);
    for (auto& task : tasks)
      task.fairness.key = "key-" + std::to_string(next_++);
    return enqueue_all(queue, tasks);
  }

  /// Uses all keys of the tenant, in two queues.
  void use_all_keys() {
    constexpr std::size_t part = 1000;
    for (std::size_t i = 0; i < limits::fairness_keys_max; i += part)
      add_keys(i < limits::fairness_keys_max / 2 ? "a" : "b", part);
  }

  std::string add(const std::string& queue, const std::string& key, std::string tenant = {}) {
    enqueue_options options{.fairness = {key}};
    if (!tenant.empty())
      options.tenant = std::move(tenant);
    return enqueue(queue, 1, options);
  }

  core::queue_fairness& fair(const std::string& queue) {
    return *state().find_queue({"default", queue})->fair;
  }

  std::size_t active() { return state().tenant_fairness.at("default")->active; }

  static core::follow_up follow_up_of(const std::string& key) {
    core::enqueue_run run;
    run.queue = {"default", "q"};
    run.tasks = encode_bodies(1, 16);
    run.fairness.key = key;
    return {static_cast<shard_id>(0), run};
  }

  std::size_t next_ = 0;
};

TEST_F(FairnessLimits, EnqueueOverTheMaximumNumberOfATenantsKeysIsRefused) {
  use_all_keys();
  ASSERT_EQ(active(), limits::fairness_keys_max);

  auto refused = add("c", "another");
  EXPECT_THAT(refused, HasSubstr("queue_full"));
  EXPECT_THAT(add("a", "another"), HasSubstr("queue_full"));
  // Keys that are in use may have further tasks, and so may tasks without a key and other tenants.
  EXPECT_THAT(add("a", "key-0"), Not(HasSubstr("queue_full")));
  EXPECT_THAT(enqueue("c"), Not(HasSubstr("queue_full")));
  EXPECT_THAT(add("c", "another", "other"), Not(HasSubstr("queue_full")));
  EXPECT_EQ(active(), limits::fairness_keys_max);
  EXPECT_EQ(state().tenant_fairness.at("other")->active, 1);

  cancel(2);
  EXPECT_THAT(add("c", "another"), Not(HasSubstr("queue_full")));
}

TEST_F(FairnessLimits, FollowUpsOverTheMaximumTakeTurnsWithoutAKey) {
  attach("w", {"q"});
  claim("w", 1);
  enqueue("q");
  use_all_keys();

  complete_with(
    "w", held(1, 1), {follow_up_of("x"), follow_up_of("x"), follow_up_of("y")});
  ASSERT_EQ(active(), limits::fairness_keys_max + 1) << "with the empty one of the queue";
  EXPECT_EQ(fair("q").keys().active(), 1);

  // As long as one of them lives, a further task of the key comes behind it.
  cancel(2);
  cancel(3);
  EXPECT_THAT(add("q", "x"), Not(HasSubstr("queue_full")));
  EXPECT_EQ(fair("q").keys().active(), 1);
  auto last = static_cast<int>(limits::fairness_keys_max) + 5;
  EXPECT_EQ(state_of(last), "ready");
  claim("w", 4);
  EXPECT_EQ(state().find_queue({"default", "q"})->leased, 4);

  // Once all have ended it has turns of its own.
  for (int i = 0; i < 4; ++i)
    complete("w", held(last - 3 + i, 2 + i));
  EXPECT_EQ(fair("q").keys().active(), 0);
  EXPECT_THAT(add("q", "x"), Not(HasSubstr("queue_full")));
  EXPECT_TRUE(fair("q").keys().find("x"));
}

TEST_F(FairnessLimits, TasksOverTheMaximumAreRecovered) {
  attach("w", {"q"});
  claim("w", 1);
  enqueue("q");
  use_all_keys();
  complete_with("w", held(1, 1), {follow_up_of("x"), follow_up_of("y")});

  restart();

  EXPECT_LE(active(), limits::fairness_keys_max + 3);
  EXPECT_EQ(state().find_queue({"default", "q"})->ready, 2);
}

TEST_F(FairnessLimits, KeysOfThePastTakeNoMemory) {
  constexpr int keys = 24'000;
  add_keys("q", keys / 2);
  enqueue("q", 2, {.fairness = {"stays", 7}});
  add_keys("q", keys / 2);

  for (int i = 1; i <= keys + 2; ++i)
    if (i != keys / 2 + 1 && i != keys / 2 + 2)
      cancel(i);

  EXPECT_EQ(active(), 1);
  EXPECT_FALSE(fair("q").keys().is_sparse());
  auto stays = fair("q").keys().find("stays");
  ASSERT_TRUE(stays);
  EXPECT_EQ(fair("q").keys().own_weight(*stays), 7);
  attach("w", {"q"});
  claim("w", 2);
  EXPECT_EQ(state().find_queue({"default", "q"})->leased, 2);
}

TEST_F(FairnessLimits, IdleKeysOfManyQueuesAreBounded) {
  constexpr std::size_t most = core::queue_fairness::idle_keys_of_tenant_max;
  auto number = 1;
  for (std::size_t added = 0; added < most + 10'000; added += 5000) {
    add_keys("q" + std::to_string(added), 5000);
    for (int i = 0; i < 5000; ++i)
      cancel(number++);
  }

  EXPECT_EQ(active(), 0);
  EXPECT_LE(state().tenant_fairness.at("default")->idle, most);
}

} // namespace
} // namespace codeq::test
