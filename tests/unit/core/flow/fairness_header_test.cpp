// SPDX-License-Identifier: Apache-2.0
#include "codeq/limits.hpp"

#include "core/checks/invariants.hpp"
#include "core/queues/fairness_header.hpp"
#include "core/queues/queue_rules.hpp"
#include "core/state/queue_fairness.hpp"
#include "support/shard_fixture.hpp"
#include "support/task_builder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace codeq::test {
namespace {

using testing::HasSubstr;

/// The bodies of the fixture's tasks have no headers: here the only one is `letter`, their first
/// byte.
std::string letter_of(const bytes& body, std::string_view name) {
  return name == "letter" ? std::string(body.view().substr(0, 1)) : std::string();
}

std::string longest(const bytes&, std::string_view) {
  return std::string(limits::fairness_key_bytes_max, 'x');
}

std::string too_long(const bytes&, std::string_view) {
  return std::string(limits::fairness_key_bytes_max + 1, 'x');
}

/// A queue that takes the fairness keys of its tasks from a header.
class FairnessHeader : public shard_fixture {
protected:
  FairnessHeader() {
    attach("w", {"q"});
    state().read_header = letter_of;
    take_from("letter");
  }

  std::string take_from(const std::string& header) {
    return configure("q", {.fairness_header = header});
  }

  /// The key of the task by its place among all. Segments of one turn leave room between them.
  std::string key_of(std::size_t number) {
    std::vector<std::string> keys;
    state().segments.for_each([&](const core::segment& s) {
      keys.insert(keys.end(), s.count, std::string(s.fairness_key()));
    });
    return keys.at(number - 1);
  }

  static core::enqueue_run run_of(std::size_t tasks, core::fairness_mark own = {}) {
    core::enqueue_run r;
    r.queue = {"default", "q"};
    r.fairness = std::move(own);
    r.tasks = encode_bodies(tasks, 16);
    return r;
  }
};

TEST_F(FairnessHeader, HasTheKeyOfEachTask) {
  enqueue("q", 3);

  EXPECT_EQ(key_of(1), "a");
  EXPECT_EQ(key_of(2), "b");
  EXPECT_EQ(key_of(3), "c");
  EXPECT_EQ(core::run_fairness(state(), run_of(3)).keys(), (std::set<std::string>{"a", "b", "c"}));
}

TEST_F(FairnessHeader, TasksOfDifferentRequestsShareTheirKeys) {
  enqueue("q", 2);
  enqueue("q", 2);

  EXPECT_EQ(key_of(3), "a");
  EXPECT_EQ(state().find_queue({"default", "q"})->fair->keys().active(), 2u);
}

TEST_F(FairnessHeader, OwnKeyWinsAndTheWeightIsTheTasks) {
  enqueue("q", 1, {.fairness = {"own", 2}});
  enqueue("q", 1, {.fairness = {{}, 3}});

  EXPECT_EQ(key_of(1), "own");
  EXPECT_EQ(key_of(2), "a");
  EXPECT_EQ(core::find_segment(state().segments, task(2))->mark().weight, 3);
}

TEST_F(FairnessHeader, TaskWithoutItHasTheEmptyKey) {
  take_from("customer");
  enqueue("q");

  EXPECT_EQ(key_of(1), "");
  EXPECT_EQ(state().find_queue({"default", "q"})->fair, nullptr);
}

TEST_F(FairnessHeader, ChangeOfTheQueueConcernsNewTasksOnly) {
  enqueue("q");
  take_from("");
  enqueue("q");

  EXPECT_EQ(key_of(1), "a");
  EXPECT_EQ(key_of(2), "");
}

TEST_F(FairnessHeader, SurvivesARestartWithTheTasks) {
  enqueue("q", 2);

  restart();

  EXPECT_EQ(key_of(1), "a");
  EXPECT_EQ(key_of(2), "b");
  EXPECT_EQ(state().find_queue({"default", "q"})->settings.config.fairness_header, "letter");
}

TEST_F(FairnessHeader, LongerThanAKeyIsRefused) {
  state().read_header = too_long;

  auto refused = core::check_queues(state(), {run_of(1)});

  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::too_large);
  EXPECT_EQ(
    refused.error().context,
    "fairness_key: queue \"q\" takes the fairness keys of its tasks from header \"letter\" "
    "(codeqctl queue show q): the header of a task has 257 bytes; it must have at most 256");
  EXPECT_EQ(enqueue("q"), "p: refused too_large");
  EXPECT_TRUE(core::check_queues(state(), {run_of(1, {"own", 1})})) << "its header is not read";
  state().read_header = longest;
  EXPECT_TRUE(core::check_queues(state(), {run_of(1)}));
}

TEST_F(FairnessHeader, GivesFollowUpsTheirKeysAndRefusesNone) {
  enqueue("q", 2, {.fairness = {"own", 1}});
  claim("w", 2);
  complete_with("w", {task(1), entry_of(1).token}, {{shard_id{0}, run_of(1)}});
  EXPECT_EQ(key_of(3), "a");
  state().read_header = too_long;
  complete_with("w", {task(2), entry_of(2).token}, {{shard_id{0}, run_of(1)}});

  EXPECT_EQ(key_of(4), "");
}

TEST_F(FairnessHeader, ChangeIsSaidAsItIsSet) {
  EXPECT_THAT(
    core::describe_change({}, {.fairness_header = "letter"}),
    HasSubstr("fairness-key none -> header=letter"));
  EXPECT_THAT(core::durable_text(state()), HasSubstr(" fairness letter"));
}

TEST_F(FairnessHeader, ChangeOfWeightsNamesThoseThatDiffer) {
  const queue_config before{.fairness_weights = {{"a", 2}, {"b", 4}, {"c", 3}}};
  const queue_config after{.fairness_weights = {{"a", 2}, {"b", 7}, {"\xff", 5}}};

  EXPECT_EQ(
    core::describe_change(before, after),
    "fairness-weights b 4 -> 7, c 3 -> none, base64:/w== none -> 5");
  EXPECT_EQ(core::describe_change(after, after), "");
}

} // namespace
} // namespace codeq::test
