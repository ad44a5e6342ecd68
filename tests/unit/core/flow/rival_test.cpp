// SPDX-License-Identifier: Apache-2.0
#include "support/shard_fixture.hpp"

#include <gtest/gtest.h>

namespace codeq::test {
namespace {

using namespace std::chrono_literals;

/// A board on which the test writes the task of shard 1.
class written_board final : public core::ready_board {
public:
  struct row {
    std::optional<core::ready_head> shown;
    std::optional<core::ready_head> rival;
    /// Replaces `rival` once that was read.
    std::optional<core::ready_head> later_rival;
    /// The task of shard 2, which another coordinator serves.
    std::optional<core::ready_head> far{};
    /// Shard 1 has fairness keys.
    bool has_turns = false;
  };

  class place final : public core::queue_board {
  public:
    explicit place(row& at) : row_(at) {}

    void publish(const std::optional<core::ready_head>& head) override { row_.shown = head; }

    void publish_turn(core::shown_turn turn) override { row_.shown = turn.head; }

    [[nodiscard]] core::key_credits share_turns(std::size_t, std::string_view) override {
      return {};
    }

    [[nodiscard]] bool has_turns() const override { return row_.has_turns; }

    [[nodiscard]] std::optional<core::rival_head> best_elsewhere() const override {
      auto rival = row_.rival;
      if (row_.later_rival)
        row_.rival = row_.later_rival;
      if (!rival)
        return std::nullopt;
      return core::rival_head{*rival, shard_id{1}};
    }

    [[nodiscard]] std::optional<core::rival_head> best_far() const override {
      if (!row_.far)
        return std::nullopt;
      return core::rival_head{*row_.far, shard_id{2}};
    }

  private:
    row& row_;
  };

  [[nodiscard]] std::unique_ptr<core::queue_board>
  join(const queue_address& queue, shard_id) override {
    return std::make_unique<place>(rows[queue.queue]);
  }

  std::map<std::string, row> rows;
};

/// A shard beside others that have tasks of the same queues.
class Rival : public shard_fixture {
protected:
  Rival() { state().join_board(board_); }

  void set_rival(const std::string& queue, std::uint8_t priority, duration age = duration{0}) {
    board_->rows[queue].rival = core::ready_head{priority, now() - age};
  }

  void set_far(const std::string& queue, std::uint8_t priority, duration age = duration{0}) {
    board_->rows[queue].far = core::ready_head{priority, now() - age};
  }

  /// A claim of a worker that can have the tasks of all coordinators.
  std::string claim_reaching_all(const std::string& worker, std::uint32_t credits) {
    core::claim wanted{0, credits};
    wanted.reaches_all = true;
    for (const auto& [peer, attached] : state().attached)
      if (attached.worker->name == worker)
        wanted.peer = peer;
    return decide(wanted);
  }

  void set_rival_turn(const std::string& queue, std::int64_t time) {
    board_->rows[queue].rival = core::ready_head{0, core::time_of_turn(time)};
  }

  /// The priority that the board shows of this shard; -1 when it shows no task.
  int shown(const std::string& queue) {
    const auto& head = board_->rows[queue].shown;
    return head ? head->priority : -1;
  }

