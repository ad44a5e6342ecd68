// SPDX-License-Identifier: Apache-2.0
#include "core/commands/routing.hpp"
#include "core/state/task_limits.hpp"
#include "support/shard_fixture.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

/// Surpluses of attempts that cost less than their tasks say.
namespace codeq::test {
namespace {

using namespace std::chrono_literals;

/// Tasks of one limit key, of which a worker with many slots takes what it gets. The limit has a
/// rate only once a test gives it one: then 10 starts a second.
class LimitCosts : public shard_fixture {
protected:
  LimitCosts() {
    set_limit("api", limit_definition{.concurrency = 100});
    attach_worker();
  }

  void attach_worker() {
    attach("w", {"q"});
    claim("w", 50);
  }

  void add(std::uint32_t cost, int count = 1) {
    for (; count > 0; --count)
      enqueue("q", 1, {.limits = {{"api", key_, cost}}});
  }

  void limit_rate(std::uint32_t burst) {
    set_limit("api", limit_definition{.rate = start_rate{10, 1s, burst}});
    advance(1ms);
  }

  /// The task ends, and cost nothing.
  void end_free(int number) {
    core::lease_report ended;
    ended.how = disposition::completed;
    ended.costs = {{"api", {}, 0}};
    report("w", {task(number), entry_of(number).token}, ended);
  }

  /// The numbers of the tasks that are leased.
  [[nodiscard]] std::vector<int> running(int tasks) const {
    std::vector<int> found;
    for (int i = 1; i <= tasks; ++i)
      if (state_of(i) == "leased")
        found.push_back(i);
    return found;
  }

  /// From now on there is another shard, to which this one gives permits of the key.
  void open_permits() {
    core::open_permits(state(), 2);
    while (core::shard_of_limit_key("default", {"api", key_, 1}, 2) != state().id)
      key_ += "a";
  }

  /// The other shard gets a permit of that cost.
  void give_permit(std::uint32_t cost) {
    core::ask_permits asked{other_, 1, 1};
    asked.is_list = true;
    asked.wanted.push_back({permit_, "default", {{"api", key_, cost}}});
    decide(asked);
    ASSERT_TRUE(state().lent.of(other_).booked.contains(permit_));
  }

  /// It returns the permit unspent.
  void return_permit() {
    core::ask_permits asked{other_, 1, 2};
    asked.returned.push_back({permit_, {}, true});
    decide(asked);
    ASSERT_TRUE(state().lent.of(other_).booked.empty());
  }

  using numbers = std::vector<int>;

private:
  static constexpr shard_id other_{1};
  static constexpr core::permit_number permit_ = 21;
  std::string key_ = "a";
};

TEST_F(LimitCosts, SurplusComesBack) {
  limit_rate(10);
  add(10, 2);
  ASSERT_EQ(running(2), numbers{1});

  end_free(1);

  EXPECT_EQ(running(2), numbers{2});
}

TEST_F(LimitCosts, SurplusComesBackAfterARestart) {
  limit_rate(10);
  add(10, 2);
  restart();
  attach_worker();
  ASSERT_EQ(running(2), numbers{1});

  end_free(1);

  EXPECT_EQ(running(2), numbers{2});
}

TEST_F(LimitCosts, SurplusOfAStartBeforeTheRateIsIgnored) {
  add(1000, 3);
  limit_rate(1);
  add(1, 3);
  ASSERT_EQ(running(6), (numbers{1, 2, 3, 4}));

  for (int number : {1, 2, 3})
    end_free(number);

  EXPECT_EQ(running(6), numbers{4}) << "nothing was charged that could come back";
  advance(100ms);
  EXPECT_EQ(running(6), (numbers{4, 5}));
}

TEST_F(LimitCosts, SurplusOfAStartBeforeTheRateIsIgnoredAfterARestart) {
  add(1000, 2);
  limit_rate(1);
  add(1, 2);
  restart();
  attach_worker();
  ASSERT_EQ(running(4), (numbers{1, 2, 3}));

  end_free(1);

  EXPECT_EQ(running(4), (numbers{2, 3}));
}

TEST_F(LimitCosts, SurplusOfAStartBeforeTheRateWasForgottenIsIgnored) {
  limit_rate(1);
  add(1000);
  set_limit("api", limit_definition{.concurrency = 100});
  advance(1ms);
  limit_rate(1);
  add(1, 2);
  ASSERT_EQ(running(3), (numbers{1, 2}));

  end_free(1);

  EXPECT_EQ(running(3), numbers{2});
}

TEST_F(LimitCosts, SurplusOfAPermitComesBack) {
  open_permits();
  limit_rate(1);
  give_permit(100);
  add(1);
  ASSERT_EQ(running(1), numbers{});

  return_permit();

  EXPECT_EQ(running(1), numbers{1});
}

TEST_F(LimitCosts, SurplusOfAPermitBeforeTheRateIsIgnored) {
  open_permits();
  give_permit(100);
  limit_rate(1);
  add(1, 2);
  ASSERT_EQ(running(2), numbers{1});

  return_permit();

  EXPECT_EQ(running(2), numbers{1});
  advance(100ms);
  EXPECT_EQ(running(2), (numbers{1, 2}));
}

} // namespace
} // namespace codeq::test
