// SPDX-License-Identifier: Apache-2.0
#include "storage/recovery/task_list.hpp"

#include "base/tuning.hpp"
#include "core/turn/task_selection.hpp"
#include "storage/keys/keyspace.hpp"
#include "storage/memory/memory_store.hpp"
#include "storage/records/headers_codec.hpp"
#include "storage/records/projection.hpp"
#include "support/shard_fixture.hpp"
#include "support/task_bodies.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace codeq::storage {
namespace {

using namespace std::chrono_literals;

constexpr auto page_max = static_cast<std::uint32_t>(tuning::bulk_tasks_max);

/// A shard whose turns are all in a store, and lists of its tasks from memory and store.
class TaskList : public test::shard_fixture {
protected:
  void write() {
    for (; written_ < turns(); ++written_) {
      auto writes = std::make_shared<write_set>();
      for (const auto& e : events_of(written_))
        project(shard_id{}, e, *writes);
      commit(writes);
    }
  }

  void commit(const std::shared_ptr<const write_set>& writes) {
    ASSERT_TRUE(store_.commit({&writes, 1}, durability::os));
  }

  /// The shard's list from memory.
  core::tasks_listed in_memory(const core::task_part& part) {
    write();
    core::turn turn(state());
    auto at = instant_now();
    turn.decide(core::list_tasks{1, 1, part}, at);
    auto sealed = turn.seal(at);
    return std::get<core::tasks_listed>(sealed.effects.back());
  }

  /// Completes a list, in steps of `reads` records.
  core::tasks_listed complete(core::tasks_listed memory, std::size_t reads = 1) {
    task_list list(shard_id{}, std::move(memory), now());
    for (int steps = 0; steps < 100'000; ++steps) {
      auto is_whole = list.read_on(store_, reads);
      if (!is_whole) {
        ADD_FAILURE() << to_string(is_whole.error());
        return {};
      }
      if (*is_whole)
        return list.take();
    }
    ADD_FAILURE() << "the list never ends";
    return {};
  }

  /// The numbers of the tasks of a part, and where the next part begins.
  std::string listed(const core::task_part& part) { return in_words(complete(in_memory(part))); }

  static std::string in_words(const core::tasks_listed& found) {
    std::string words;
    for (const auto& view : found.tasks)
      words += std::to_string(number_of(view.seq)) + " " + std::string(to_string(view.entry.state))
               + " ";
    return words + (found.more ? "more after " + std::to_string(number_of(found.after)) : "all");
  }

  static std::uint64_t number_of(sequence seq) { return seq - task(1) + 1; }

  static core::task_part part_of(std::uint32_t limit = 100, bool newest_first = false) {
    return {.filter = {.queue = "q"}, .limit = limit, .newest_first = newest_first};
  }

  /// Tasks 1 to `count`, each of which worker `w` completes at once with that text.
  void run_tasks(int count, const std::string& text = "done") {
    for (int i = 0; i < count; ++i) {
      enqueue("q");
      ++last_;
      claim("w", 1);
      test::shard_fixture::complete("w", held(last_, ++token_), text);
    }
  }

  /// All tasks of a walk over pages of that size.
  std::string walk(core::task_part part) {
    std::string words;
    for (int pages = 0; pages < 1000; ++pages) {
      auto found = complete(in_memory(part), 4);
      for (const auto& view : found.tasks)
        words += std::to_string(number_of(view.seq)) + " ";
      if (!found.more)
        return words;
      (part.newest_first ? part.below : part.after) = found.after;
    }
    return words + "never ends";
  }

