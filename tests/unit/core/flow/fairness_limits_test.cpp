// SPDX-License-Identifier: Apache-2.0
#include "core/state/queue_fairness.hpp"
#include "support/shard_fixture.hpp"
#include "support/task_builder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <iterator>
#include <sstream>
#include <string>
#include <vector>

namespace codeq::test {
namespace {

using testing::HasSubstr;
using testing::Not;

class FairnessLimits : public shard_fixture {
protected:
  /// The numbers of the tasks in what the shard said; none when it refused them.
  static std::vector<int> tasks_in(const std::string& said) {
    const std::string words = "enqueued ";
    auto at = said.find(words);
    std::istringstream numbers(at == said.npos ? std::string() : said.substr(at + words.size()));
    return {std::istream_iterator<int>(numbers), std::istream_iterator<int>()};
  }

  /// Enqueues a task for each of `count` keys that were not used before.
  std::vector<int> add_keys(const std::string& queue, std::size_t count) {
    std::vector<enqueue_options> tasks(count);
    for (auto& task : tasks)
      task.fairness.key = "key-" + std::to_string(next_++);
    return tasks_in(enqueue_all(queue, tasks));
  }

  /// Uses all keys of the tenant, in two queues; returns some of the tasks.
  std::vector<int> use_all_keys() {
    constexpr std::size_t part = 1000;
    std::vector<int> some;
    for (std::size_t i = 0; i < limits::fairness_keys_max; i += part)
      some = add_keys(i < limits::fairness_keys_max / 2 ? "a" : "b", part);
    return some;
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

  std::uint64_t leased() { return state().find_queue({"default", "q"})->leased; }

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
  auto some = use_all_keys();
  ASSERT_EQ(active(), limits::fairness_keys_max);

  EXPECT_THAT(add("c", "another"), HasSubstr("queue_full"));
  EXPECT_THAT(add("a", "another"), HasSubstr("queue_full"));
  // Keys that are in use may have further tasks, and so may tasks without a key and other tenants.
  EXPECT_THAT(add("a", "key-0"), Not(HasSubstr("queue_full")));
  EXPECT_THAT(enqueue("c"), Not(HasSubstr("queue_full")));
  EXPECT_THAT(add("c", "another", "other"), Not(HasSubstr("queue_full")));
  EXPECT_EQ(active(), limits::fairness_keys_max);
  EXPECT_EQ(state().tenant_fairness.at("other")->active, 1);

  cancel(some.front());
  EXPECT_EQ(active(), limits::fairness_keys_max - 1);
  EXPECT_THAT(add("a", "another"), Not(HasSubstr("queue_full")));
}

TEST_F(FairnessLimits, FollowUpsOverTheMaximumTakeTurnsWithoutAKey) {
  attach("w", {"q"});
  claim("w", 1);
  enqueue("q");
  auto some = use_all_keys();

  complete_with("w", held(1, 1), {follow_up_of("x"), follow_up_of("x"), follow_up_of("y")});
  ASSERT_EQ(active(), limits::fairness_keys_max + 1) << "with the empty one of the queue";
  EXPECT_EQ(fair("q").keys().active(), 1);

  // Now there is room for keys, but while one of them lives, a further task of the key comes behind
  // it.
  for (std::size_t i = 0; i < 3; ++i)
    cancel(some.at(i));
  EXPECT_LT(active(), limits::fairness_keys_max);
  EXPECT_THAT(add("q", "x"), Not(HasSubstr("queue_full")));
  EXPECT_FALSE(fair("q").keys().find("x"));
  EXPECT_EQ(state().find_queue({"default", "q"})->ready, 4);
  claim("w", 4);
  EXPECT_EQ(leased(), 4);

  // Once all have ended it has turns of its own.
  std::vector<int> of_queue;
  state().segments.for_each([&](const core::segment& s) {
    for (std::uint32_t i = 0; i < s.count; ++i)
      if (state().queues[s.queue]->address.queue == "q")
        of_queue.push_back(static_cast<int>(s.first + i - task(0)));
  });
  for (auto number : of_queue)
    force(number, force_kind::complete);
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
  constexpr std::size_t part = 12'000;
  auto before = add_keys("q", part);
  enqueue("q", 2, {.fairness = {"stays", 7}});
  auto after = add_keys("q", part);

  for (const auto* tasks : {&before, &after})
    for (auto task : *tasks)
      cancel(task);

  EXPECT_EQ(active(), 1);
  EXPECT_FALSE(fair("q").keys().is_sparse());
  auto stays = fair("q").keys().find("stays");
  ASSERT_TRUE(stays);
  EXPECT_EQ(fair("q").keys().own_weight(*stays), 7);
  attach("w", {"q"});
  claim("w", 2);
  EXPECT_EQ(leased(), 2);
}

TEST_F(FairnessLimits, IdleKeysOfManyQueuesAreBounded) {
  constexpr std::size_t most = core::queue_fairness::idle_keys_of_tenant_max;
  constexpr std::size_t part = 5000;
  for (std::size_t added = 0; added < most + 2 * part; added += part)
    for (auto task : add_keys("q" + std::to_string(added), part))
      cancel(task);

  EXPECT_EQ(active(), 0);
  EXPECT_GT(state().tenant_fairness.at("default")->idle, 0);
  EXPECT_LE(state().tenant_fairness.at("default")->idle, most);
}

} // namespace
} // namespace codeq::test