  std::shared_ptr<written_board> board_ = std::make_shared<written_board>();
};

TEST_F(Rival, TaskOfAHigherPriorityOnAnotherShardComesFirst) {
  enqueue("q", 1, {.priority = 3});
  set_rival("q", 5);
  attach("w", {"q"});

  EXPECT_EQ(claim("w", 2), "w: outranked 2 by 1 with 3");
  EXPECT_EQ(state_of(1), "ready");

  board_->rows["q"].rival.reset();
  EXPECT_EQ(claim("w", 2), "w: parked; w: got 1/t1");
}

TEST_F(Rival, TaskOfAnotherCoordinatorComesFirstForAWorkerThatReachesIt) {
  enqueue("q", 1, {.priority = 7});
  enqueue("q", 2, {.priority = 3});
  set_far("q", 5);
  attach("v", {"q"});
  attach("w", {"q"});

  EXPECT_EQ(
    claim_reaching_all("w", 3), "w: outranked 2 by 2 with 3; w: got 1/t1 and there is more");
  EXPECT_EQ(claim("v", 1), "v: got 2/t2 and there is more");
}

TEST_F(Rival, OneWorkerThatReachesItDoesNotKeepTasksFromOthers) {
  attach("v", {"q"});
  attach("w", {"q"});
  set_far("q", 5);
  claim_reaching_all("w", 2);
  claim("v", 1);

  EXPECT_EQ(
    enqueue("q", 2, {.priority = 3}),
    "p: enqueued 1 2; w: outranked 2 by 2 with 3; v: got 1/t1 and there is more");
}

TEST_F(Rival, WorkerHearsWhenItNeedsNotWaitForAnotherCoordinatorAnyMore) {
  enqueue("q", 1, {.priority = 3});
  set_far("q", 5);
  attach("w", {"q"});
  EXPECT_EQ(claim_reaching_all("w", 1), "w: outranked 1 by 2 with 3");

  EXPECT_EQ(decide(core::look_at_rivals{}), "");
  set_far("q", 3);
  EXPECT_EQ(decide(core::look_at_rivals{}), "w: work available");
  EXPECT_EQ(decide(core::look_at_rivals{}), "");
  EXPECT_EQ(claim_reaching_all("w", 1), "w: got 1/t1");
}

TEST_F(Rival, WorkerThatWaitedForAnotherCoordinatorLearnsOfARivalHereByItsClaim) {
  enqueue("q", 1, {.priority = 3});
  set_far("q", 5);
  attach("w", {"q"});
  claim_reaching_all("w", 1);
  board_->rows["q"].far.reset();
  set_rival("q", 4);

  EXPECT_EQ(decide(core::look_at_rivals{}), "w: work available");
  EXPECT_EQ(claim_reaching_all("w", 1), "w: outranked 1 by 1 with 3");
}

TEST_F(Rival, OlderTaskOfAnotherCoordinatorComesFirstFromFiveSecondsOn) {
  enqueue("q");
  attach("w", {"q"});

  set_far("q", 0, 5001ms);
  EXPECT_EQ(claim_reaching_all("w", 1), "w: outranked 1 by 2 with 0");
  set_far("q", 0, 5000ms);
  EXPECT_EQ(claim_reaching_all("w", 1), "w: got 1/t1");
}

TEST_F(Rival, TurnsOfFairnessKeysAreNotComparedWithOtherCoordinators) {
  enqueue("q", 1, {.fairness = {"a", 1}});
  board_->rows["q"].far = core::ready_head{0, core::time_of_turn(0)};
  attach("w", {"q"});

  EXPECT_EQ(claim_reaching_all("w", 1), "w: got 1/t1");
}

TEST_F(Rival, OnlyTasksBelowItsPriorityWait) {
  enqueue("q", 2, {.priority = 7});
  enqueue("q", 1, {.priority = 5});
  enqueue("q", 1, {.priority = 3});
  set_rival("q", 5);
  attach("w", {"q"});

  EXPECT_EQ(
    claim("w", 9), "w: outranked 6 by 1 with 3; w: got 1/t1 2/t2 3/t3 and there is more");
}

TEST_F(Rival, TaskThatWaitedForOneOfThisShardComesBeforeThoseOfALowerPriority) {
  enqueue("q", 1, {.priority = 5, .fairness = {"a", 1}});
  enqueue("q", 2, {.priority = 3, .fairness = {"a", 1}});
  board_->rows["q"].later_rival = core::ready_head{5, core::time_of_turn(0)};
  attach("w", {"q"});

  EXPECT_EQ(claim("w", 3), "w: outranked 2 by 1 with 3; w: got 1/t1 and there is more");
}

TEST_F(Rival, TaskOfTheSamePriorityComesFirstOnceItIsOlderByMoreThanASecond) {
  enqueue("q");
  attach("w", {"q"});

  set_rival("q", 0, 1001ms);
  EXPECT_EQ(claim("w", 1), "w: outranked 1 by 1 with 0");
  set_rival("q", 0, 1000ms);
  EXPECT_EQ(claim("w", 1), "w: got 1/t1");
}

TEST_F(Rival, TurnOfAFairnessKeyComesFirstOnceItIsEarlierByMoreThanASecondOfRunTime) {
  enqueue("q", 3, {.fairness = {"a", 1}});
  attach("w", {"q"});
  claim("w", 1);
  advance(5s);
  complete("w", held(1, 1));

  // The task that ran longer than expected makes its key miss a round.
  set_rival_turn("q", 4500);
  EXPECT_EQ(claim("w", 1), "w: got 2/t2 and there is more");
  EXPECT_EQ(claim("w", 1), "w: outranked 1 by 1 with 0");
  set_rival_turn("q", 9500);
  EXPECT_EQ(claim("w", 1), "w: got 3/t3");
}

TEST_F(Rival, AgeOfATaskIsNotComparedWithTheTurnOfAKey) {
  enqueue("q", 1, {.fairness = {"a", 1}});
  attach("w", {"q"});

  set_rival("q", 0, 5000ms);
  EXPECT_EQ(claim("w", 1), "w: got 1/t1");
}

TEST_F(Rival, TasksWithoutKeysTakeTurnsOnceAnotherShardHasKeys) {
  enqueue("q", 2);
  EXPECT_FALSE(core::is_turn(board_->rows["q"].shown->enqueued_at));
  board_->rows["q"].has_turns = true;
  attach("w", {"q"});

  EXPECT_EQ(claim("w", 1), "w: got 1/t1 and there is more");

  EXPECT_TRUE(core::is_turn(board_->rows["q"].shown->enqueued_at));
  EXPECT_TRUE(state().find_queue({"default", "q"})->fair);
}

TEST_F(Rival, ParkedCreditsGoBackWhenAWorseTaskArrives) {
  attach("w", {"q"});
  claim("w", 1);
  enqueue("other");
  set_rival("q", 5);

  EXPECT_EQ(enqueue("q"), "p: enqueued 2; w: outranked 1 by 1 with 0");
}

TEST_F(Rival, TasksOfOtherQueuesUseTheCreditsFirst) {
  enqueue("a", 1, {.priority = 3});
  enqueue("b");
  set_rival("a", 5);
  attach("w", {"a", "b"});

  EXPECT_EQ(
    claim("w", 2), "w: outranked 1 by 1 with 3; w: got 2/t1 and there is more");
}

TEST_F(Rival, WorkerHearsOfTasksOfOtherQueuesOnceItsCreditsWentBack) {
  enqueue("a", 1, {.priority = 3});
  set_rival("a", 5);
  attach("w", {"a", "b"});
  claim("w", 1);

  EXPECT_EQ(enqueue("a"), "p: enqueued 2");
  EXPECT_EQ(enqueue("b"), "p: enqueued 3; w: work available");
  EXPECT_EQ(enqueue("b"), "p: enqueued 4");
}

TEST_F(Rival, WorkerOfAPrefixHearsOfThemToo) {
  enqueue("q-a", 1, {.priority = 3});
  set_rival("q-a", 5);
  attach("w", {"q-*"});
  EXPECT_EQ(claim("w", 1), "w: outranked 1 by 1 with 3");

  EXPECT_EQ(enqueue("q-b"), "p: enqueued 2; w: work available");
}

TEST_F(Rival, BoardShowsTheFirstTaskThatMayBeGranted) {
  enqueue("q", 1, {.priority = 3});
  EXPECT_EQ(shown("q"), 3);
  enqueue("q", 1, {.priority = 7});
  EXPECT_EQ(shown("q"), 7);

  cancel(2);
  EXPECT_EQ(shown("q"), 3);

  attach("w", {"q"});
  claim("w", 1);
  EXPECT_EQ(shown("q"), -1);
  abandon("w", held(1, 1));
  EXPECT_EQ(shown("q"), 3);
}

TEST_F(Rival, BoardShowsTheTimeOfTheEnqueueAlsoAfterARetry) {
  enqueue("q");
  auto enqueued = now();
  advance(5s);
  enqueue("q");
  attach("w", {"q"});
  claim("w", 1);
  EXPECT_EQ(board_->rows["q"].shown->enqueued_at, now());

  nack("w", held(1, 1), 0ms);

  EXPECT_EQ(board_->rows["q"].shown->enqueued_at, enqueued);
}

TEST_F(Rival, BoardShowsNoTaskThatIsHeldBack) {
  enqueue("q", 2);
  pause("q");
  EXPECT_EQ(shown("q"), -1);
  unpause("q");
  EXPECT_EQ(shown("q"), 0);

  queue_config config;
  config.max_leased = 1;
  configure("q", config);
  attach("w", {"q"});
  claim("w", 1);
  EXPECT_EQ(shown("q"), -1);
  complete("w", held(1, 1));
  EXPECT_EQ(shown("q"), 0);

  state().are_grants_paused = true;
  state().move_all_heads();
  advance(1ms);
  EXPECT_EQ(shown("q"), -1);
}

} // namespace
} // namespace codeq::test
