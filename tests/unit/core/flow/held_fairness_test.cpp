// SPDX-License-Identifier: Apache-2.0
#include "support/shard_fixture.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

namespace codeq::test {
namespace {

using namespace std::chrono_literals;

/// Tasks with fairness keys of which a limit lets one run at a time.
class HeldFairness : public shard_fixture {
protected:
  HeldFairness() {
    set_limit("api", limit_definition{.concurrency = 1});
    attach("w", {"q"});
    claim("w", 100'000);
  }

  void add(const std::string& key, std::size_t count, enqueue_options options = {}) {
    options.fairness.key = key;
    if (options.limits.empty())
      options.limits = {{"api", "", 1}};
    for (; count > 0; --count) {
      enqueue("q", 1, options);
      key_of_[++last_] = key;
    }
  }

  /// The number of the first task from `first` on that runs; 0 when there is none.
  [[nodiscard]] int running(int first = 1) const {
    for (int i = first; i <= last_; ++i)
      if (state_of(i) == "leased")
        return i;
    return 0;
  }

  [[nodiscard]] core::task_lease lease_of(int number) const {
    return {task(number), entry_of(number).token};
  }

  /// Lets tasks run to their ends, each for as long as its key's do. Returns their keys.
  std::string run(int count) {
    std::string keys;
    for (; count > 0 && running() != 0; --count) {
      auto number = running();
      const auto& key = key_of_.at(number);
      keys += key.empty() ? "-" : key;
      advance(runs_.contains(key) ? runs_.at(key) : 1ms);
      complete("w", lease_of(number));
    }
    return keys;
  }

  [[nodiscard]] static auto count(const std::string& text, char c) {
    return std::count(text.begin(), text.end(), c);
  }

  std::map<int, std::string> key_of_;
  std::map<std::string, duration> runs_;
  int last_ = 0;
};

TEST_F(HeldFairness, SmallCustomerIsNotBehindAFlood) {
  add("f", 50);
  add("s", 3);

  EXPECT_EQ(count(run(8), 's'), 3);
}

TEST_F(HeldFairness, HigherPriorityComesFirst) {
  add("f", 5);
  add("s", 1, {.priority = 1});

  EXPECT_EQ(run(3), "fsf");
}

TEST_F(HeldFairness, KeyWhoseTasksRunTenTimesLongerGetsATenthOfTheStarts) {
  runs_ = {{"f", 1000ms}, {"s", 100ms}};
  add("f", 60);
  add("s", 100);
  run(20);

  auto keys = run(55);

  EXPECT_NEAR(static_cast<double>(count(keys, 'f')), 5, 1.5);
}

TEST_F(HeldFairness, WeightOfTheSettingsHoldsForHeldTasksAtOnce) {
  add("f", 40);
  add("s", 40);
  run(4);
  configure("q", {.fairness_weights = {{"s", 3}}});

  auto keys = run(40);

  EXPECT_NEAR(static_cast<double>(count(keys, 's')), 30, 3);
}

TEST_F(HeldFairness, TasksOfBeforeTheFirstKeyHaveTheEmptyOne) {
  add("", 4);
  add("a", 2);

  EXPECT_EQ(run(6), "--a-a-");
}

TEST_F(HeldFairness, CancelledTaskIsHeldNoMore) {
  add("f", 3);
  add("s", 2);
  cancel(4);

  EXPECT_EQ(run(5), "ffsf");
}

TEST_F(HeldFairness, TasksThatAnotherLimitHoldsGetTheirTurnsBack) {
  set_limit("db", limit_definition{.concurrency = 1});
  add("x", 1, {.limits = {{"db", "", 1}}});
  add("f", 20);
  add("s", 10, {.limits = {{"api", "", 1}, {"db", "", 1}}});
  // Tasks of "s" that the first limit lets go are held by the second one, which is no turn of
  // theirs.
  for (int i = 0; i < 5; ++i)
    complete("w", lease_of(running(2)));
  complete("w", lease_of(1));

  auto keys = run(10);
  EXPECT_NEAR(static_cast<double>(count(keys, 's')), 5, 1);
}

TEST_F(HeldFairness, TurnsGoOnAfterARestart) {
  add("f", 20);
  add("s", 3);
  restart();
  attach("w", {"q"});
  claim("w", 100);

  EXPECT_EQ(count(run(9), 's'), 3);
}

TEST_F(HeldFairness, ManyCustomersOfOneTenantShareItsTurns) {
  for (char c = 'a'; c < 'k'; ++c)
    add(std::string("t/") + c, 5);
  add("u", 10);
  run(1);

  auto keys = run(19);

  EXPECT_NEAR(static_cast<double>(count(keys, 'u')), 10, 1);
}

} // namespace
} // namespace codeq::test
