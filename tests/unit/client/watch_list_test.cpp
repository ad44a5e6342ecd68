// SPDX-License-Identifier: Apache-2.0

#include "base/tuning.hpp"
#include "client/watch_list.hpp"
#include "protocol/error_code.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace codeq::client {

namespace {

constexpr store_identity store_a{1, 2};
constexpr task_id task_0{shard_id{0}, 5};
constexpr task_id task_1{shard_id{1}, 6};
constexpr task_id task_2{shard_id{0}, 7};

class WatchList : public ::testing::Test {
protected:
  void connect(store_identity store = store_a) {
    list.connect([this](const auto& frame) { asked.push_back(read(frame)); }, store);
  }

  void add(std::uint64_t watch, const std::vector<task_id>& tasks) {
    list.add(watch, tasks, [this, watch](const result<ended_task>& how) {
      auto text = std::to_string(watch) + " ";
      if (!how)
        text += to_string(how.error().code);
      else
        text += std::string(to_string(how->state)) + " " + std::to_string(how->attempt) + " "
                + how->result + how->error_text;
      told.push_back(text);
    });
  }

  /// As `add`, and also records progress.
  void watch(std::uint64_t number, const std::vector<task_id>& tasks) {
    list.add(
      number,
      tasks,
      [](const result<ended_task>&) {},
      [this, number](const task_progress& p) {
        told.push_back(
          std::to_string(number) + " at " + std::to_string(p.percent) + " " + p.note + " in "
          + std::to_string(p.attempt));
      });
  }

  static std::string read(const protocol::await_request& request) {
    auto text = request.read([](auto reader) -> result<std::string> {
      auto line = "shard " + std::to_string(reader.getShard()) + ":";
      line += reader.getProgress() ? " with progress" : "";
      line += reader.getWithdraws() ? " no longer" : "";
      for (auto seq : reader.getSeqs())
        line += " " + std::to_string(seq);
      return line;
    });
    return text ? *text : to_string(text.error());
  }

  struct end {
    task_id task;
    schema::TaskState state = schema::TaskState::COMPLETED;
    std::string text{};
    errc code = errc::none;
    std::uint8_t percent = 0;
  };

  static protocol::tasks_ended ended(const end& one) {
    return protocol::tasks_ended::build([&](auto root) {
      root.setShard(value(one.task.shard));
      auto tasks = root.initTasks(1);
      tasks[0].setSeq(one.task.seq);
      tasks[0].setState(one.state);
      tasks[0].setCode(protocol::to_schema(one.code));
      tasks[0].setAttempt(2);
      tasks[0].setPercent(one.percent);
      auto texts = root.initTexts();
      texts.initEnds(1).set(0, static_cast<std::uint32_t>(one.text.size()));
      auto bytes = texts.initBytes(static_cast<capnp::uint>(one.text.size()));
      std::copy(one.text.begin(), one.text.end(), bytes.asChars().begin());
    });
  }

  watch_list list;
  std::vector<std::string> asked;
  std::vector<std::string> told;
};

using lines = std::vector<std::string>;

} // namespace

TEST_F(WatchList, AsksEachShardForItsTasks) {
  connect();

  add(1, {task_0, task_1, task_2});

  EXPECT_EQ(asked, (lines{"shard 0: 5 7", "shard 1: 6"}));
}

TEST_F(WatchList, ATaskIsAskedForOnceHoweverManyWait) {
  connect();
  add(1, {task_0});
  add(2, {task_0});

  EXPECT_EQ(asked, lines{"shard 0: 5"});
  ASSERT_TRUE(list.accept(ended({task_0, schema::TaskState::COMPLETED, "fine"})));
  EXPECT_EQ(told, (lines{"1 completed 2 fine", "2 completed 2 fine"}));
  EXPECT_EQ(list.size(), 0u);
}

TEST_F(WatchList, AllThatIsOpenIsAskedForAgainAfterAReconnect) {
  connect();
  add(1, {task_0, task_1});
  ASSERT_TRUE(list.accept(ended({task_1, schema::TaskState::DEAD, "boom"})));
  list.disconnect();
  add(2, {task_2});
  asked.clear();

  connect();

  EXPECT_EQ(asked, lines{"shard 0: 5 7"});
  EXPECT_EQ(told, lines{"1 dead 2 boom"});
}

TEST_F(WatchList, OneMessageNamesNoMoreTasksThanItsLimit) {
  std::vector<task_id> many;
  for (sequence seq = 1; seq <= tuning::awaited_tasks_per_request_max + 1; ++seq)
    many.push_back({shard_id{0}, seq});
  connect();

  add(1, many);

  ASSERT_EQ(asked.size(), 2u);
  EXPECT_EQ(asked[1], "shard 0: 1001");
}

TEST_F(WatchList, AnUnknownTaskIsAnError) {
  connect();
  add(1, {task_0});

  ASSERT_TRUE(list.accept(ended({task_0, schema::TaskState::SCHEDULED, "", errc::unknown_task})));

  EXPECT_EQ(told, lines{"1 unknown_task"});
}

