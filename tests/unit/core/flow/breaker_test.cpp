// SPDX-License-Identifier: Apache-2.0
#include "codeq/limits.hpp"

#include "support/shard_fixture.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace codeq::test {
namespace {

using namespace std::chrono_literals;

class Breaker : public shard_fixture {
protected:
  /// Leases `count` tasks of `q`, which get the tokens 1..count.
  void lease(int count, const task_settings& settings = {}) {
    attach("w", {"q"});
    claim("w", static_cast<std::uint32_t>(count));
    enqueue("q", static_cast<std::size_t>(count), {.settings = settings});
  }

  /// Ends the leases with these numbers as failed for good.
  void fail_tasks(int first, int last) {
    for (int i = first; i <= last; ++i)
      fail_permanently("w", held(i, i));
  }

  void complete_tasks(int first, int last) {
    for (int i = first; i <= last; ++i)
      complete("w", held(i, i));
  }

  /// Why `q` is paused; "no" when it is not, "operator" when no breaker did it.
  std::string paused() {
    const auto& s = state().find_queue({"default", "q"})->settings;
    if (!s.paused)
      return "no";
    return s.pause_reason.empty() ? "operator" : s.pause_reason;
  }

  /// Leases 20 tasks, of which `first` is the first one, and fails them all.
  void trip(int first = 1) {
    lease(20);
    fail_tasks(first, first + 19);
  }

  /// Takes over what shard 2 carries, with these settings of `q`, and when it was resumed there.
  std::string carry(core::queue_settings settings, timestamp resumed_at = {}) {
    return decide(core::adopt_settings{
      .from = shard_id{2},
      .version = 7,
      .queues = {{{"default", "q"}, std::move(settings), resumed_at}}});
  }

