// SPDX-License-Identifier: Apache-2.0
#include "codeq/limits.hpp"

#include "core/queues/queue_rules.hpp"
#include "support/shard_fixture.hpp"

#include <gtest/gtest.h>

#include <optional>

namespace codeq::test {
namespace {

using namespace std::chrono_literals;
using core::setting_bit;

constexpr std::uint16_t bit(setting_bit b) {
  return static_cast<std::uint16_t>(b);
}

class QueueSettings : public shard_fixture {
protected:
  const task_settings& settings_of(int number) {
    return core::find_segment(state().segments, task(number))->settings;
  }

  /// Lease duration of the task's latest grant.
  duration lease_of(int number) {
    const auto* l = state().leases.find(entry_of(number).token);
    return state().leases.grant_at(l->grant).lease;
  }
};

TEST_F(QueueSettings, QueueIsMadeByItsSettings) {
  EXPECT_EQ(show("q"), "o: q depth 0 leased 0 attempts 5");

  EXPECT_EQ(configure("q", {.max_depth = 7}), "o: q depth 7 leased 0 attempts 5");
  EXPECT_EQ(show("q"), "o: q depth 7 leased 0 attempts 5");
}

TEST_F(QueueSettings, SameSettingsAgainWriteNothing) {
  configure("q", {.max_depth = 7});
  ASSERT_EQ(events().size(), 1u);

  EXPECT_EQ(configure("q", {.max_depth = 7}), "o: q depth 7 leased 0 attempts 5");
  EXPECT_TRUE(events().empty());
  EXPECT_EQ(unpause("q"), "o: q depth 7 leased 0 attempts 5");
  EXPECT_TRUE(events().empty());
  show("q");
  EXPECT_TRUE(events().empty());
}

TEST_F(QueueSettings, NewSettingsLeaveThePauseAsItIs) {
  pause("q");

  EXPECT_EQ(configure("q", {.max_leased = 3}), "o: q depth 0 leased 3 attempts 5 paused");
  EXPECT_EQ(unpause("q"), "o: q depth 0 leased 3 attempts 5");
  EXPECT_EQ(configure("q", {}), "o: q depth 0 leased 0 attempts 5");
}

TEST_F(QueueSettings, SurviveARestart) {
  configure("q", {.defaults = {.max_attempts = 9}, .max_depth = 4, .max_leased = 2});
  pause("q");

  restart();

  EXPECT_EQ(show("q"), "o: q depth 4 leased 2 attempts 9 paused");
}

TEST_F(QueueSettings, RulesForFailuresSurviveARestart) {
  configure("q", {.quarantine_after = 3, .pause_when_failing = {40, 5min}});

  restart();

  const auto& config = state().find_queue({"default", "q"})->settings.config;
  EXPECT_EQ(config.quarantine_after, 3u);
  EXPECT_EQ(config.pause_when_failing, (failure_breaker{40, 5min}));
}

TEST_F(QueueSettings, KeepingPayloadsIsNotSupported) {
  EXPECT_EQ(configure("q", {.keep_payload = true}), "o: refused unsupported");

  EXPECT_TRUE(events().empty());
  EXPECT_EQ(show("q"), "o: q depth 0 leased 0 attempts 5");
}

TEST_F(QueueSettings, MaximaAreWithinTheirLimit) {
  constexpr auto most = limits::queue_maximum_max;

  EXPECT_EQ(configure("q", {.max_depth = most + 1}), "o: refused invalid_argument");
  EXPECT_EQ(configure("q", {.max_leased = most + 1}), "o: refused invalid_argument");
  EXPECT_TRUE(events().empty());

  EXPECT_EQ(
    configure("q", {.max_depth = most, .max_leased = most}),
    "o: q depth 1000000000000 leased 1000000000000 attempts 5");
}

TEST_F(QueueSettings, MaximumOverItsLimitIsRefusedWithBoth) {
  constexpr auto most = limits::queue_maximum_max;

  EXPECT_TRUE(core::check_maxima({.max_depth = most, .max_leased = most}));
  EXPECT_EQ(
    core::check_maxima({.max_depth = most + 1}).error().context,
    "max_depth is 1000000000001; it must be 0..1000000000000");
  EXPECT_EQ(
    core::check_maxima({.max_leased = most + 1}).error().context,
    "max_leased is 1000000000001; it must be 0..1000000000000");
}

TEST_F(QueueSettings, TenantWithTooManyQueuesGetsNoOther) {
  for (std::size_t i = 0; i < limits::queues_per_tenant_max; ++i)
    state().intern({"default", "q" + std::to_string(i)});

  EXPECT_EQ(configure("q", {}), "o: refused too_large");
  EXPECT_EQ(pause("q"), "o: refused too_large");
  EXPECT_EQ(pause("q7"), "o: q7 depth 0 leased 0 attempts 5 paused");
}

TEST_F(QueueSettings, NewQueuesOfOneRequestCountTogether) {
  for (std::size_t i = 1; i < limits::queues_per_tenant_max; ++i)
    state().intern({"default", "q" + std::to_string(i)});
  auto request_for = [](const std::string& tenant, const std::string& second) {
    core::enqueue_run r;
    r.queue = {tenant, "first"};
    r.tasks = {bytes("a"), {1}};
    std::vector<core::enqueue_run> runs{r, r};
    runs[1].queue.queue = second;
    return runs;
  };

  auto checked = core::check_queues(state(), request_for("default", "second"));

  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().code, errc::too_large);
  EXPECT_EQ(
    checked.error().context,
    "queue \"second\" would be one more than the 10000 queues that tenant \"default\" may have");
  EXPECT_TRUE(core::is_too_many_queues(checked.error()));
  EXPECT_FALSE(core::is_of_max_depth(checked.error()));
  EXPECT_TRUE(core::check_queues(state(), request_for("default", "first")));
  EXPECT_TRUE(core::check_queues(state(), request_for("other", "second")));
}

TEST_F(QueueSettings, FieldsLeftToTheQueueAreAsItHasThem) {
  task_settings defaults;
  defaults.max_attempts = 9;
  defaults.retry = {retry_kind::fixed, 3s, 4s};
  defaults.run_timeout = 5s;
  defaults.progress_timeout = 6s;
  defaults.retention = 7h;
  defaults.dead_retention = 8h;
  defaults.when_dead = on_dead::block;
  configure("q", {.defaults = defaults});

  enqueue("q", 1, {.settings = {.max_attempts = 2}, .left_to_queue = 0xff});
  enqueue("q", 1, {.settings = {.max_attempts = 2}, .left_to_queue = bit(setting_bit::retry)});

  defaults.lease = 0s;
  EXPECT_EQ(settings_of(1), defaults);
  task_settings own;
  own.max_attempts = 2;
  own.retry = defaults.retry;
  EXPECT_EQ(settings_of(2), own);
}

TEST_F(QueueSettings, QueueWithoutSettingsGivesTheUsualDefaults) {
  enqueue("q", 1, {.settings = {.max_attempts = 2}, .left_to_queue = 0x7f});

  task_settings usual;
  usual.lease = 0s;
  EXPECT_EQ(settings_of(1), usual);
}

TEST_F(QueueSettings, FieldsOfTasksAreThoseOfTheirEnqueue) {
  enqueue("q", 1, {.left_to_queue = bit(setting_bit::max_attempts)});
  configure("q", {.defaults = {.max_attempts = 9}});
  enqueue("q", 1, {.left_to_queue = bit(setting_bit::max_attempts)});

  EXPECT_EQ(settings_of(1).max_attempts, 5);
  EXPECT_EQ(settings_of(2).max_attempts, 9);
}

TEST_F(QueueSettings, TasksOfOneTurnShareASegmentWhenTheirSettingsComeToTheSame) {
  configure("q", {.defaults = {.max_attempts = 9}});

  together([&] {
    enqueue("q", 1, {.settings = {.max_attempts = 9}});
    enqueue("q", 1, {.left_to_queue = bit(setting_bit::max_attempts)});
  });

  EXPECT_EQ(events().size(), 1u);
}

TEST_F(QueueSettings, LeaseIsTheClaimsWishElseTheTasksElseTheQueues) {
  auto left = bit(setting_bit::lease);
  enqueue("q", 1, {.settings = {.lease = 20s}, .left_to_queue = left});
  enqueue("q", 1, {.settings = {.lease = 20s}});
  enqueue("q", 1, {.settings = {.lease = 20s}, .left_to_queue = left});
  configure("q", {.defaults = {.lease = 30s}});
  attach("w", {"q"});

  claim("w", 2);
  claim("w", 1, 40s);

  EXPECT_EQ(lease_of(1), 30s);
  EXPECT_EQ(lease_of(2), 20s);
  EXPECT_EQ(lease_of(3), 40s);
}

TEST_F(QueueSettings, LeaseLeftToTheQueueIsAsItIsAtEachGrant) {
  enqueue("q", 1, {.left_to_queue = bit(setting_bit::lease)});
  attach("w", {"q"});
  claim("w", 1);
  EXPECT_EQ(lease_of(1), 10s);

  configure("q", {.defaults = {.lease = 30s}});
  EXPECT_EQ(lease_of(1), 10s);
  restart();
  attach("w", {"q"});
  together([&] {
    abandon("w", held(1, 1));
    claim("w", 1);
  });

  EXPECT_EQ(lease_of(1), 30s);
}

TEST_F(QueueSettings, LeaseIsWithinItsLimitsWhateverTheQueueSays) {
  configure("q", {.defaults = {.lease = 1ms}});
  configure("r", {.defaults = {.lease = 100h}});
  enqueue("q", 1, {.left_to_queue = bit(setting_bit::lease)});
  enqueue("r", 1, {.left_to_queue = bit(setting_bit::lease)});
  attach("w", {"q", "r"});
  claim("w", 2);

  EXPECT_EQ(lease_of(1), 1s);
  EXPECT_EQ(lease_of(2), 12h);
}

TEST_F(QueueSettings, PausedQueueHandsNothingOut) {
  pause("q");
  attach("w", {"q"});
  claim("w", 2);

  EXPECT_EQ(enqueue("q"), "p: enqueued 1");
  EXPECT_EQ(claim("w", 1), "w: parked");
  EXPECT_EQ(attach("b", {"q"}), "");
}

TEST_F(QueueSettings, ResumedQueueHandsOutInTheSameTurn) {
  pause("q");
  enqueue("q", 3);
  attach("b", {"q"});
  attach("w", {"q"});
  claim("w", 2);

  EXPECT_EQ(
    unpause("q"),
    "o: q depth 0 leased 0 attempts 5; b: work available; w: got 1/t1 2/t2 and there is more");
}

TEST_F(QueueSettings, LeasesOfAPausedQueueGoOn) {
  enqueue("q", 2);
  attach("w", {"q"});
  claim("w", 2);
  pause("q");

  EXPECT_EQ(beat("w", held(1, 1)), "");
  EXPECT_EQ(complete("w", held(1, 1)), "w: answered 1/t1 ok");
  EXPECT_EQ(abandon("w", held(2, 2)), "w: answered 2/t2 ok");
  EXPECT_EQ(claim("w", 1), "w: parked");
}

TEST_F(QueueSettings, PausedQueueDoesNotStandInTheWayOfOthers) {
  enqueue("q");
  enqueue("r");
  pause("q");
  attach("w", {"q", "r"});

  EXPECT_EQ(claim("w", 1), "w: got 2/t1");
}

TEST_F(QueueSettings, FullQueueRefusesTheWholeRequest) {
  configure("q", {.max_depth = 3});
  enqueue("q", 2);

  EXPECT_EQ(enqueue("q", 2), "p: refused queue_full");
  EXPECT_TRUE(events().empty());
  EXPECT_EQ(enqueue("q"), "p: enqueued 3");
  EXPECT_EQ(enqueue("q"), "p: refused queue_full");
}

TEST_F(QueueSettings, EveryLiveTaskCountsForTheDepth) {
  configure("q", {.max_depth = 4});
  attach("w", {"q"});
  enqueue("q", 1);
  claim("w", 1);
  enqueue("q", 1, {.delay = 1h});
  enqueue("q", 1, {.delay = 1h, .group = "g"});
  enqueue("q", 1, {.group = "g"});

  EXPECT_EQ(enqueue("q"), "p: refused queue_full");
  complete("w", held(1, 1));
  EXPECT_EQ(enqueue("q"), "p: enqueued 5; w: work available");
}

TEST_F(QueueSettings, RunsOfOneRequestCountTogether) {
  configure("q", {.max_depth = 3});
  core::enqueue_run r;
  r.queue = {"default", "q"};
  r.tasks = {bytes("ab"), {1, 1}};

  auto checked = core::check_queues(state(), {r, r});

  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().code, errc::queue_full);
  EXPECT_EQ(
    checked.error().context,
    "queue \"q\" is full: it has no room for 4 more; max_depth, over all shards, is 3");
  EXPECT_TRUE(core::is_of_max_depth(checked.error()));
  EXPECT_EQ(core::full_queue(checked.error()), "q");
  EXPECT_FALSE(core::is_too_many_queues(checked.error()));
  EXPECT_TRUE(core::check_queues(state(), {r}));
}

