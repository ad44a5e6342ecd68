// SPDX-License-Identifier: Apache-2.0
#include "codeq/limits.hpp"

#include "core/commands/routing.hpp"
#include "core/queues/limit_counts.hpp"
#include "core/state/task_limits.hpp"
#include "support/shard_fixture.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace codeq::test {
namespace {

/// One of four shards. Limit `api` lets one task of each key run at a time.
class LimitCounts : public shard_fixture {
protected:
  LimitCounts() {
    core::open_permits(state(), shards);
    set_limit("api", limit_definition{.concurrency = 1});
    attach("w", {"q"});
    claim("w", 10);
  }

  /// A key that begins with the text and that this shard owns, or another one.
  std::string key_of(std::string text, bool is_own) {
    while ((core::shard_of_limit_key("default", {"api", text, 1}, shards) == state().id) != is_own)
      text += "a";
    return text;
  }

  void add(const std::string& key, std::size_t count) {
    enqueue("q", count, {.limits = {{"api", key, 1}}});
  }

  /// Holds a permit back that another shard wants for a task of its own.
  void want(const std::string& key) {
    const auto at = state().limits.place_of("default", {"api", key, 1});
    state().limits.keys().hold({core::first_permit_place, 0, {{at}}, core::first_permit_queue}, {});
  }

  /// A key, and the number of tasks that it holds back.
  using held_of_key = std::pair<std::string, std::uint64_t>;

  std::vector<held_of_key> list(const core::limit_part& part, bool only_busy = false) {
    has_more_ = false;
    std::vector<held_of_key> found;
    for (const auto& one : core::count_limit_keys(state(), api, part, only_busy, has_more_))
      found.emplace_back(one.key, one.held);
    return found;
  }

  static constexpr std::uint16_t shards = 4;
  const limit_address api{"default", "api"};
  const core::limit_part all{{}, 10, true};
  bool has_more_ = false;
};

TEST_F(LimitCounts, TasksThatWaitForAnotherShardsPermitsCountHere) {
  const auto own = key_of("b", true);
  const auto foreign = key_of("c", false);
  add(own, 3);
  add(foreign, 4);

  EXPECT_EQ(core::count_limit(state(), api).held, 2u + 4u);
  EXPECT_EQ(list(all), (std::vector<held_of_key>{{own, 2}, {foreign, 4}}));
  EXPECT_EQ(list(all, true), (std::vector<held_of_key>{{own, 2}, {foreign, 4}}));
  bool has_more = false;
  EXPECT_EQ(core::count_limits(state(), "default", all, has_more).at(0).held, 6u);
}

TEST_F(LimitCounts, PermitsThatOtherShardsWantCountThere) {
  const auto own = key_of("b", true);
  add(own, 3);
  want(own);

  EXPECT_EQ(core::count_limit(state(), api).held, 2u);
  EXPECT_EQ(list(all), (std::vector<held_of_key>{{own, 2}}));
  bool has_more = false;
  EXPECT_EQ(core::count_limits(state(), "default", all, has_more).at(0).held, 2u);
}

TEST_F(LimitCounts, AnswerAboutAClosedKeyCountsAsTheListDoes) {
  const auto own = key_of("b", true);
  add(own, 3);
  want(own);

  EXPECT_EQ(core::count_limit_key(state(), api, own).held, 2u);
}

TEST_F(LimitCounts, APageHasTheFirstKeysOfBothKinds) {
  const auto first = key_of("a", false);
  const auto second = key_of("b", true);
  const auto third = key_of("c", false);
  const auto fourth = key_of("d", true);
  for (const auto& key : {first, second, third, fourth})
    add(key, 2);

  EXPECT_EQ(list({{}, 3, true}), (std::vector<held_of_key>{{first, 2}, {second, 1}, {third, 2}}));
  EXPECT_TRUE(has_more_);
  EXPECT_EQ(list({{}, 1, true}), (std::vector<held_of_key>{{first, 2}}));
  EXPECT_TRUE(has_more_);
  EXPECT_EQ(list({second, 3, false}), (std::vector<held_of_key>{{third, 2}, {fourth, 1}}));
  EXPECT_FALSE(has_more_);
}

} // namespace
} // namespace codeq::test