  /// Takes the message of another shard whose breaker has paused `q`.
  void hear_of_a_trip() {
    decide(core::pause_queue{0, 0, {"default", "q"}, true, nullptr, "breaker, elsewhere"});
  }
};

constexpr failure_breaker half{50, 1min};

TEST_F(Breaker, PausesTheQueueWhenMoreThanThatPartFails) {
  configure("q", {.pause_when_failing = half});
  lease(22);
  complete_tasks(1, 10);
  fail_tasks(11, 20);
  EXPECT_EQ(paused(), "no") << "half of them failed, and not more";

  auto said = fail_permanently("w", held(21, 21));

  EXPECT_EQ(paused(), "breaker, 53 % of 21 attempts failed in 1m");
  EXPECT_NE(said.find("q paused: breaker, 53 % of 21 attempts failed in 1m"), std::string::npos);
  EXPECT_EQ(state().find_queue({"default", "q"})->activity.tripped, 1u);
  enqueue("q");
  claim("w", 1);
  EXPECT_EQ(state_of(23), "ready");
  EXPECT_EQ(state_of(22), "leased") << "leases stay valid";
}

TEST_F(Breaker, DecidesFromEnoughAttemptsOn) {
  configure("q", {.pause_when_failing = half});
  lease(20);

  fail_tasks(1, 19);
  EXPECT_EQ(paused(), "no");
  fail_tasks(20, 20);
  EXPECT_EQ(paused(), "breaker, 100 % of 20 attempts failed in 1m");
}

TEST_F(Breaker, IsOffByDefault) {
  lease(40);

  fail_tasks(1, 40);

  EXPECT_EQ(paused(), "no");
}

TEST_F(Breaker, ForgetsWhatEndedBeforeTheWindow) {
  configure("q", {.pause_when_failing = half});
  lease(20);
  fail_tasks(1, 19);
  advance(1min);

  fail_tasks(20, 20);

  EXPECT_EQ(paused(), "no");
}

TEST_F(Breaker, CountsFailuresOfEveryKind) {
  configure("q", {.pause_when_failing = half});
  lease(20, {.retry = {retry_kind::fixed, 1h, 1h}, .lease = 1s});
  fail_tasks(1, 9);
  for (int i = 10; i <= 14; ++i)
    fail("w", held(i, i));
  for (int i = 15; i <= 17; ++i)
    nack("w", held(i, i), 1h);
  advance(2s);
  for (int i = 18; i <= 20; ++i)
    expire(held(i, i));

  EXPECT_EQ(paused(), "breaker, 100 % of 20 attempts failed in 1m");
}

TEST_F(Breaker, CountsNothingThatTheHandlerDidNotEnd) {
  configure("q", {.pause_when_failing = half});
  lease(60);
  fail_tasks(1, 19);
  for (int i = 20; i <= 29; ++i)
    abandon("w", held(i, i));
  for (int i = 30; i <= 39; ++i)
    force(i, force_kind::fail);
  for (int i = 40; i <= 49; ++i) {
    cancel(i);
    fail("w", held(i, i));
  }
  EXPECT_EQ(paused(), "no");

  fail_tasks(50, 50);
  EXPECT_EQ(paused(), "breaker, 100 % of 20 attempts failed in 1m");
}

TEST_F(Breaker, ResumeBeginsANewWindow) {
  configure("q", {.pause_when_failing = half});
  lease(41);
  fail_tasks(1, 20);
  fail_tasks(21, 22);

  EXPECT_EQ(unpause("q"), "o: q depth 0 leased 0 attempts 5");
  fail_tasks(23, 41);

  EXPECT_EQ(paused(), "no");
}

TEST_F(Breaker, PauseAndItsReasonSurviveARestart) {
  configure("q", {.pause_when_failing = half});
  lease(20);
  fail_tasks(1, 20);

  restart();

  EXPECT_EQ(paused(), "breaker, 100 % of 20 attempts failed in 1m");
}

TEST_F(Breaker, NothingIsGrantedInTheTurnOfThePause) {
  configure("q", {.pause_when_failing = half});
  lease(20);
  fail_tasks(1, 19);

  together([&] {
    fail_permanently("w", held(20, 20));
    claim("w", 1);
    enqueue("q");
  });

  EXPECT_EQ(state_of(21), "ready");
}

TEST_F(Breaker, NewSettingsKeepItsReason) {
  configure("q", {.pause_when_failing = half});
  lease(20);
  fail_tasks(1, 20);

  configure("q", {.max_leased = 3});

  EXPECT_EQ(paused(), "breaker, 100 % of 20 attempts failed in 1m");
}

TEST_F(Breaker, OperatorsPauseTakesItsReasonAway) {
  configure("q", {.pause_when_failing = half});
  lease(20);
  fail_tasks(1, 20);

  pause("q");

  EXPECT_EQ(paused(), "operator");
}

TEST_F(Breaker, TripOfAnotherShardPausesTheQueueHere) {
  configure("q", {.pause_when_failing = half});

  hear_of_a_trip();

  EXPECT_EQ(paused(), "breaker, elsewhere");
}

TEST_F(Breaker, TripOfAnotherShardChangesNoQueueThatIsPausedOrHasNoBreaker) {
  hear_of_a_trip();
  EXPECT_EQ(state().find_queue({"default", "q"}), nullptr);

  configure("q", {});
  hear_of_a_trip();
  EXPECT_EQ(paused(), "no");

  configure("q", {.pause_when_failing = half});
  pause("q");
  hear_of_a_trip();
  EXPECT_EQ(paused(), "operator");
}

TEST_F(Breaker, PauseThatTheCarrierOfSettingsMissedGoesOnAndIsToldAgain) {
  configure("q", {.pause_when_failing = half});
  trip();
  const std::string reason = "breaker, 100 % of 20 attempts failed in 1m";

  EXPECT_EQ(
    carry({{.pause_when_failing = half}, false}),
    "q paused: " + reason + "; settings adopted 7 to shard 2");

  EXPECT_EQ(paused(), reason);
  EXPECT_EQ(
    carry({{.pause_when_failing = half}, true, reason}), "settings adopted 7 to shard 2")
    << "it knows";
  carry({{.pause_when_failing = half}, false});
  EXPECT_EQ(paused(), "no") << "it was resumed since";
}

TEST_F(Breaker, PauseThatTheCarrierMissedEndsWhenItIsResumedOrTheBreakerIsTurnedOff) {
  configure("q", {.pause_when_failing = half});
  trip();
  unpause("q");
  EXPECT_EQ(carry({{.pause_when_failing = half}, false}), "settings adopted 7 to shard 2");
  EXPECT_EQ(paused(), "no");

  trip(21);
  carry({{}, false});
  EXPECT_EQ(paused(), "no");
}

TEST_F(Breaker, ResumeBeginsANewWindowOnAShardThatMissedThePause) {
  configure("q", {.pause_when_failing = half});
  lease(40);
  fail_tasks(1, 19);
  const auto version = state().settings_version;

  unpause("q");
  EXPECT_GT(state().settings_version, version) << "the other shards hear of it";
  fail_tasks(20, 38);

  EXPECT_EQ(paused(), "no");
  fail_tasks(39, 39);
  EXPECT_EQ(paused(), "breaker, 100 % of 20 attempts failed in 1m");
}

TEST_F(Breaker, ResumeThatIsCarriedEndsThePauseThatItsShardMissed) {
  configure("q", {.pause_when_failing = half});
  trip();
  advance(1s);

  EXPECT_EQ(
    carry({{.pause_when_failing = half}, false}, state().at + 1ms),
    "settings adopted 7 to shard 2");

  EXPECT_EQ(paused(), "no") << "the pause is not told again";
}

TEST_F(Breaker, ResumeFromBeforeATripDoesNotEndItsPause) {
  configure("q", {.pause_when_failing = half});
  const auto resumed_at = state().at;
  advance(1s);
  trip();

  carry({{.pause_when_failing = half}, false}, resumed_at);

  EXPECT_EQ(paused(), "breaker, 100 % of 20 attempts failed in 1m");
}

TEST_F(Breaker, ResumeThatIsCarriedBeginsANewWindowOnce) {
  configure("q", {.pause_when_failing = half});
  lease(40);
  fail_tasks(1, 19);
  const auto resumed_at = state().at + 1ms;
  carry({{.pause_when_failing = half}, false}, resumed_at);
  fail_tasks(20, 38);
  EXPECT_EQ(paused(), "no");

  carry({{.pause_when_failing = half}, false}, resumed_at);
  fail_tasks(39, 39);

  EXPECT_EQ(paused(), "breaker, 100 % of 20 attempts failed in 1m");
}

TEST_F(Breaker, TripIsInTheAuditLog) {
  configure("q", {.pause_when_failing = half});
  lease(20);
  fail_tasks(1, 20);

  std::string entered;
  for (const auto& e : events())
    if (const auto* audited = std::get_if<core::commands_audited>(&e))
      for (const auto& entry : audited->entries)
        entered += entry.by->subject + " " + std::string(to_string(entry.action)) + " "
                   + entry.queue + ": " + entry.detail;

  EXPECT_EQ(
    entered, "breaker queue pause q: breaker, 100 % of 20 attempts failed in 1m");
}

} // namespace
} // namespace codeq::test
