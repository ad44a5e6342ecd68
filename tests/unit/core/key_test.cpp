// SPDX-License-Identifier: Apache-2.0
#include "core/checks/invariants.hpp"
#include "core/state/task_keys.hpp"
#include "core/turn/granted_run.hpp"
#include "support/shard_fixture.hpp"

#include <gtest/gtest.h>

namespace codeq::test {
namespace {

using namespace std::chrono_literals;

constexpr duration hour = 1h;

/// The first task has the key `x`; each test decides what happens to it.
class KeyedTask : public shard_fixture {
protected:
  std::string first(enqueue_options options = {}) {
    options.key = "x";
    return enqueue("q", 1, options);
  }

  std::string duplicate(
    on_duplicate policy, duration delay = {}, bool replace = false, std::size_t bytes = 32) {
    enqueue_options options;
    options.key = "x";
    options.duplicate = policy;
    options.delay = delay;
    options.replace_payload = replace;
    options.body_size = bytes;
    return enqueue("q", 1, options);
  }

  std::string defer(duration delay = {}) { return duplicate(on_duplicate::defer, delay); }

  std::string push(duration delay = {}) { return duplicate(on_duplicate::promote, delay); }

  /// Leases the first task to `w` as 1/t1.
  void lease_first(const task_settings& settings = {}) {
    attach("w", {"q"});
    claim("w", 1);
    first({.settings = settings});
  }

  void complete_first() {
    lease_first();
    complete("w", held(1, 1));
  }

