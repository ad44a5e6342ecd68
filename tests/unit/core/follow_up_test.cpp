// SPDX-License-Identifier: Apache-2.0
#include "core/commands/routing.hpp"
#include "support/shard_fixture.hpp"
#include "support/task_builder.hpp"

#include <gtest/gtest.h>

namespace codeq::test {
namespace {

using namespace std::chrono_literals;

/// The fixture's shard is number 0. Follow-ups for other shards are numbered by the position of
/// their record.
class FollowUp : public shard_fixture {
protected:
  /// One task, leased to `w` as 1/t1; `w` takes no more. Uses positions 1 and 2.
  void lease_one() {
    attach("w", {"q"});
    claim("w", 1);
    enqueue("q");
  }

  /// Adds queues until the tenant has `count`.
  void add_queues(std::size_t count) {
    for (auto i = state().tenant_queues["default"].size(); i < count; ++i)
      state().intern({"default", "other" + std::to_string(i)});
  }

  static core::follow_up to_shard(std::uint16_t shard, const std::string& queue = "q") {
    core::enqueue_run run;
    run.queue = {"default", queue};
    run.tasks = encode_bodies(1, 16);
    return {static_cast<shard_id>(shard), run};
  }

  static core::follow_up keyed(const std::string& key, on_duplicate policy) {
    auto made = to_shard(0);
    made.run.key = key;
    made.run.duplicate = policy;
    return made;
  }

  core::follow_up deferred(duration delay) {
    auto made = to_shard(0);
    made.run.not_before = state().at + delay;
    return made;
  }

  static core::take_follow_ups
  from_shard(std::uint16_t shard, std::uint64_t number, std::uint64_t answered_below = 0) {
    return {static_cast<shard_id>(shard), number, answered_below, {to_shard(0).run}};
  }

