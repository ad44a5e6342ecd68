// SPDX-License-Identifier: Apache-2.0
#include "codeq/limits.hpp"

#include "support/shard_fixture.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace codeq::test {
namespace {

/// A shard that takes over the settings of shard 2.
class AdoptSettings : public shard_fixture {
protected:
  std::string adopt(core::adopt_settings all) {
    all.from = shard_id{2};
    return decide(std::move(all));
  }

  static core::carried_queue with_depth(const std::string& queue, std::uint64_t depth) {
    return {{"default", queue}, {{.max_depth = depth}, false}};
  }

  static core::carried_limit one_at_a_time(const std::string& name) {
    return {{limit_address().tenant, name}, {.concurrency = 1}};
  }
};

TEST_F(AdoptSettings, CarriedSettingsAreInForceAndConfirmed) {
  EXPECT_EQ(
    adopt({.version = 7, .queues = {with_depth("q", 4)}, .limits = {one_at_a_time("api")}}),
    "settings adopted 7 to shard 2");

  EXPECT_EQ(show("q"), "o: q depth 4 leased 0 attempts 5");
  EXPECT_TRUE(state().limits.is_defined(limit_address().tenant, "api"));
  restart();
  EXPECT_EQ(show("q"), "o: q depth 4 leased 0 attempts 5");
  EXPECT_TRUE(state().limits.is_defined(limit_address().tenant, "api"));
}

TEST_F(AdoptSettings, SettingsThatAreNotCarriedEnd) {
  configure("old", {.max_depth = 7});
  pause("old");
  set_limit("old", limit_definition{.concurrency = 1});

  adopt({.version = 7, .queues = {with_depth("q", 4)}});

  EXPECT_EQ(show("old"), "o: old depth 0 leased 0 attempts 5");
  EXPECT_FALSE(state().limits.is_defined(limit_address().tenant, "old"));
}

TEST_F(AdoptSettings, WhatIsInForceIsNotWrittenAgain) {
  adopt({.version = 7, .queues = {with_depth("q", 4)}, .limits = {one_at_a_time("api")}});
  ASSERT_EQ(events().size(), 2u);

  EXPECT_EQ(
    adopt({.version = 8, .queues = {with_depth("q", 4)}, .limits = {one_at_a_time("api")}}),
    "settings adopted 8 to shard 2");

  EXPECT_TRUE(events().empty());
}

TEST_F(AdoptSettings, AreNotConfirmedBeforeEachQueueHasRoom) {
  for (std::size_t i = 0; i < limits::queues_per_tenant_max; ++i)
    state().intern({"default", "q" + std::to_string(i)});
  const core::adopt_settings all{
    .version = 7, .queues = {with_depth("late", 4), with_depth("q1", 4)}};

  EXPECT_EQ(adopt(all), "");
  EXPECT_EQ(show("q1"), "o: q1 depth 4 leased 0 attempts 5");

  restart();
  EXPECT_EQ(adopt(all), "settings adopted 7 to shard 2") << "queues without tasks have gone";
  EXPECT_EQ(show("late"), "o: late depth 4 leased 0 attempts 5");
}

TEST_F(AdoptSettings, OlderVersionsAreVoid) {
  adopt({.version = 8, .queues = {with_depth("q", 5)}});

  EXPECT_EQ(adopt({.version = 7, .queues = {with_depth("q", 4)}}), "");

  EXPECT_EQ(show("q"), "o: q depth 5 leased 0 attempts 5");
}

TEST_F(AdoptSettings, LateChangeOfAnOperatorAsksForTheCarriedOnesAgain) {
  const std::string asked = "settings adopted 0 to shard 2";
  const auto says_so = [&](const std::string& effects) {
    return effects.find(asked) != effects.npos;
  };
  EXPECT_FALSE(says_so(configure("q", {.max_depth = 4}))) << "nothing was carried here yet";
  adopt({.version = 8, .queues = {with_depth("q", 5)}});

  EXPECT_TRUE(says_so(configure("q", {.max_depth = 4})));
  EXPECT_FALSE(says_so(configure("q", {.max_depth = 4}))) << "it changes nothing";
  EXPECT_TRUE(says_so(set_limit("api", limit_definition{.concurrency = 1})));

  EXPECT_EQ(
    adopt({.version = 8, .queues = {with_depth("q", 5)}}), "settings adopted 8 to shard 2");
  EXPECT_EQ(show("q"), "o: q depth 5 leased 0 attempts 5");
}

TEST_F(AdoptSettings, NothingIsTakenOverBeforeTheLastPart) {
  EXPECT_EQ(adopt({.version = 7, .queues = {with_depth("q", 4)}, .part = 0, .is_last = false}), "");
  EXPECT_EQ(show("q"), "o: q depth 0 leased 0 attempts 5");
  EXPECT_EQ(adopt({.version = 7, .queues = {with_depth("s", 3)}, .part = 2}), "");

  EXPECT_EQ(
    adopt({.version = 7, .queues = {with_depth("r", 5)}, .part = 1}),
    "settings adopted 7 to shard 2");

  EXPECT_EQ(show("q"), "o: q depth 4 leased 0 attempts 5");
  EXPECT_EQ(show("r"), "o: r depth 5 leased 0 attempts 5");
  EXPECT_EQ(show("s"), "o: s depth 0 leased 0 attempts 5");
}

TEST_F(AdoptSettings, EachChangeIsAnotherVersion) {
  const auto before = state().settings_version;
  configure("q", {.max_depth = 7});
  const auto configured = state().settings_version;
  set_limit("api", limit_definition{.concurrency = 1});

  EXPECT_GT(configured, before);
  EXPECT_GT(state().settings_version, configured);
}

TEST_F(AdoptSettings, PauseByABreakerIsAnotherVersion) {
  queue_config config;
  config.pause_when_failing.percent = 50;
  configure("q", config);
  const auto before = state().settings_version;

  core::pause_queue tripped;
  tripped.queue = {"default", "q"};
  tripped.paused = true;
  tripped.breaker_reason = "breaker";
  decide(tripped);

  EXPECT_TRUE(state().find_queue(tripped.queue)->settings.paused);
  EXPECT_GT(state().settings_version, before);
}

} // namespace
} // namespace codeq::test
