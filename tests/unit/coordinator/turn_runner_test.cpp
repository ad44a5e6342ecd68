// SPDX-License-Identifier: Apache-2.0

#include "base/clock.hpp"
#include "base/tuning.hpp"
#include "coordinator/shard/turn_runner.hpp"
#include "core/state/task_limits.hpp"

#include <gtest/gtest.h>

namespace codeq::coordinator {
namespace {

using namespace std::chrono_literals;

class turn_runner_fixture : public testing::Test {
protected:
  /// Enqueues one task in the current turn. True when that opened the turn.
  bool enqueue() {
    core::enqueue_run run;
    run.queue = {"default", "a"};
    run.tasks = {bytes("body"), {4}};
    auto session = make_producer_id(clock_.now().shard, 1, 1);
    return runner_.decide(core::enqueue{1, {session, next_request_++, 0}, {run}}, clock_.now());
  }

  std::size_t close() { return runner_.close(clock_.now()).size(); }

  void committed(std::uint64_t number) { runner_.committed(number, clock_.now().steady); }

  /// Closes an empty turn after 10 ms.
  void tick() {
    clock_.advance(10ms);
    runner_.decide(core::tick{}, clock_.now());
    close();
  }

  /// Number of effects that the next turn releases; empty when they have to wait.
  std::optional<std::size_t> release() {
    auto effects = runner_.release();
    return effects ? std::optional{effects->size()} : std::nullopt;
  }

  std::optional<turn_runner::wakeup> arm(std::optional<monotonic_time> timers = {}) {
    return runner_.arm(clock_.now(), timers);
  }

  /// A limit key of `api` that the shard of this test owns among two.
  [[nodiscard]] std::string key_of_shard_0() const {
    for (int i = 0;; ++i)
      if (!state_.permits.owner_elsewhere("default", {"api", std::to_string(i)}))
        return std::to_string(i);
  }

  /// Releases all turns that it can, and returns how many permits they give.
  std::size_t permits_given() {
    std::size_t given = 0;
    while (auto effects = runner_.release())
      for (const auto& effect : *effects)
        if (const auto* told = std::get_if<core::shard_told>(&effect))
          if (const auto* answer = std::get_if<core::give_permits>(&told->what))
            given += answer->given.size();
    return given;
  }

  /// Another shard asks for 900 permits of a key with a rate of 1,000 a second and a burst of 20.
  void want_permits_of_rate() {
    core::open_permits(state_, 2);
    core::set_limit rule{1, 1, {"default", "api"}};
    rule.definition = limit_definition{.rate = start_rate{1000, 1s, 20}};
    runner_.decide(rule, clock_.now());
    core::ask_permits question{shard_id{1}, 1, 1};
    question.is_list = true;
    for (core::permit_number number = 1; number <= 900; ++number)
      question.wanted.push_back({number, "default", {{"api", key_of_shard_0(), 1}}});
    runner_.decide(question, clock_.now());
    close();
  }

  monotonic_time in(duration wait) { return clock_.now().steady + wait; }

