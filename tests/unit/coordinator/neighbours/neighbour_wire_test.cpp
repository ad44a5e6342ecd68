// SPDX-License-Identifier: Apache-2.0
#include "coordinator/replica/replica_wire.hpp"
#include "core/commands/command.hpp"
#include "protocol/frame.hpp"
#include "replication.capnp.h"
#include "support/task_builder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <variant>
#include <vector>

namespace codeq::coordinator {
namespace {

constexpr shard_id sender{3};
constexpr shard_id receiver{7};

core::enqueue_run some_run(const std::string& group, std::size_t tasks) {
  core::enqueue_run run;
  run.queue = {"acme", "q"};
  run.priority = 4;
  run.group = group;
  run.tasks = test::encode_bodies(tasks, 100);
  return run;
}

shard_message message_of(core::command what) {
  shard_message m;
  m.shard = receiver;
  m.content.emplace<neighbour_message>(neighbour_message{sender, 5, std::move(what)});
  return m;
}

core::take_follow_ups some_follow_ups() {
  return {sender, 90, 88, {some_run("g", 2), some_run("h", 1)}};
}

core::adopt_settings some_settings() {
  queue_config config;
  config.max_depth = 7;
  config.defaults.max_attempts = 3;
  config.fairness_header = "customer";
  config.fairness_weights = {{"vip", 9}};
  return {
    sender,
    9,
    {{{"acme", "q"}, {config, true}, timestamp{duration{77}}},
     {{"other", "r"}, {queue_config{}, true}}},
    {{{"acme", "api"}, {.concurrency = 4}}}};
}

core::ask_permits some_asked_permits() {
  core::ask_permits asked{sender, 5, 9, true};
  asked.held = {{1, "t", {{"api", "k", 2}}, 3}};
  asked.wanted = {{2, "t", {{"api", "k", 2}, {"db", "", 1}}, 0}};
  asked.wanted.front().turn = {"mail", "gold/ann", 3, 5, 700};
  asked.returned = {{3, {{"api", "", 7}}, true}};
  asked.closed = {{"t", {"api", "k", 1}, duration{30}}};
  asked.levels = {{{"t", "q"}, 4, 100, 30, 20, 10, 7, 8}};
  asked.recall = 6;
  return asked;
}

TEST(NeighbourWire, PermitsKeepTheirParts) {
  const auto asked = some_asked_permits();
  const auto read = decode_shard_message(encode(message_of(asked)));
  ASSERT_TRUE(read);
  const auto& what = std::get<core::ask_permits>(std::get<neighbour_message>(read->content).what);
  EXPECT_EQ(what.held, asked.held);
  EXPECT_EQ(what.wanted, asked.wanted);
  EXPECT_EQ(what.returned, asked.returned);
  EXPECT_EQ(what.closed, asked.closed);
  EXPECT_EQ(what.levels, asked.levels);
  EXPECT_EQ(what.recall, asked.recall);
  EXPECT_TRUE(what.is_list);
}

TEST(NeighbourWire, GrantsOfRoomKeepTheirParts) {
  core::give_permits given{sender, 5, 9};
  given.depths = {
    {{"t", "q"}, 4, 30, 7, core::depth_answer::full, 2, 3, true},
    {{"t", "r"}, 0, 0, 8, core::depth_answer::none},
    {{"t", "s"}, 6, 0, 0, core::depth_answer::uncounted, 1}};

  const auto read = decode_shard_message(encode(message_of(given)));

  ASSERT_TRUE(read);
  const auto& what = std::get<core::give_permits>(std::get<neighbour_message>(read->content).what);
  EXPECT_EQ(what.depths, given.depths);
  EXPECT_TRUE(what.counts_depths);
}

core::give_permits some_recall() {
  core::give_permits said{sender, 5, 9};
  said.recalled = {{"t", "api", "k"}, {"t", "db", std::string("\0\xff", 2)}};
  said.recall = 77;
  return said;
}

TEST(NeighbourWire, RecallsOfPermitsKeepTheirParts) {
  const auto said = some_recall();

  const auto read = decode_shard_message(encode(message_of(said)));

  ASSERT_TRUE(read);
  const auto& what = std::get<core::give_permits>(std::get<neighbour_message>(read->content).what);
  EXPECT_EQ(what.recalled, said.recalled);
  EXPECT_EQ(what.recall, said.recall);
}

TEST(NeighbourWire, RecallOfAKeyThatNoTaskCanHaveIsRefused) {
  auto said = some_recall();
  said.recalled.front().key = std::string(257, 'k');
  EXPECT_FALSE(decode_shard_message(encode(message_of(said))));
  said.recalled.front() = {"t", "", "k"};
  EXPECT_FALSE(decode_shard_message(encode(message_of(said))));
}

TEST(NeighbourWire, SlotsOfAQueueNeedANumberEach) {
  core::ask_permits list{sender, 5, 9, true};
  for (core::permit_number number = 1; number <= 20'000; ++number) {
    std::string queue = number % 2 == 0 ? "even" : "odd";
    list.held.push_back({number, "t", {{std::string(core::slot_limit), queue, 1}}, 3});
  }

  const auto body = encode(message_of(list));

  EXPECT_LT(body.view().size(), 20'000u * 9);
  const auto read = decode_shard_message(body);
  ASSERT_TRUE(read);
  auto what = std::get<core::ask_permits>(std::get<neighbour_message>(read->content).what);
  auto by_number = [](const auto& a, const auto& b) { return a.number < b.number; };
  std::sort(what.held.begin(), what.held.end(), by_number);
  EXPECT_EQ(what.held, list.held);
}

TEST(NeighbourWire, EveryMessageIsReadBack) {
  const std::vector<core::command> all{
    some_follow_ups(),
    core::confirm_follow_ups{sender, 90, {11, 12, 13}},
    core::confirm_follow_ups{sender, 91, {}},
    core::watch_ends{sender, {5, 6}},
    core::note_ends{
      sender, {{5, occurrence_state::completed}, {6, occurrence_state::cancelled}}},
    some_settings(),
    core::adopt_settings{sender, 10, {}, {}, 3, false},
    core::settings_adopted{sender, 9},
    core::cancel{0, 0, 17},
    core::pause_queue{0, 0, {"t", "q"}, true, nullptr, "breaker, 60 % of 20 attempts failed"},
    core::give_permits{sender, 5, 9, {1, 2}, true},
    core::give_permits{sender, 5, 9, {}, false, false},
    some_recall(),
    some_asked_permits()};
  for (const auto& what : all) {
    const auto body = encode(message_of(what));

    const auto read = decode_shard_message(body);

    ASSERT_TRUE(read) << to_string(read.error());
    EXPECT_EQ(read->shard, receiver);
    const auto* said = std::get_if<neighbour_message>(&read->content);
    ASSERT_NE(said, nullptr);
    EXPECT_EQ(said->from, sender);
    EXPECT_EQ(said->epoch, 5u);
    EXPECT_EQ(said->what.index(), what.index());
    // The bytes show each field.
    EXPECT_EQ(encode(*read).view(), body.view());
  }
}

TEST(NeighbourWire, FollowUpsKeepTheirTasks) {
  const auto read = decode_shard_message(encode(message_of(some_follow_ups())));

  ASSERT_TRUE(read);
  const auto& taken =
    std::get<core::take_follow_ups>(std::get<neighbour_message>(read->content).what);
  EXPECT_EQ(taken.from, sender);
  EXPECT_EQ(taken.number, 90u);
  EXPECT_EQ(taken.answered_below, 88u);
  ASSERT_EQ(taken.runs.size(), 2u);
  EXPECT_EQ(taken.runs[0].group, "g");
  EXPECT_EQ(taken.runs[0].priority, 4);
  EXPECT_EQ(taken.runs[0].tasks.count(), 2u);
  EXPECT_EQ(taken.runs[1].tasks.body.view(), some_run("h", 1).tasks.body.view());
}

TEST(NeighbourWire, FollowUpsOfAnotherShardAreRefused) {
  auto body = encode(message_of(some_follow_ups()));
  auto parsed = protocol::frame<schema::ReplicaMessage>::parse(body);
  ASSERT_TRUE(parsed);
  const auto forged = parsed->read([](auto from) -> result<bytes> {
    return protocol::frame<schema::ReplicaMessage>::build([&](auto to) {
             to.setShard(value(receiver) + 1);
             to.setNeighbour(from.getNeighbour());
           })
      .body();
  });
  ASSERT_TRUE(forged);

  EXPECT_FALSE(decode_shard_message(*forged));
}

TEST(NeighbourWire, SettingsKeepTheirNamesAndValues) {
  const auto read = decode_shard_message(encode(message_of(some_settings())));

  ASSERT_TRUE(read);
  const auto& all =
    std::get<core::adopt_settings>(std::get<neighbour_message>(read->content).what);
  EXPECT_EQ(all.version, 9u);
  ASSERT_EQ(all.queues.size(), 2u);
  EXPECT_EQ(all.queues[0].queue, (queue_address{"acme", "q"}));
  EXPECT_EQ(all.queues[0].settings, some_settings().queues[0].settings);
  EXPECT_EQ(all.queues[0].resumed_at, timestamp{duration{77}});
  EXPECT_EQ(all.queues[1].resumed_at, timestamp{});
  ASSERT_EQ(all.limits.size(), 1u);
  EXPECT_EQ(all.limits[0].limit, (limit_address{"acme", "api"}));
  EXPECT_EQ(all.limits[0].definition, some_settings().limits[0].definition);
}

TEST(NeighbourWire, NoFollowUpsAreRefused) {
  auto empty = some_follow_ups();
  empty.runs.clear();

  EXPECT_FALSE(decode_shard_message(encode(message_of(std::move(empty)))));
}

} // namespace
} // namespace codeq::coordinator