  static std::uint64_t position(std::uint64_t counter) {
    return core::first_of_epoch(1) + counter - 1;
  }
};

TEST_F(FollowUp, IsEnqueuedInTheTurnOfItsCompletion) {
  lease_one();
  claim("w", 1);

  EXPECT_EQ(complete_with("w", held(1, 1), {to_shard(0)}), "w: answered 1/t1 ok; w: got 2/t2");
}

TEST_F(FollowUp, IsInTheSameWriteAsTheOutcome) {
  lease_one();

  complete_with("w", held(1, 1), {to_shard(0), to_shard(2)});

  ASSERT_EQ(events().size(), 3u);
  EXPECT_TRUE(std::holds_alternative<core::leases_ended>(events()[0]));
  EXPECT_TRUE(std::holds_alternative<core::segment_appended>(events()[1]));
  EXPECT_TRUE(std::holds_alternative<core::follow_ups_sent>(events()[2]));
}

TEST_F(FollowUp, AnswersNoProducer) {
  lease_one();

  complete_with("w", held(1, 1), {to_shard(0)});

  EXPECT_TRUE(std::get<core::segment_appended>(events()[1]).requests.empty());
}

TEST_F(FollowUp, SharesASegmentWithOrdinaryTasksOfItsTurn) {
  lease_one();

  together([&] {
    enqueue("q");
    complete_with("w", held(1, 1), {to_shard(0)});
    enqueue("q");
  });
  restart();

  EXPECT_EQ(state_of(4), "ready");
  EXPECT_EQ(enqueue("q", 1, {.request = 2}), "p: enqueued 2");
  EXPECT_EQ(enqueue("q", 1, {.request = 3}), "p: enqueued 4");
}

TEST_F(FollowUp, MayBeDeferred) {
  lease_one();
  claim("w", 1);
  complete_with("w", held(1, 1), {deferred(2s)});
  EXPECT_EQ(state_of(2), "scheduled");

  EXPECT_EQ(advance(2s), "w: got 2/t2");
}

TEST_F(FollowUp, OfTheGroupOfItsTaskIsTheNextOfIt) {
  attach("w", {"q"});
  claim("w", 2);
  enqueue("q", 1, {.group = "g"});
  auto next = to_shard(0);
  next.run.group = "g";

  EXPECT_EQ(complete_with("w", held(1, 1), {next}), "w: answered 1/t1 ok; w: got 2/t2");
}

TEST_F(FollowUp, OfARepeatedCompletionIsNotEnqueuedAgain) {
  lease_one();
  complete_with("w", held(1, 1), {to_shard(0), to_shard(2)});

  EXPECT_EQ(complete_with("w", held(1, 1), {to_shard(0), to_shard(2)}), "w: answered 1/t1 already");

  EXPECT_TRUE(events().empty());
}

TEST_F(FollowUp, OfAStaleCompletionIsNotEnqueued) {
  lease_one();

  EXPECT_EQ(
    complete_with("w", held(1, 9), {to_shard(0), to_shard(2)}), "w: answered 1/t9 stale_lease");

  EXPECT_TRUE(events().empty());
}

TEST_F(FollowUp, ComesWithACompletionOnly) {
  lease_one();
  core::lease_report failed;
  failed.how = disposition::failed;
  failed.follow_ups = {to_shard(0), to_shard(2)};

  EXPECT_EQ(report("w", held(1, 1), failed), "w: answered 1/t1 ok");

  EXPECT_EQ(events().size(), 1u);
}

TEST_F(FollowUp, IsEnqueuedThoughItsTaskIsToBeCancelled) {
  lease_one();
  cancel(1);

  complete_with("w", held(1, 1), {to_shard(0)});

  EXPECT_EQ(state_of(1), "completed");
  EXPECT_EQ(state_of(2), "ready");
}

TEST_F(FollowUp, ThatIsInvalidRefusesTheCompletionAndTheLeaseStays) {
  lease_one();
  core::lease_report refused;
  refused.follow_ups = {to_shard(0), to_shard(2)};
  refused.allowed = error{errc::invalid_argument, "follow-up 1: priority is 10"};

  EXPECT_EQ(
    report("w", held(1, 1), refused),
    "w: answered 1/t1 invalid_argument (follow-up 1: priority is 10)");

  EXPECT_TRUE(events().empty());
  EXPECT_EQ(complete("w", held(1, 1)), "w: answered 1/t1 ok");
}

TEST_F(FollowUp, ThatIsInvalidDoesNotHideThatTheLeaseIsStale) {
  lease_one();
  core::lease_report refused;
  refused.allowed = error{errc::invalid_argument, "follow-up 1: priority is 10"};

  EXPECT_EQ(report("w", held(1, 9), refused), "w: answered 1/t9 stale_lease");
  complete("w", held(1, 1));
  EXPECT_EQ(report("w", held(1, 1), refused), "w: answered 1/t1 already");
}

TEST_F(FollowUp, IntoAQueueBeyondTheTenantsLimitRefusesTheCompletion) {
  lease_one();
  add_queues(limits::queues_per_tenant_max);

  auto said = complete_with("w", held(1, 1), {to_shard(0, "new")});

  EXPECT_TRUE(said.starts_with("w: answered 1/t1 too_large (follow-up: queue \"new\"")) << said;
  EXPECT_EQ(state_of(1), "leased");
}

TEST_F(FollowUp, OfAnotherShardIsHandedOutUnderThePositionOfItsRecord) {
  lease_one();

  EXPECT_EQ(
    complete_with("w", held(1, 1), {to_shard(2), to_shard(1), to_shard(2)}),
    "w: answered 1/t1 ok; deliver 4 below 4 to shard 1: 1; deliver 4 below 4 to shard 2: 2");
}

TEST_F(FollowUp, IsHandedOutOnceByOneProcess) {
  lease_one();
  complete_with("w", held(1, 1), {to_shard(2)});

  EXPECT_EQ(advance(1min), "");
}

TEST_F(FollowUp, IsHandedOutAgainAfterARestartUntilItIsConfirmed) {
  lease_one();
  complete_with("w", held(1, 1), {to_shard(1), to_shard(2)});
  restart();
  EXPECT_EQ(advance(0s), "deliver 4 below 4 to shard 1: 1; deliver 4 below 4 to shard 2: 1");

  confirm(1, position(4));
  take_snapshot();
  restart();
  EXPECT_EQ(advance(0s), "deliver 4 below 4 to shard 1: 1; deliver 4 below 4 to shard 2: 1");

  confirm(1, position(4));
  confirm(2, position(4));
  take_snapshot();
  restart();
  EXPECT_EQ(advance(0s), "");
}

TEST_F(FollowUp, ThatIsConfirmedIsDroppedByTheNextSnapshot) {
  lease_one();
  complete_with("w", held(1, 1), {to_shard(2)});
  take_snapshot();
  EXPECT_EQ(state().records_since_snapshot, 0u);

  confirm(2, position(4));
  EXPECT_GT(state().records_since_snapshot, 0u);
  confirm(2, position(4));
  take_snapshot();

  const auto& snapshot = std::get<core::snapshot_taken>(events().back());
  EXPECT_EQ(snapshot.delivered_follow_ups, std::vector{position(4)});
  EXPECT_TRUE(state().follow_up_records.empty());
}

TEST_F(FollowUp, ConfirmationOfSomethingElseChangesNothing) {
  lease_one();
  complete_with("w", held(1, 1), {to_shard(2)});

  confirm(1, position(4));
  confirm(2, position(5));
  restart();

  EXPECT_EQ(advance(0s), "deliver 4 below 4 to shard 2: 1");
}

TEST_F(FollowUp, SaysTheSmallestNumberThatItsShardHasNotConfirmed) {
  attach("w", {"q"});
  claim("w", 4);
  enqueue("q", 4);
  complete_with("w", held(1, 1), {to_shard(2)});
  complete_with("w", held(2, 2), {to_shard(1)});

  EXPECT_EQ(
    complete_with("w", held(3, 3), {to_shard(2)}),
    "w: answered 3/t3 ok; deliver 8 below 4 to shard 2: 1");
  confirm(2, position(4));
  EXPECT_EQ(
    complete_with("w", held(4, 4), {to_shard(2)}),
    "w: answered 4/t4 ok; deliver 10 below 8 to shard 2: 1");
}

TEST_F(FollowUp, OfAnotherShardIsTakenOnce) {
  EXPECT_EQ(take(from_shard(3, 7)), "took 7 of shard 3");
  EXPECT_EQ(state_of(1), "ready");

  EXPECT_EQ(take(from_shard(3, 7)), "took 7 of shard 3");
  restart();
  EXPECT_EQ(take(from_shard(3, 7)), "took 7 of shard 3");

  EXPECT_EQ(state_of(2), "not in memory");
}

TEST_F(FollowUp, BelowWhatWasAnsweredIsNotTakenAgain) {
  take(from_shard(3, 7));
  take(from_shard(3, 8, 8));

  EXPECT_EQ(take(from_shard(3, 7)), "took 7 of shard 3");

  EXPECT_EQ(state_of(3), "not in memory");
}

TEST_F(FollowUp, OfDifferentShardsAreToldApart) {
  take(from_shard(3, 7));
  take(from_shard(4, 7));

  EXPECT_EQ(state_of(2), "ready");
}

TEST_F(FollowUp, IsStillKnownWhenProducersAreForgotten) {
  take(from_shard(3, 7));
  enqueue("q", 1, {.request = 1});
  advance(limits::producer_session_idle_max + 1ms);
  take_snapshot();

  take(from_shard(3, 7));

  EXPECT_EQ(enqueue("q", 1, {.request = 1}), "p: refused session_expired");
}

TEST_F(FollowUp, IsTakenWhateverIsUnanswered) {
  for (std::uint64_t number = 1; number <= limits::producer_requests_max + 1; ++number)
    take(from_shard(3, number));

  EXPECT_EQ(state_of(limits::producer_requests_max + 1), "ready");
}

TEST_F(FollowUp, IsTakenIntoAQueueBeyondTheTenantsLimit) {
  enqueue("q");
  add_queues(limits::queues_per_tenant_max);
  auto taken = from_shard(3, 7);
  taken.runs[0].queue.queue = "new";

  take(taken);

  EXPECT_EQ(state_of(2), "ready");
}

// Keys, groups and queues.

TEST_F(FollowUp, WithAKeyThatIsTakenIsTheTaskThatHasIt) {
  lease_one();
  enqueue("q", 1, {.key = "x"});

  complete_with("w", held(1, 1), {keyed("x", on_duplicate::existing)});

  EXPECT_EQ(state_of(1), "completed");
  EXPECT_EQ(state_of(3), "not in memory");
}

TEST_F(FollowUp, ThatRejectsDuplicatesIsNotMadeAndTheCompletionStands) {
  lease_one();
  enqueue("q", 1, {.key = "x"});

  EXPECT_EQ(
    complete_with("w", held(1, 1), {keyed("x", on_duplicate::reject), to_shard(0)}),
    "w: answered 1/t1 ok");

  EXPECT_EQ(state_of(3), "ready");
  EXPECT_EQ(state_of(4), "not in memory");
}

TEST_F(FollowUp, MayDeferTheTaskThatHasItsKey) {
  lease_one();
  enqueue("q", 1, {.key = "x"});
  auto later = keyed("x", on_duplicate::defer);
  later.run.not_before = state().at + 2s;

  complete_with("w", held(1, 1), {later});
  EXPECT_EQ(state_of(2), "scheduled");

  restart();
  EXPECT_EQ(state_of(2), "scheduled");
}

TEST_F(FollowUp, MayHaveTheKeyOfTheTaskThatCompletes) {
  attach("w", {"q"});
  claim("w", 1);
  enqueue("q", 1, {.key = "x"});

  complete_with("w", held(1, 1), {keyed("x", on_duplicate::defer)});
  EXPECT_EQ(state_of(2), "ready");

  restart();
  EXPECT_EQ(enqueue("q", 1, {.key = "x"}), "p: enqueued 2 existing");
}

TEST_F(FollowUp, WithAKeyIsTakenOnce) {
  auto taken = from_shard(3, 7);
  taken.runs = {keyed("x", on_duplicate::defer).run};
  take(taken);
  attach("w", {"q"});
  claim("w", 1);
  complete("w", held(1, 1));

  // Task 1 has ended, so deciding the same follow-up again would create a second task.
  take(taken);
  restart();
  EXPECT_EQ(take(taken), "took 7 of shard 3");

  EXPECT_EQ(state_of(2), "not in memory");
}

TEST_F(FollowUp, ThatMetATaskWithItsKeyIsNotTakenAgain) {
  enqueue("q", 1, {.key = "x"});
  auto taken = from_shard(3, 7);
  taken.runs = {keyed("x", on_duplicate::existing).run};
  take(taken);
  cancel(1);
  advance(task_settings{}.retention + 1ms);
  take_snapshot();
  advance(task_settings{}.retention + 1ms);

  restart();
  take(taken);

  EXPECT_EQ(state_of(2), "not in memory");
}

TEST_F(FollowUp, HasTheSettingsOfItsQueue) {
  lease_one();
  queue_config settings;
  settings.defaults.max_attempts = 1;
  configure("q", settings);
  auto made = to_shard(0);
  made.run.left_to_queue = static_cast<std::uint16_t>(core::setting_bit::max_attempts);

  complete_with("w", held(1, 1), {made});

  EXPECT_EQ(core::find_segment(state().segments, task(2))->settings.max_attempts, 1);
}

TEST_F(FollowUp, IsEnqueuedThoughItsQueueIsFull) {
  lease_one();
  queue_config settings;
  settings.max_depth = 1;
  configure("q", settings);

  auto said = complete_with("w", held(1, 1), {to_shard(0), to_shard(0)});
  EXPECT_TRUE(said.starts_with("w: answered 1/t1 ok")) << said;
  take(from_shard(3, 7));

  EXPECT_EQ(state_of(4), "ready");
}

TEST_F(FollowUp, IntoNewQueuesThatAreTooManyTogetherRefusesTheCompletion) {
  lease_one();
  add_queues(limits::queues_per_tenant_max - 1);

  auto said = complete_with("w", held(1, 1), {to_shard(0, "new1"), to_shard(0, "new2")});
  EXPECT_TRUE(said.starts_with("w: answered 1/t1 too_large (follow-up: queue \"new2\"")) << said;

  EXPECT_EQ(
    complete_with("w", held(1, 1), {to_shard(0, "new1"), to_shard(0, "new1")}),
    "w: answered 1/t1 ok");
}

TEST_F(FollowUp, GoesToTheShardOfItsGroupElseItsKeyElseStays) {
  auto run = to_shard(0).run;
  EXPECT_EQ(core::shard_of_follow_up(run, shard_id{5}, 16), shard_id{5});

  run.key = "k";
  EXPECT_EQ(
    core::shard_of_follow_up(run, shard_id{5}, 16), core::shard_of_name(run.queue, "k", 16));

  run.group = "g";
  EXPECT_EQ(
    core::shard_of_follow_up(run, shard_id{5}, 16), core::shard_of_name(run.queue, "g", 16));
}

} // namespace
} // namespace codeq::test