  base::manual_clock clock_;
  core::shard_state state_{shard_id{0}, 1};
  turn_runner runner_{state_, clock_.now().steady};
  std::uint64_t next_request_ = 1;
};

using TurnRunner = turn_runner_fixture;

TEST_F(TurnRunner, CommandsShareATurnUntilItIsClosed) {
  EXPECT_TRUE(enqueue());
  EXPECT_FALSE(enqueue());
  EXPECT_EQ(close(), 1u);
  EXPECT_TRUE(enqueue());
}

TEST_F(TurnRunner, IsFullWithAsManyCommandsAsATurnMayHave) {
  for (std::size_t i = 1; i < tuning::turn_commands_max; ++i)
    runner_.decide(core::tick{}, clock_.now());
  EXPECT_FALSE(runner_.is_full());

  runner_.decide(core::tick{}, clock_.now());

  EXPECT_TRUE(runner_.is_full());
}

TEST_F(TurnRunner, EffectsWaitForTheCommitOfTheirTurn) {
  enqueue();
  close();
  EXPECT_FALSE(release());
  EXPECT_FALSE(runner_.is_settled());

  committed(runner_.submitted());

  EXPECT_EQ(release(), 1u);
  EXPECT_TRUE(runner_.is_settled());
}

TEST_F(TurnRunner, CountsTheTasksThatAClaimOfAnotherCoordinatorHasNotGot) {
  constexpr auto claim = claim_peers_first + 1;
  constexpr core::peer_id worker = 1;
  auto who = std::make_shared<const worker_identity>(worker_identity{"w", 1});
  for (auto peer : {claim, worker}) {
    runner_.decide(core::attach_worker{peer, who, {{"default", "a"}}, {}, {}}, clock_.now());
    runner_.decide(core::claim{peer, 1}, clock_.now());
  }
  enqueue();
  enqueue();
  EXPECT_EQ(runner_.granted_to(claim), 0u) << "tasks are granted at the end of a turn";
  close();
  EXPECT_EQ(runner_.granted_to(claim), 1u);
  EXPECT_EQ(runner_.granted_to(worker), 0u);

  committed(runner_.submitted());
  EXPECT_TRUE(release());

  EXPECT_EQ(runner_.granted_to(claim), 0u);
}

TEST_F(TurnRunner, StartsOfARateDoNotPileUpWhileACommitIsDelayed) {
  want_permits_of_rate();

  for (int i = 0; i < 100; ++i)
    tick();
  committed(runner_.submitted());
  EXPECT_LE(permits_given(), 20u + 50u + 10u) << "a second would have allowed all";

  for (int i = 0; i < 10; ++i) {
    tick();
    committed(runner_.submitted());
  }
  EXPECT_GE(permits_given(), 100u);
}

TEST_F(TurnRunner, StartsOfARateGoOnWhileEachCommitTakesLong) {
  want_permits_of_rate();

  std::size_t given = 0;
  for (int i = 0; i < 10; ++i) {
    auto writing = runner_.submitted();
    for (int j = 0; j < 8; ++j) {
      enqueue();
      tick();
    }
    committed(writing);
    given += permits_given();
  }

  EXPECT_GE(given, 400u);
  EXPECT_LE(given, 800u + 20u);
}

TEST_F(TurnRunner, SharesAreHeldUntilTheCommitOfTheirTurn) {
  auto first = std::make_shared<const int>(1);
  auto second = std::make_shared<const int>(2);
  runner_.hold(first);
  enqueue();
  close();
  runner_.hold(second);
  enqueue();
  EXPECT_EQ(first.use_count(), 2);

  committed(1);
  release();
  EXPECT_EQ(first.use_count(), 1);
  close();
  EXPECT_EQ(second.use_count(), 2);
  committed(2);
  release();

  EXPECT_EQ(second.use_count(), 1);
}

TEST_F(TurnRunner, EffectsWithoutRecordsWaitForAllTurnsBeforeThem) {
  enqueue();
  close();
  runner_.decide(core::describe_task{1, 1, 1}, clock_.now());
  EXPECT_EQ(close(), 0u);
  EXPECT_EQ(runner_.submitted(), 1u);
  EXPECT_FALSE(release());

  committed(1);

  EXPECT_EQ(release(), 1u);
  EXPECT_EQ(release(), 1u);
  EXPECT_FALSE(release());
}

TEST_F(TurnRunner, ALaterCommitCoversEarlierTurns) {
  enqueue();
  close();
  enqueue();
  close();

  committed(2);
  committed(1);

  EXPECT_TRUE(release());
  EXPECT_TRUE(release());
  EXPECT_TRUE(runner_.is_settled());
}

TEST_F(TurnRunner, TakesASnapshotWhenTheIntervalHasPassed) {
  enqueue();
  EXPECT_EQ(close(), 1u);
  clock_.advance(tuning::snapshot_interval);
  runner_.decide(core::tick{}, clock_.now());

  EXPECT_EQ(close(), 1u);
  EXPECT_EQ(state_.records_since_snapshot, 0u);
}

TEST_F(TurnRunner, TakesASnapshotSoonWhenALotWasWritten) {
  enqueue();
  close();
  runner_.note_written(tuning::snapshot_log_bytes - 1);
  clock_.advance(tuning::snapshot_interval_min);
  runner_.decide(core::tick{}, clock_.now());
  EXPECT_EQ(close(), 0u);
  runner_.note_written(1);
  EXPECT_EQ(arm()->wait, 1ms);
  runner_.decide(core::tick{}, clock_.now());

  EXPECT_EQ(close(), 1u);
  EXPECT_EQ(state_.records_since_snapshot, 0u);
}

TEST_F(TurnRunner, LeavesTimeBetweenSnapshotsHoweverMuchIsWritten) {
  enqueue();
  close();
  runner_.note_written(tuning::snapshot_log_bytes);
  EXPECT_EQ(arm()->wait, tuning::snapshot_interval_min);
  clock_.advance(tuning::snapshot_interval_min - duration{1});
  runner_.decide(core::tick{}, clock_.now());

  EXPECT_EQ(close(), 0u);
  EXPECT_EQ(state_.records_since_snapshot, 1u);
}

TEST_F(TurnRunner, TakesNoSnapshotWhenNothingWasWritten) {
  clock_.advance(tuning::snapshot_interval);
  runner_.decide(core::tick{}, clock_.now());

  EXPECT_EQ(close(), 0u);
}

TEST_F(TurnRunner, SleepsWhenNothingHappensByTimeAlone) {
  EXPECT_FALSE(arm());
}

TEST_F(TurnRunner, WakesForWhateverIsFirst) {
  enqueue();
  close();

  EXPECT_EQ(arm()->wait, tuning::snapshot_interval);
  EXPECT_EQ(arm(in(20ms))->wait, 20ms);
}

TEST_F(TurnRunner, ASoonerWakeUpReplacesALaterOne) {
  auto late = arm(in(100ms));
  EXPECT_FALSE(arm(in(200ms)));
  auto soon = arm(in(50ms));

  EXPECT_FALSE(runner_.wake(late->number));
  EXPECT_TRUE(runner_.wake(soon->number));
  EXPECT_TRUE(arm(in(200ms)));
}

} // namespace
} // namespace codeq::coordinator
