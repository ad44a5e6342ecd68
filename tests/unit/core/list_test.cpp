// SPDX-License-Identifier: Apache-2.0
#include "base/tuning.hpp"
#include "core/turn/task_selection.hpp"
#include "support/shard_fixture.hpp"

#include <gtest/gtest.h>

namespace codeq::test {
namespace {

using namespace std::chrono_literals;

core::task_part all_of(const std::string& tenant, const std::string& queue = {}) {
  return {.filter = {.tenant = tenant, .queue = queue}, .limit = 100};
}

class List : public shard_fixture {};

TEST_F(List, TasksAreInOrderOfTheirSequences) {
  enqueue("q", 1, {.delay = 1h});
  enqueue("r", 1, {.priority = 9});
  enqueue("q", 2);

  EXPECT_EQ(list(all_of("default")), "o: listed 1 scheduled 2 ready 3 ready 4 ready after 4");
}

TEST_F(List, OnlyTasksOfTheTenantAreListed) {
  enqueue("q", 2, {.tenant = "a"});
  enqueue("q", 1, {.tenant = "b"});

  EXPECT_EQ(list(all_of("b")), "o: listed 3 ready after 3");
  EXPECT_EQ(list(all_of("c")), "o: listed after 3");
}

TEST_F(List, OnlyTasksOfTheQueueAreListed) {
  enqueue("q", 2);
  enqueue("r", 1);
  enqueue("q", 1);

  EXPECT_EQ(list(all_of("default", "q")), "o: listed 1 ready 2 ready 4 ready after 4");
}

TEST_F(List, OnlyTasksInTheStateAreListed) {
  attach("w", {"q"});
  claim("w", 3);
  enqueue("q", 3);
  complete("w", held(1, 1));
  fail_permanently("w", held(2, 2));
  auto part = all_of("default");

  EXPECT_EQ(list(part), "o: listed 1 completed 2 dead 3 leased after 3");
  part.filter.state = task_state::dead;
  EXPECT_EQ(list(part), "o: listed 2 dead after 3");
}

TEST_F(List, DeadTasksThatBlockTheirGroupAreListed) {
  attach("w", {"q"});
  enqueue("q", 1, {.settings = {.when_dead = on_dead::skip}, .group = "skipped"});
  enqueue("q", 1, {.settings = {.when_dead = on_dead::block}, .group = "blocked"});
  enqueue("q", 1, {.settings = {.when_dead = on_dead::block}, .group = "blocked"});
  claim("w", 2);
  fail_permanently("w", held(1, 1));
  fail_permanently("w", held(2, 2));
  auto part = all_of("default");
  part.filter.is_blocking = true;

  EXPECT_EQ(list(part), "o: listed 2 dead after 3");
}

TEST_F(List, PartsFollowEachOther) {
  enqueue("q", 5);
  auto part = all_of("default");
  part.limit = 2;

  EXPECT_EQ(list(part), "o: listed 1 ready 2 ready after 2 and there is more");
  part.after = task(2);
  EXPECT_EQ(list(part), "o: listed 3 ready 4 ready after 4 and there is more");
  part.after = task(4);
  EXPECT_EQ(list(part), "o: listed 5 ready after 5");
}

TEST_F(List, TasksFromTheBoundOnAreLeftOut) {
  enqueue("q", 5);
  enqueue("r", 1);
  auto part = all_of("default");
  part.after = task(1);
  part.below = task(4);

  EXPECT_EQ(list(part), "o: listed 2 ready 3 ready after 3");
  part.filter.queue = "r";
  EXPECT_EQ(list(part), "o: listed after 3");
}

TEST_F(List, NewestFirstPartsFollowEachOtherDownwards) {
  enqueue("q", 3);
  enqueue("r", 2);
  enqueue("q", 2);
  auto part = all_of("default", "q");
  part.limit = 3;
  part.newest_first = true;

  EXPECT_EQ(list(part), "o: listed 7 ready 6 ready 3 ready after 3 and there is more");
  part.below = task(3);
  EXPECT_EQ(list(part), "o: listed 2 ready 1 ready after 1");
}

TEST_F(List, NewestFirstWorkIsBoundedToo) {
  enqueue("q", 1, {.delay = 1h});
  enqueue("q", tuning::bulk_looked_at_max);
  auto part = all_of("default");
  part.filter.state = task_state::scheduled;
  part.newest_first = true;

  EXPECT_EQ(list(part), "o: listed after 2 and there is more");
  part.below = task(2);
  EXPECT_EQ(list(part), "o: listed 1 scheduled after 1");
}

TEST_F(List, BoundsThatCrossPickNothing) {
  enqueue("q", 5);
  auto part = all_of("default");
  part.after = task(3);
  part.below = task(2);

  EXPECT_EQ(list(part), "o: listed after 3");
  part.newest_first = true;
  EXPECT_EQ(list(part), "o: listed after 2");
}

TEST_F(List, TasksThatLeftTheMemoryAreNotListed) {
  attach("w", {"q"});
  claim("w", 1);
  enqueue("q", 1);
  complete("w", held(1, 1));
  take_snapshot();
  enqueue("q", 1);

  EXPECT_EQ(list(all_of("default")), "o: listed 2 ready after 2");
}

TEST_F(List, WorkOfOneCommandIsBounded) {
  enqueue("q", tuning::bulk_looked_at_max);
  enqueue("q", 1, {.delay = 1h});
  auto part = all_of("default");
  part.filter.state = task_state::scheduled;

  EXPECT_EQ(list(part), "o: listed after 10000 and there is more");
  part.after = task(10'000);
  EXPECT_EQ(list(part), "o: listed 10001 scheduled after 10001");
}

TEST_F(List, SegmentOfAnotherQueueIsOneLook) {
  enqueue("q", tuning::bulk_looked_at_max);
  enqueue("r", 1);

  EXPECT_EQ(list(all_of("default", "r")), "o: listed 10001 ready after 10001");
}

TEST_F(List, NoFilterPicksMoreThanTheLimitOfACommand) {
  enqueue("q", tuning::bulk_tasks_max + 1);
  auto part = all_of("default");
  part.limit = 5000;

  auto selected = core::select_tasks(state(), part);

  EXPECT_EQ(selected.tasks.size(), tuning::bulk_tasks_max);
  EXPECT_EQ(selected.after, task(tuning::bulk_tasks_max));
  EXPECT_TRUE(selected.more);
}

TEST_F(List, TaskIsSeenWithItsGroup) {
  enqueue("q", 1, {.group = "g"});
  auto* s = core::find_segment(state().segments, task(1));
  ASSERT_EQ(s->group, "g");

  core::turn turn(state());
  turn.decide(core::list_tasks{1, 1, all_of("default")}, base::manual_clock(clock()).now());
  auto sealed = turn.seal(base::manual_clock(clock()).now());

  EXPECT_EQ(std::get<core::tasks_listed>(sealed.effects.at(0)).tasks.at(0).group, "g");
}

TEST_F(List, OnlyTasksOfTheGroupOrWithTheKeyAreListed) {
  enqueue("q", 2);
  enqueue("q", 1, {.group = "g"});
  enqueue("q", 1, {.group = "h", .key = "k"});
  enqueue("q", 1, {.key = "k"});
  auto part = all_of("default");

  part.filter.group = "g";
  EXPECT_EQ(list(part), "o: listed 3 ready after 5");
  part.filter.group = {};
  part.filter.key = "k";
  EXPECT_EQ(list(part), "o: listed 4 ready 5 ready after 5");
  part.filter.group = "h";
  EXPECT_EQ(list(part), "o: listed 4 ready after 5");
}

TEST_F(List, OnlyTasksEnqueuedInTheWindowAreListed) {
  enqueue("q", 2);
  advance(1min);
  auto then = now();
  enqueue("q", 1);
  advance(1min);
  enqueue("q", 1);
  auto part = all_of("default");

  part.filter.enqueued = {then, then + 1ms};
  EXPECT_EQ(list(part), "o: listed 3 ready after 3") << "and nothing behind it is looked at";
  part.newest_first = true;
  EXPECT_EQ(list(part), "o: listed 3 ready after 3");
}

TEST_F(List, TasksWhoseAttemptsCannotMatchAreLeftOut) {
  attach("w", {"q"});
  enqueue("q", 4);
  claim("w", 3);
  complete("w", held(1, 1));
  fail("w", held(2, 2));
  auto part = all_of("default");

  part.filter.workers = {"w"};
  EXPECT_EQ(list(part), "o: listed 1 completed 2 scheduled 3 leased after 4");
  part.filter.workers = {};
  part.filter.error = "why";
  EXPECT_EQ(list(part), "o: listed 1 completed 2 scheduled after 4");
  part.filter.error = {};
  part.filter.ended = {timestamp{1ms}, {}};
  EXPECT_EQ(list(part), "o: listed 1 completed after 4");
}

TEST(TaskSelection, NeedsTheStoreForWhatIsNotInMemory) {
  auto needs = [](const task_filter& filter) { return core::needs_store(filter); };

  EXPECT_TRUE(needs({}));
  EXPECT_TRUE(needs({.state = task_state::completed}));
  EXPECT_TRUE(needs({.state = task_state::dead}));
  EXPECT_FALSE(needs({.state = task_state::ready}));
  EXPECT_FALSE(needs({.state = task_state::leased, .group = "g", .key = "k"}));
  EXPECT_TRUE(needs({.state = task_state::leased, .workers = {"w"}}));
  EXPECT_TRUE(needs({.state = task_state::ready, .headers = {{"a", "b"}}}));
  EXPECT_TRUE(needs({.state = task_state::scheduled, .error = "e"}));
}

} // namespace
} // namespace codeq::test