TEST_F(QueueSettings, RepeatOfARequestIsAnsweredAlsoWhenTheQueueIsFull) {
  configure("q", {.max_depth = 1});
  enqueue("q", 1, {.request = 7});

  EXPECT_EQ(enqueue("q", 1, {.request = 7}), "p: enqueued 1");
}

TEST_F(QueueSettings, RefusedRequestIsTakenWhenItComesAgain) {
  configure("q", {.max_depth = 1});
  enqueue("q", 1);
  EXPECT_EQ(enqueue("q", 1, {.request = 7}), "p: refused queue_full");
  configure("q", {});

  EXPECT_EQ(enqueue("q", 1, {.request = 7}), "p: enqueued 2");
}

TEST_F(QueueSettings, QueueLeasesNoMoreThanItsLimit) {
  configure("q", {.max_leased = 2});
  enqueue("q", 5);
  attach("a", {"q"});
  attach("b", {"q"});

  together([&] {
    claim("a", 2);
    claim("b", 2);
  });

  EXPECT_EQ(state_of(1), "leased");
  EXPECT_EQ(state_of(2), "leased");
  EXPECT_EQ(state_of(3), "ready");
}

TEST_F(QueueSettings, EndOfALeaseMakesRoomForTheNext) {
  configure("q", {.max_leased = 1});
  enqueue("q", 2);
  attach("w", {"q"});
  EXPECT_EQ(claim("w", 2), "w: parked; w: got 1/t1");

  EXPECT_EQ(complete("w", held(1, 1)), "w: answered 1/t1 ok; w: got 2/t2");
}

TEST_F(QueueSettings, WorkerWithoutCreditsHearsOfRoom) {
  configure("q", {.max_leased = 1});
  enqueue("q", 2);
  attach("w", {"q"});
  EXPECT_EQ(claim("w", 1), "w: got 1/t1");

  EXPECT_EQ(complete("w", held(1, 1)), "w: answered 1/t1 ok; w: work available");
}

TEST_F(QueueSettings, LoweredLimitEndsNoLease) {
  enqueue("q", 4);
  attach("w", {"q"});
  claim("w", 3);
  configure("q", {.max_leased = 1});

  EXPECT_EQ(claim("w", 1), "w: parked");
  EXPECT_EQ(complete("w", held(1, 1)), "w: answered 1/t1 ok");
  EXPECT_EQ(complete("w", held(2, 2)), "w: answered 2/t2 ok");
  EXPECT_EQ(complete("w", held(3, 3)), "w: answered 3/t3 ok; w: got 4/t4");
}

} // namespace
} // namespace codeq::test