TEST_F(WatchList, AShardThatTheStoreDoesNotHaveIsAnUnknownTask) {
  connect();

  add(1, {{shard_id{2}, 1}});

  EXPECT_TRUE(asked.empty());
  EXPECT_EQ(told, lines{"1 unknown_task"});
}

TEST_F(WatchList, ARemovedWishIsNotTold) {
  connect();
  add(1, {task_0});
  add(2, {task_0});

  list.remove(1, {task_0});
  ASSERT_TRUE(list.accept(ended({task_0})));

  EXPECT_EQ(told, lines{"2 completed 2 "});
}

TEST_F(WatchList, CoordinatorForgetsATaskThatNobodyAwaitsAnyMore) {
  connect();
  add(1, {task_0});
  add(2, {task_0});
  asked.clear();

  list.remove(1, {task_0});
  EXPECT_EQ(asked, lines{});
  list.remove(2, {task_0});
  EXPECT_EQ(asked, lines{"shard 0: no longer 5"});
  list.remove(2, {task_0});
  EXPECT_EQ(asked.size(), 1u);
}

TEST_F(WatchList, AnotherStoreEndsAllWaits) {
  connect();
  add(1, {task_0});
  list.disconnect();

  connect({2, 2});

  EXPECT_EQ(told, lines{"1 session_expired"});
  EXPECT_EQ(list.size(), 0u);
}

TEST_F(WatchList, TextsThatDoNotFitAreAProtocolError) {
  connect();
  add(1, {task_0});
  auto lying = protocol::tasks_ended::build([&](auto root) {
    root.initTasks(1)[0].setSeq(task_0.seq);
    root.initTexts().initEnds(1).set(0, 1000);
  });

  EXPECT_FALSE(list.accept(lying));
  EXPECT_TRUE(told.empty());
}

TEST_F(WatchList, ProgressIsToldToThoseWhoWatchAndEndsNothing) {
  connect();
  add(1, {task_0});
  watch(2, {task_0});

  ASSERT_TRUE(list.accept(
    ended({.task = task_0, .state = schema::TaskState::LEASED, .text = "half", .percent = 50})));

  EXPECT_EQ(told, std::vector<std::string>{"2 at 50 half in 2"});
  EXPECT_EQ(list.size(), 1u);
}

TEST_F(WatchList, ProgressIsAskedForOnceSomebodyWantsIt) {
  connect();

  add(1, {task_0});
  watch(2, {task_0});
  watch(3, {task_0});

  EXPECT_EQ(asked, (std::vector<std::string>{"shard 0: 5", "shard 0: with progress 5"}));
}

TEST_F(WatchList, ProgressIsAskedForAgainAfterAReconnect) {
  connect();
  watch(1, {task_0});
  add(2, {task_2});
  asked.clear();

  list.disconnect();
  connect();

  EXPECT_EQ(asked, (std::vector<std::string>{"shard 0: 7", "shard 0: with progress 5"}));
}

TEST_F(WatchList, AsksAgainForTasksThatWerePutOff) {
  connect();
  add(1, {task_0, task_2});
  add(2, {task_2});
  asked.clear();
  ASSERT_TRUE(list.accept(ended({.task = task_0, .code = errc::overloaded})));
  ASSERT_TRUE(list.accept(ended({.task = task_2, .code = errc::overloaded})));
  EXPECT_TRUE(list.wants_to_ask_again());
  EXPECT_TRUE(told.empty());
  list.remove(1, {task_0, task_2});
  asked.clear();

  list.ask_again();

  EXPECT_EQ(asked, std::vector<std::string>{"shard 0: 7"});
  EXPECT_FALSE(list.wants_to_ask_again());
}

TEST_F(WatchList, AsksAgainForAPartOfManyTasksAtATime) {
  connect();
  std::vector<task_id> tasks;
  for (sequence seq = 1; seq <= watch_list::asked_again_max + 1; ++seq)
    tasks.push_back({shard_id{0}, seq});
  add(1, tasks);
  for (auto task : tasks)
    ASSERT_TRUE(list.accept(ended({.task = task, .code = errc::overloaded})));

  list.ask_again();
  EXPECT_TRUE(list.wants_to_ask_again());
  asked.clear();
  list.ask_again();

  EXPECT_EQ(asked, std::vector<std::string>{"shard 0: " + std::to_string(tasks.back().seq)});
  EXPECT_FALSE(list.wants_to_ask_again());
}

TEST_F(WatchList, TasksOfAShardThatMovedAreRequestedAgain) {
  bool is_reached = false;
  list.connect(
    watch_list::way{
      [this](shard_id, const protocol::await_request& frame) { asked.push_back(read(frame)); },
      [&](shard_id shard) { return shard == shard_id{0} || is_reached; }},
    store_a);
  add(1, {task_0, task_1, task_2});
  EXPECT_EQ(asked, std::vector<std::string>{"shard 0: 5 7"});
  asked.clear();

  is_reached = true;
  const std::vector<shard_id> moved{shard_id{1}};
  list.resend(moved);

  EXPECT_EQ(asked, std::vector<std::string>{"shard 1: 6"});
}

} // namespace codeq::client