  std::uint64_t bytes_of(int number) {
    return core::find_segment(state().segments, task(number))->body_bytes;
  }
};

// The policies, one test for each row of the contract's table.

TEST_F(KeyedTask, ExistingNamesTheRecordWhateverItsState) {
  lease_first();
  EXPECT_EQ(duplicate(on_duplicate::existing, hour), "p: enqueued 1 existing");
  complete("w", held(1, 1));
  EXPECT_EQ(duplicate(on_duplicate::existing), "p: enqueued 1 existing");
  take_snapshot();
  EXPECT_EQ(duplicate(on_duplicate::existing), "p: enqueued 1 existing");
  EXPECT_EQ(state_of(1), "not in memory");
}

TEST_F(KeyedTask, ExistingChangesNothingOfALiveRecord) {
  first({.delay = hour, .allow_promotion = true});

  EXPECT_EQ(duplicate(on_duplicate::existing), "p: enqueued 1 existing");

  EXPECT_EQ(state_of(1), "scheduled");
  EXPECT_EQ(bytes_of(1), 16u);
}

TEST_F(KeyedTask, RejectRefusesTheDuplicateWhateverTheRecordsState) {
  first();
  EXPECT_EQ(duplicate(on_duplicate::reject), "p: enqueued 1 duplicate");
  attach("w", {"q"});
  claim("w", 1);
  EXPECT_EQ(duplicate(on_duplicate::reject), "p: enqueued 1 duplicate");
  complete("w", held(1, 1));
  EXPECT_EQ(duplicate(on_duplicate::reject), "p: enqueued 1 duplicate");
}

TEST_F(KeyedTask, RejectRefusesOneTaskAndTheOthersGoOn) {
  first();

  auto said = enqueue_all(
    "q",
    {{.key = "y", .duplicate = on_duplicate::reject},
     {.key = "x", .duplicate = on_duplicate::reject},
     {}});

  EXPECT_EQ(said, "p: enqueued 2 1 duplicate 3");
}

TEST_F(KeyedTask, DeferPushesBackAndNeverForward) {
  first({.delay = 1min});

  EXPECT_EQ(defer(2min), "p: enqueued 1 deferred");
  EXPECT_EQ(defer(1min), "p: enqueued 1 unchanged");
  EXPECT_EQ(defer(2min), "p: enqueued 1 unchanged");

  advance(2min - 1ms);
  EXPECT_EQ(state_of(1), "scheduled");
  advance(1ms);
  EXPECT_EQ(state_of(1), "ready");
}

TEST_F(KeyedTask, DeferPushesBackAReadyRecord) {
  first();

  EXPECT_EQ(defer(1min), "p: enqueued 1 deferred");

  EXPECT_EQ(state_of(1), "scheduled");
}

TEST_F(KeyedTask, DeferTouchesNothingOfALeasedRecord) {
  lease_first();

  EXPECT_EQ(defer(hour), "p: enqueued 1 running");
  EXPECT_EQ(push(hour), "p: enqueued 1 running");

  abandon("w", held(1, 1));
  EXPECT_EQ(state_of(1), "ready");
}

TEST_F(KeyedTask, DeferAndPromoteCreateAFreshTaskWhenTheRecordIsOver) {
  complete_first();

  EXPECT_EQ(defer(), "p: enqueued 2; w: work available");
  EXPECT_EQ(push(), "p: enqueued 2 unchanged");
}

TEST_F(KeyedTask, ReplaceEndedChangesNothingOfALiveRecord) {
  lease_first();
  EXPECT_EQ(duplicate(on_duplicate::replace_ended, hour), "p: enqueued 1 existing");
  abandon("w", held(1, 1));
  EXPECT_EQ(duplicate(on_duplicate::replace_ended, hour), "p: enqueued 1 existing");
  EXPECT_EQ(state_of(1), "ready");
}

TEST_F(KeyedTask, ReplaceEndedCreatesAFreshTaskWhenTheRecordIsOver) {
  complete_first();
  EXPECT_EQ(duplicate(on_duplicate::replace_ended), "p: enqueued 2; w: work available");
  EXPECT_EQ(duplicate(on_duplicate::replace_ended), "p: enqueued 2 existing");
}

TEST_F(KeyedTask, ReplaceEndedCreatesAFreshTaskWhenTheRecordIsClosed) {
  complete_first();
  take_snapshot();
  EXPECT_EQ(state_of(1), "not in memory");

  EXPECT_EQ(duplicate(on_duplicate::replace_ended), "p: enqueued 2; w: work available");

  EXPECT_EQ(duplicate(on_duplicate::existing), "p: enqueued 2 existing");
}

TEST_F(KeyedTask, ADeadRecordLosesItsKeyToAFreshTask) {
  lease_first();
  fail_permanently("w", held(1, 1));
  EXPECT_EQ(duplicate(on_duplicate::existing), "p: enqueued 1 existing");

  EXPECT_EQ(push(), "p: enqueued 2; w: work available");

  EXPECT_EQ(duplicate(on_duplicate::existing), "p: enqueued 2 existing");
  EXPECT_EQ(state_of(1), "dead");
}

TEST_F(KeyedTask, PromoteMovesBothWaysWhenTheRecordAllowsIt) {
  first({.delay = 2min, .allow_promotion = true});

  EXPECT_EQ(push(1min), "p: enqueued 1 promoted");
  EXPECT_EQ(push(3min), "p: enqueued 1 deferred");
  EXPECT_EQ(push(3min), "p: enqueued 1 unchanged");
  EXPECT_EQ(push(), "p: enqueued 1 promoted");

  EXPECT_EQ(state_of(1), "ready");
}

TEST_F(KeyedTask, PromoteOfAGuardedRecordOnlyDefers) {
  first({.delay = 1min});

  EXPECT_EQ(push(), "p: enqueued 1 unchanged");
  EXPECT_EQ(push(2min), "p: enqueued 1 deferred");
}

TEST_F(KeyedTask, PermissionOfTheFirstCountsAlsoWhenItWasNotDeferred) {
  first({.allow_promotion = true});
  defer(hour);

  EXPECT_EQ(push(), "p: enqueued 1 promoted");
}

TEST_F(KeyedTask, PermissionOfTheDuplicateDoesNotCount) {
  first({.delay = hour});

  auto said =
    enqueue("q", 1, {.allow_promotion = true, .key = "x", .duplicate = on_duplicate::promote});

  EXPECT_EQ(said, "p: enqueued 1 unchanged");
}

TEST_F(KeyedTask, TimeThatHasPassedIsNow) {
  first({.delay = 1min, .allow_promotion = true});
  advance(1min);

  EXPECT_EQ(push(-1min), "p: enqueued 1 unchanged");
  EXPECT_EQ(state_of(1), "ready");
}

TEST_F(KeyedTask, DuplicateNeverTouchesTheWaitForARetry) {
  lease_first({.retry = {retry_kind::fixed, 1h, 1h}});
  fail("w", held(1, 1));

  EXPECT_EQ(defer(1min), "p: enqueued 1 deferred");
  EXPECT_EQ(push(), "p: enqueued 1 unchanged");

  advance(hour - 1ms);
  EXPECT_EQ(state_of(1), "scheduled");
  advance(1ms);
  EXPECT_EQ(state_of(1), "ready");
}

// The contract's Given/When/Then cases, in its order.

TEST_F(KeyedTask, DeferredDuplicateCannotBringTheTimeForward) {
  attach("w", {"q"});
  claim("w", 1);
  first({.delay = 1min, .allow_promotion = true});

  EXPECT_EQ(defer(1min - 1ms), "p: enqueued 1 unchanged");

  EXPECT_EQ(advance(1min - 1ms), "");
  EXPECT_EQ(advance(1ms), "w: got 1/t1");
}

TEST_F(KeyedTask, PromotingDuplicateBringsTheTimeForward) {
  attach("w", {"q"});
  claim("w", 1);
  first({.delay = 1min, .allow_promotion = true});

  EXPECT_EQ(push(1min - 1ms), "p: enqueued 1 promoted");

  EXPECT_EQ(advance(1min - 1ms), "w: got 1/t1");
}

TEST_F(KeyedTask, LeaseNeverDelaysARetry) {
  lease_first({.retry = {retry_kind::fixed, 1s, 1s}, .lease = 60s});
  fail("w", held(1, 1));
  claim("w", 1);

  EXPECT_EQ(advance(1s - 1ms), "");
  EXPECT_EQ(advance(1ms), "w: got 1/t2@2");
}

TEST_F(KeyedTask, PromoteDoesNotHandOutALeasedTask) {
  lease_first();
  attach("v", {"q"});
  claim("v", 1);

  EXPECT_EQ(promote_key("q", "x"), "p: unchanged 1 leased");
}

TEST_F(KeyedTask, PromoteOfATaskThatIsGoneFindsNothingAndCreatesNothing) {
  lease_first({.retention = hour});
  complete("w", held(1, 1));
  take_snapshot();
  advance(hour);

  EXPECT_EQ(promote_key("q", "x"), "p: not found 0 ready");
  EXPECT_EQ(cancel_key("q", "x"), "p: not found 0 ready");

  EXPECT_TRUE(events().empty());
  EXPECT_EQ(describe_key("q", "x"), "p: 0 is not here");
  EXPECT_EQ(duplicate(on_duplicate::existing), "p: enqueued 2; w: work available");
}

TEST_F(KeyedTask, MixedBatchIsDecidedAsAWhole) {
  enqueue_all(
    "q",
    {{.delay = hour, .key = "guarded"}, {.delay = hour, .allow_promotion = true, .key = "open"}});
  enqueue_all(
    "q",
    {{.key = "guarded", .duplicate = on_duplicate::promote},
     {.key = "open", .duplicate = on_duplicate::promote},
     {.key = "new", .duplicate = on_duplicate::promote}});

  std::vector<std::string> after;
  for (std::size_t turns = 0; turns <= 2; ++turns) {
    auto state = recovered(turns);
    std::string tasks;
    state->segments.for_each([&](const core::segment& s) {
      tasks += std::string(to_string(s.view(s.first).state)) + ' ';
    });
    after.push_back(tasks);
  }
  EXPECT_EQ(after[0], "");
  EXPECT_EQ(after[1], "scheduled scheduled ");
  EXPECT_EQ(after[2], "scheduled ready ready ");
}

TEST_F(KeyedTask, RefusedEnqueueLeavesItsKeyFree) {
  first({.request = 7, .answered_below = 7});
  EXPECT_EQ(enqueue("q", 1, {.request = 5, .key = "y"}), "p: refused session_expired");

  EXPECT_EQ(promote_key("q", "y"), "p: not found 0 ready");
  EXPECT_EQ(enqueue("q", 1, {.request = 8, .key = "y"}), "p: enqueued 2");
}

// Names.

TEST_F(KeyedTask, KeyIsOfItsQueueAndGroup) {
  first();

  EXPECT_EQ(enqueue("r", 1, {.key = "x"}), "p: enqueued 2");
  EXPECT_EQ(enqueue("q", 1, {.group = "g", .key = "x"}), "p: enqueued 3");
  EXPECT_EQ(enqueue("q", 1, {.group = "gx", .key = "x"}), "p: enqueued 4");
  EXPECT_EQ(enqueue("q", 1, {.group = "g", .key = "xx"}), "p: enqueued 5");
  EXPECT_EQ(enqueue("q", 1, {.group = "g", .key = "x"}), "p: enqueued 3 existing");
}

TEST_F(KeyedTask, SecondOfARequestMeetsTheFirst) {
  auto said = enqueue_all(
    "q", {{.key = "x"}, {.delay = hour, .key = "x", .duplicate = on_duplicate::defer}, {}});

  EXPECT_EQ(said, "p: enqueued 1 1 deferred 2");
  EXPECT_EQ(state_of(1), "scheduled");
  EXPECT_EQ(core::durable_text(*recovered(turns())), core::durable_text(state()));
}

TEST_F(KeyedTask, IsFoundByItsKey) {
  first({.delay = hour, .allow_promotion = true});
  first({.group = "g"});

  EXPECT_EQ(describe_key("q", "x"), "p: 1 is scheduled");
  EXPECT_EQ(describe_key("q", "y"), "p: 0 is not here");
  EXPECT_EQ(describe_key("unknown", "x"), "p: 0 is not here");
  EXPECT_EQ(promote_key("q", "x"), "p: changed 1 ready");
  EXPECT_EQ(cancel_key("q", "x"), "p: changed 1 cancelled");
  EXPECT_EQ(cancel_key("q", "x"), "p: unchanged 1 cancelled");
  EXPECT_EQ(state().queues.size(), 1u);
}

TEST_F(KeyedTask, IsFoundByItsKeyWhenItIsClosed) {
  complete_first();
  take_snapshot();

  EXPECT_EQ(describe_key("q", "x"), "p: 1 is not here");
  EXPECT_EQ(cancel_key("q", "x"), "p: 1 is not here");
  EXPECT_EQ(promote_key("q", "x"), "p: 1 is not here");
}

// Answers to requests.

TEST_F(KeyedTask, RepeatedRequestGetsItsFirstAnswerAlsoWhenNothingWasEnqueued) {
  first({.delay = hour});
  enqueue_options later{.delay = 2h, .request = 9, .key = "x", .duplicate = on_duplicate::defer};
  EXPECT_EQ(enqueue("q", 1, later), "p: enqueued 1 deferred");
  cancel_key("q", "x");

  EXPECT_EQ(enqueue("q", 1, later), "p: enqueued 1 deferred");
  restart();
  EXPECT_EQ(enqueue("q", 1, later), "p: enqueued 1 deferred");
  take_snapshot();
  restart();
  EXPECT_EQ(enqueue("q", 1, later), "p: enqueued 1 deferred");
}

// Redrive.

TEST_F(KeyedTask, RedriveIsRefusedWhileAnotherLiveTaskHasTheKey) {
  lease_first();
  fail_permanently("w", held(1, 1));
  defer();

  EXPECT_EQ(redrive(1), "p: key taken 1 dead");
  EXPECT_TRUE(events().empty());

  cancel(2);
  EXPECT_EQ(redrive(1), "p: changed 1 ready");
  EXPECT_EQ(duplicate(on_duplicate::existing), "p: enqueued 1 existing");
}

TEST_F(KeyedTask, RedrivenTaskOwnsItsKeyAlsoAfterItsClosing) {
  lease_first();
  fail_permanently("w", held(1, 1));
  claim("w", 1);
  defer();
  complete("w", held(2, 2));
  redrive(1);
  take_snapshot();
  EXPECT_EQ(duplicate(on_duplicate::existing), "p: enqueued 1 existing");
  claim("w", 1);
  complete("w", held(1, 3));
  take_snapshot();

  EXPECT_EQ(describe_key("q", "x"), "p: 1 is not here");
  EXPECT_EQ(core::durable_text(*recovered(turns())), core::durable_text(state()));
}

TEST_F(KeyedTask, OfTwoRedrivenInOneTurnTheLaterOneHasTheKey) {
  lease_first();
  fail_permanently("w", held(1, 1));
  claim("w", 1);
  defer();
  fail_permanently("w", held(2, 2));

  together([&] {
    redrive(2);
    cancel(2);
    redrive(1);
    cancel(1);
  });

  EXPECT_EQ(duplicate(on_duplicate::existing), "p: enqueued 1 existing");
  EXPECT_EQ(core::durable_text(*recovered(turns())), core::durable_text(state()));
}

// Retention.

TEST_F(KeyedTask, KeyIsFreeWhenItsRetentionIsOver) {
  lease_first({.retention = hour});
  complete("w", held(1, 1));
  take_snapshot();

  advance(hour - 1ms);
  EXPECT_EQ(duplicate(on_duplicate::reject), "p: enqueued 1 duplicate");
  advance(1ms);
  EXPECT_EQ(duplicate(on_duplicate::reject), "p: enqueued 2; w: work available");
}

TEST_F(KeyedTask, ClosedTaskOccupiesNoMemory) {
  complete_first();
  take_snapshot();

  EXPECT_TRUE(state().keys.holders.empty());
  EXPECT_TRUE(state().keys.retained.empty());
  EXPECT_EQ(duplicate(on_duplicate::reject), "p: enqueued 1 duplicate");
}

TEST_F(KeyedTask, KeyFallsBackToTheTaskThatHadItBefore) {
  lease_first();
  fail_permanently("w", held(1, 1));
  defer();

  auto& second = *core::find_segment(state().segments, task(2));
  auto since = second.key->since;
  core::release_key(state(), second);

  auto owner = core::owner_of(state(), {{"default", "q"}, {}, "x"}, state().at);
  ASSERT_TRUE(owner);
  EXPECT_EQ(owner->seq, task(1));
  core::hold_key(state(), second, since);
}

// Bodies.

TEST_F(KeyedTask, BodyOfAnUnleasedRecordIsReplacedByEveryPolicyThatMeetsIt) {
  first({.delay = hour});

  EXPECT_EQ(duplicate(on_duplicate::reject, 0ms, true), "p: enqueued 1 duplicate");
  EXPECT_EQ(bytes_of(1), 16u);
  EXPECT_EQ(duplicate(on_duplicate::existing, 0ms, true), "p: enqueued 1 existing");
  EXPECT_EQ(bytes_of(1), 32u);
  EXPECT_EQ(duplicate(on_duplicate::replace_ended, 0ms, true, 48), "p: enqueued 1 existing");
  EXPECT_EQ(bytes_of(1), 48u);
}

TEST_F(KeyedTask, ReplacedBodyIsRememberedByARecoveredShard) {
  first();
  duplicate(on_duplicate::defer, 0ms, true);

  restart();

  auto* s = core::find_segment(state().segments, task(1));
  EXPECT_TRUE(s->replaced);
  EXPECT_EQ(s->body_bytes, 32u);
  auto run = core::describe_run(state(), *s, {task(1), 1}, {}, 1s);
  EXPECT_TRUE(run.replaced);
}

TEST_F(KeyedTask, BodyOfALeasedRecordIsNotReplaced) {
  lease_first();

  duplicate(on_duplicate::existing, 0ms, true);
  duplicate(on_duplicate::defer, 0ms, true);

  EXPECT_EQ(bytes_of(1), 16u);
}

} // namespace
} // namespace codeq::test