  memory_store store_;
  std::size_t written_ = 0;
  int last_ = 0;
  int token_ = 0;
};

TEST_F(TaskList, EndedTasksAreListedWhenTheirSegmentsAreClosed) {
  attach("w", {"q"});
  run_tasks(2);
  take_snapshot();
  enqueue("q");

  EXPECT_EQ(listed(part_of()), "1 completed 2 completed 3 ready all");
  EXPECT_EQ(listed(part_of(100, true)), "3 ready 2 completed 1 completed all");
}

TEST_F(TaskList, PagesGoOnOverMemoryAndStore) {
  attach("w", {"q"});
  run_tasks(3);
  take_snapshot();
  run_tasks(2);
  enqueue("q");

  EXPECT_EQ(listed(part_of(2)), "1 completed 2 completed more after 2");
  for (std::uint32_t limit = 1; limit <= 6; ++limit) {
    EXPECT_EQ(walk(part_of(limit)), "1 2 3 4 5 6 ") << limit;
    EXPECT_EQ(walk(part_of(limit, true)), "6 5 4 3 2 1 ") << limit;
  }
}

TEST_F(TaskList, LastPageHasNoMore) {
  attach("w", {"q"});
  run_tasks(2);
  take_snapshot();

  EXPECT_EQ(listed(part_of(2)), "1 completed 2 completed all");
  EXPECT_EQ(listed(part_of(2, true)), "2 completed 1 completed all");
}

TEST_F(TaskList, TaskThatIsClosedBetweenMemoryAndStoreIsListedOnce) {
  attach("w", {"q"});
  run_tasks(1);
  enqueue("q");
  auto memory = in_memory(part_of());
  claim("w", 1);
  test::shard_fixture::complete("w", held(2, ++token_));
  take_snapshot();
  write();

  EXPECT_EQ(in_words(complete(memory)), "1 completed 2 ready all") << "as they were then";
}

TEST_F(TaskList, TaskThatMovesBetweenTwoPagesIsOnOneOfThem) {
  attach("w", {"q"});
  run_tasks(2);
  take_snapshot();
  enqueue("q", 3);
  auto part = part_of(3);
  auto first = complete(in_memory(part));

  claim("w", 3);
  for (int i = 0; i < 3; ++i)
    test::shard_fixture::complete("w", held(3 + i, ++token_));
  take_snapshot();
  part.after = first.after;

  EXPECT_EQ(in_words(first), "1 completed 2 completed 3 ready more after 3");
  EXPECT_EQ(in_words(complete(in_memory(part))), "4 completed 5 completed all");
}

TEST_F(TaskList, PageBeginsInTheMiddleOfAClosedSegment) {
  attach("w", {"q"});
  enqueue("q", 5);
  claim("w", 5);
  for (int i = 1; i <= 5; ++i)
    test::shard_fixture::complete("w", held(i, i));
  take_snapshot();
  auto part = part_of();
  part.after = task(2);
  part.below = task(5);

  EXPECT_EQ(listed(part), "3 completed 4 completed all");
  part.newest_first = true;
  EXPECT_EQ(listed(part), "4 completed 3 completed all");
}

TEST_F(TaskList, OnlyTasksInTheStateAreListed) {
  attach("w", {"q"});
  run_tasks(1);
  enqueue("q");
  cancel(++last_);
  take_snapshot();
  enqueue("q");
  auto part = part_of();

  part.filter.state = task_state::cancelled;
  EXPECT_EQ(listed(part), "2 cancelled all");
  part.filter.state = task_state::completed;
  EXPECT_EQ(listed(part), "1 completed all");
}

TEST_F(TaskList, NothingOfAnotherTenantOrQueueIsListed) {
  attach("w", {"q"});
  run_tasks(1);
  enqueue("q", 1, {.tenant = "other"});
  cancel(++last_);
  enqueue("r");
  cancel(++last_);
  take_snapshot();

  EXPECT_EQ(listed(part_of()), "1 completed all");
  auto part = part_of();
  part.filter.tenant = "other";
  EXPECT_EQ(listed(part), "2 cancelled all");
  part.filter.tenant = "nobody";
  EXPECT_EQ(listed(part), "all");
}

TEST_F(TaskList, ClosedTasksAreFoundByGroupAndKey) {
  enqueue("q", 1, {.group = "g"});
  enqueue("q", 1, {.key = "k"});
  enqueue("q", 1, {.group = "h", .key = "k"});
  for (int i = 1; i <= 3; ++i)
    cancel(i);
  take_snapshot();
  auto part = part_of();

  part.filter.group = "g";
  EXPECT_EQ(listed(part), "1 cancelled all");
  part.filter.group = {};
  part.filter.key = "k";
  EXPECT_EQ(listed(part), "2 cancelled 3 cancelled all");
  part.filter.group = "h";
  EXPECT_EQ(listed(part), "3 cancelled all");
  auto found = complete(in_memory(part));
  EXPECT_EQ(found.tasks.front().group, "h");
  EXPECT_EQ(found.tasks.front().key, "k");
}

TEST_F(TaskList, TasksAreFoundByTheTimeOfTheirEnqueue) {
  attach("w", {"q"});
  run_tasks(2);
  advance(1h);
  auto noon = now();
  run_tasks(1);
  enqueue("q");
  take_snapshot();
  advance(1h);
  enqueue("q");
  auto part = part_of();

  for (bool newest_first : {false, true}) {
    part.newest_first = newest_first;
    part.filter.enqueued = {noon, noon + 1ms};
    EXPECT_EQ(listed(part), newest_first ? "4 ready 3 completed all" : "3 completed 4 ready all");
    part.filter.enqueued = {{}, noon};
    EXPECT_EQ(
      listed(part), newest_first ? "2 completed 1 completed all" : "1 completed 2 completed all");
    part.filter.enqueued = {noon + 1ms, {}};
    EXPECT_EQ(listed(part), "5 ready all");
  }
}

TEST_F(TaskList, TasksAreFoundByTheTimeOfTheirEnd) {
  attach("w", {"q"});
  run_tasks(1);
  advance(1h);
  auto noon = now();
  run_tasks(1);
  enqueue("q");
  cancel(++last_);
  take_snapshot();
  enqueue("q", 2);
  force(5, force_kind::fail);
  auto part = part_of();

  part.filter.ended = {noon, {}};
  EXPECT_EQ(listed(part), "2 completed 3 cancelled 5 dead all");
  part.filter.ended = {{}, noon};
  EXPECT_EQ(listed(part), "1 completed all");
}

TEST_F(TaskList, CompletedTasksSayWhenAndByWhom) {
  attach("w", {"q"});
  run_tasks(1);
  auto then = now();
  advance(1min);
  take_snapshot();

  auto found = complete(in_memory(part_of()));

  ASSERT_EQ(found.tasks.size(), 1u);
  EXPECT_EQ(found.tasks.front().worker, "w");
  EXPECT_EQ(found.tasks.front().ended_at, then);
}

TEST_F(TaskList, TasksAreFoundByTheirWorker) {
  attach("w", {"q"});
  attach("v", {"q"});
  run_tasks(1);
  enqueue("q", 2);
  claim("v", 2);
  test::shard_fixture::complete("v", held(2, 2));
  fail("v", held(3, 3));
  take_snapshot();
  auto part = part_of();

  part.filter.workers = {"v"};
  EXPECT_EQ(listed(part), "2 completed 3 scheduled all");
  part.filter.workers = {"w"};
  EXPECT_EQ(listed(part), "1 completed all");
  part.filter.workers = {"w", "v"};
  EXPECT_EQ(listed(part), "1 completed 2 completed 3 scheduled all");
  part.filter.workers = {"nobody"};
  EXPECT_EQ(listed(part), "all");
}

TEST_F(TaskList, DeadTasksSayWhyAndWhen) {
  enqueue("q", 2);
  advance(1min);
  force(1, force_kind::fail, "disk 7 is full");
  auto then = now();
  advance(1min);
  auto part = part_of();
  part.filter.state = task_state::dead;

  auto found = complete(in_memory(part));

  ASSERT_EQ(found.tasks.size(), 1u);
  EXPECT_EQ(found.tasks.front().error_text, "disk 7 is full");
  EXPECT_EQ(found.tasks.front().ended_at, then);
}

TEST_F(TaskList, LongErrorsAreCut) {
  enqueue("q");
  force(1, force_kind::fail, std::string(5000, 'x'));
  auto part = part_of();
  part.filter.state = task_state::dead;

  auto found = complete(in_memory(part));

  EXPECT_EQ(found.tasks.front().error_text.size(), limits::history_text_bytes_max);
}

TEST_F(TaskList, TasksAreFoundByTheirError) {
  attach("w", {"q"});
  enqueue("q", 3);
  force(1, force_kind::fail, "connection refused");
  force(2, force_kind::fail, "disk is full");
  claim("w", 1);
  core::lease_report failed;
  failed.how = disposition::failed;
  failed.text = bytes(std::string("disk is slow"));
  report("w", held(3, 1), failed);
  auto part = part_of();

  part.filter.error = "disk is";
  EXPECT_EQ(listed(part), "2 dead 3 scheduled all");
  part.filter.error = "Disk";
  EXPECT_EQ(listed(part), "all");
  part.filter.error = "done";
  run_tasks(1);
  EXPECT_EQ(listed(part), "all") << "a result is no error";
}

TEST_F(TaskList, TasksAreFoundByTheirHeaders) {
  attach("w", {"q"});
  enqueue("q", 3);
  claim("w", 3);
  for (int i = 1; i <= 3; ++i)
    test::shard_fixture::complete("w", held(i, i));
  auto memory = part_of();
  memory.filter.headers = {{"trace", "2"}};
  write();
  auto writes = std::make_shared<write_set>();
  core::encoded_tasks bodies = test::encode_bodies_with_headers(
    {{{"trace", "1"}}, {{"trace", "2"}, {"from", "shop"}}, {}});
  writes->put(headers_key{shard_id{}, task(1)}.encode(), encode_headers({&bodies, 1}, now()));
  commit(writes);

  EXPECT_EQ(listed(memory), "2 completed all") << "in memory";
  take_snapshot();
  EXPECT_EQ(listed(memory), "2 completed all") << "in the store";
  memory.filter.headers = {{"trace", "2"}, {"from", "home"}};
  EXPECT_EQ(listed(memory), "all");
}

TEST_F(TaskList, PurgedTasksAreHidden) {
  attach("w", {"q"});
  run_tasks(2);
  take_snapshot();
  core::task_part all{.filter = {.queue = "q"}, .limit = 10};
  change_many(core::bulk_kind::purge_all, all);
  run_tasks(1);
  take_snapshot();

  EXPECT_EQ(listed(part_of()), "3 completed all");
}

TEST_F(TaskList, TasksPastTheirRetentionAreHidden) {
  attach("w", {"q"});
  enqueue("q", 1, {.settings = {.retention = 1h}});
  enqueue("q", 1, {.settings = {.retention = 24h}});
  last_ = 2;
  claim("w", 2);
  test::shard_fixture::complete("w", held(1, 1));
  test::shard_fixture::complete("w", held(2, 2));
  take_snapshot();

  EXPECT_EQ(listed(part_of()), "1 completed 2 completed all");
  advance(1h);
  EXPECT_EQ(listed(part_of()), "2 completed all");
}

TEST_F(TaskList, TasksThatWereCopiedOutOfTheirSegmentAreListedOnce) {
  enqueue("q", 9);
  for (int i = 1; i <= 9; ++i)
    i == 5 ? force(i, force_kind::fail) : cancel(i);
  take_snapshot();
  core::copy_survivors found{task(1), {}};
  found.bodies.emplace(task(5), core::encoded_tasks{bytes(std::string("body")), {4}});
  bring(found);
  take_snapshot();
  EXPECT_EQ(walk(part_of(2)), "1 2 3 4 5 6 7 8 9 ");

  redrive(5);
  cancel(5);
  take_snapshot();

  EXPECT_EQ(walk(part_of(2)), "1 2 3 4 5 6 7 8 9 ");
  EXPECT_EQ(walk(part_of(2, true)), "9 8 7 6 5 4 3 2 1 ");
}

TEST_F(TaskList, PartEndsWhenItHasReadTooMuchAndTheNextOneGoesOn) {
  // Each task is a segment of its own, and none matches.
  constexpr int tasks = tuning::list_reads_max + 100;
  auto writes = std::make_shared<write_set>();
  for (int i = 1; i <= tasks; ++i) {
    core::segment_fate fate;
    fate.first = task(i);
    fate.queue = {"default", i == tasks ? "q" : "r"};
    fate.entries.resize(1);
    fate.entries.front().state = task_state::cancelled;
    core::snapshot_taken c;
    c.closed.push_back(fate);
    project(shard_id{}, c, *writes);
  }
  commit(writes);

  auto first = complete(in_memory(part_of()), tuning::list_turn_reads);

  EXPECT_TRUE(first.tasks.empty());
  EXPECT_TRUE(first.more);
  EXPECT_GE(number_of(first.after), tuning::list_reads_max - 8);
  EXPECT_EQ(walk(part_of()), std::to_string(tasks) + " ");
  EXPECT_EQ(walk(part_of(page_max, true)), std::to_string(tasks) + " ");
}

TEST_F(TaskList, StepReadsFewRecords) {
  attach("w", {"q"});
  run_tasks(20);
  take_snapshot();
  task_list list(shard_id{}, in_memory(part_of()), now());

  auto is_whole = list.read_on(store_, 8);

  EXPECT_TRUE(is_whole && !*is_whole);
}

} // namespace
} // namespace codeq::storage
