// SPDX-License-Identifier: Apache-2.0
#include "codeq/limits.hpp"

#include "core/commands/routing.hpp"
#include "core/queues/limit_forecast.hpp"
#include "core/state/task_limits.hpp"
#include "support/shard_fixture.hpp"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace codeq::test {
namespace {

using namespace std::chrono_literals;

/// What other definitions of limit `api` would hold back, as this shard knows it.
class LimitForecast : public shard_fixture {
protected:
  LimitForecast() { set_limit("api", limit_definition{.concurrency = 5}); }

  /// The number of waiting tasks of each key, and the room that it has.
  using keys = std::map<std::string, std::pair<std::uint64_t, std::optional<std::uint64_t>>>;

  keys look(const limit_definition& definition) {
    core::limits_answered answer;
    core::forecast_limit(answer, state(), {"default", "api"}, definition);
    is_whole_ = answer.has_all_waiting;
    keys found;
    for (const auto& one : answer.waiting)
      found[one.key] = {one.tasks, one.room};
    return found;
  }

  void add(const std::string& key, std::size_t count) {
    enqueue("q", count, {.limits = {{"api", key, 1}}});
  }

  bool is_whole_ = false;
};

TEST_F(LimitForecast, TasksOfAKeyAreCountedWhetherTheyAreHeldOrNot) {
  attach("w", {"q"});
  claim("w", 6);
  add("a", 8);
  add("b", 2);

  auto found = look({.concurrency = 7});

  EXPECT_EQ(found, (keys{{"a", {3, 2}}, {"b", {1, 6}}}))
    << "5 and 1 are leased; of a 3 are held, of b one waits for a slot";
  EXPECT_TRUE(is_whole_);
  EXPECT_EQ(look({.concurrency = 2}), (keys{{"a", {3, 0}}, {"b", {1, 1}}}));
}

TEST_F(LimitForecast, TasksThatDoNotWaitOrNameAnotherLimitDoNotCount) {
  set_limit("db", limit_definition{.concurrency = 0});
  add("a", 1);
  enqueue("q", 1, {.delay = 1h, .limits = {{"api", "a", 1}}});
  enqueue("q", 1, {.limits = {{"db", "a", 1}}});
  enqueue("q", 3);

  EXPECT_EQ(look({.concurrency = 0}), (keys{{"a", {1, 0}}}));
  EXPECT_TRUE(is_whole_);
  cancel(1);
  EXPECT_EQ(look({.concurrency = 0}), keys{});
  EXPECT_TRUE(is_whole_);
}

TEST_F(LimitForecast, RateAndClosedKeysLeaveLessRoom) {
  set_limit("api", limit_definition{.rate = start_rate{10, 1s, 4}});
  attach("w", {"q"});
  claim("w", 3);
  add("a", 3);
  add("c", 1);
  close_key("api", "c", 1h);

  const limit_definition faster{.rate = start_rate{10, 1s, 6}};
  EXPECT_EQ(look(faster), (keys{{"a", {0, 3}}, {"c", {1, 0}}}));
}

TEST_F(LimitForecast, KeyOfAnotherShardHasTasksButNoRoomHere) {
  constexpr std::uint16_t shards = 4;
  core::open_permits(state(), shards);
  task_limit use{"api", "a", 1};
  while (core::shard_of_limit_key("default", use, shards) == state().id)
    use.key += "a";
  add(use.key, 2);

  EXPECT_EQ(look({.concurrency = 1}), (keys{{use.key, {2, std::nullopt}}}));
  EXPECT_TRUE(is_whole_);
}

TEST_F(LimitForecast, TasksOfOtherShardsThatWaitHereCountThere) {
  auto& keys_in_use = state().limits.keys();
  const auto a = state().limits.place_of("default", {"api", "a", 1});
  keys_in_use.hold({core::first_permit_place, 0, {{a}}, core::first_permit_queue}, {});

  EXPECT_EQ(look({.concurrency = 0}), (keys{{"a", {0, 0}}}));
}

TEST_F(LimitForecast, TasksBeyondThoseLookedAtAreSaidToBe) {
  constexpr std::size_t part = 1000;
  for (std::size_t added = 0; added < limits::limit_forecast_seen_max; added += part)
    add("a", part);
  EXPECT_EQ(look({.concurrency = 0}).at("a").first, limits::limit_forecast_seen_max);
  EXPECT_TRUE(is_whole_);

  add("a", 1);

  EXPECT_EQ(look({.concurrency = 0}).at("a").first, limits::limit_forecast_seen_max);
  EXPECT_FALSE(is_whole_);
}

TEST_F(LimitForecast, TasksThatTheLimitHoldsCountHoweverManyOthersComeFirst) {
  constexpr std::size_t part = 1000;
  for (std::size_t added = 0; added < limits::limit_forecast_seen_max; added += part)
    enqueue("q", part, {.delay = 1h, .limits = {{"api", "a", 1}}});
  attach("w", {"q"});
  claim("w", 6);
  add("a", 8);
  EXPECT_EQ(look({.concurrency = 2}), (keys{{"a", {3, 0}}}));
  EXPECT_TRUE(is_whole_);

  add("b", 2);

  EXPECT_EQ(look({.concurrency = 2}), (keys{{"a", {3, 0}}, {"b", {0, 1}}}))
    << "the task of b that waits for a slot is too far behind";
  EXPECT_FALSE(is_whole_);
}

TEST_F(LimitForecast, KeysWithMostTasksAreNamed) {
  for (std::size_t i = 0; i < limits::limits_page_max; ++i)
    add(std::to_string(i), 1);
  add("most", 2);

  auto found = look({.concurrency = 0});

  EXPECT_EQ(found.size(), limits::limits_page_max);
  EXPECT_EQ(found.at("most").first, 2u);
  EXPECT_FALSE(is_whole_);
}

} // namespace
} // namespace codeq::test
