// SPDX-License-Identifier: Apache-2.0
#include "codeq/limits.hpp"

#include "core/state/apply.hpp"
#include "support/shard_fixture.hpp"
#include "support/task_builder.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace codeq::test {
namespace {

using namespace std::chrono_literals;

schedule::nominal_time nominal(std::int64_t second) {
  schedule::local_seconds local{std::chrono::seconds{second}};
  return {local, local};
}

/// The fixture's shard is number 0. A nominal time is a number of seconds; the test plans what is
/// due in place of the shard.
class Schedule : public shard_fixture {
protected:
  /// Peer 1 is `p`.
  Schedule() { attach("p", {}); }

  const schedule_address name{"default", "s"};

  static core::definition_ptr
  definition(overlap_policy overlap, const std::string& spec = "spec") {
    return std::make_shared<const core::schedule_definition>(
      core::schedule_definition{spec, overlap});
  }

  std::string set(overlap_policy overlap, const std::string& spec = "spec") {
    return decide(core::set_schedule{1, 1, name, definition(overlap, spec), nominal(0)});
  }

  /// Is due now.
  core::planned_occurrence
  at(std::int64_t second, std::uint16_t shard = 0, const std::string& key = {}) {
    auto run = std::make_shared<core::enqueue_run>();
    run->queue = {"default", "q"};
    run->key = key;
    run->tasks = encode_bodies(1, 16);
    return {nominal(second), now(), shard_id{shard}, run};
  }

  const core::schedule_entry& entry() { return *state().schedules.find(name); }

  const core::schedule_progress& progress() { return entry().progress; }

  core::fire_schedule due(std::vector<core::planned_occurrence> fire) {
    core::fire_schedule c;
    c.name = name;
    c.definition = entry().definition;
    c.from = progress().mark;
    c.to = fire.empty() ? c.from : fire.back().nominal;
    c.fire = std::move(fire);
    return c;
  }

  std::string fire(std::vector<core::planned_occurrence> which) { return decide(due(which)); }

  std::string fire_waiting() {
    auto c = due({{progress().waiting->nominal, progress().waiting->at, shard_id{}, at(0).task}});
    c.is_waiting = true;
    return decide(c);
  }

  /// The states of the history's entries that the latest turn wrote.
  std::string written() {
    std::string text;
    for (const auto& e : events())
      if (const auto* changed = std::get_if<core::schedule_changed>(&e))
        for (const auto& one : changed->entries)
          text += (text.empty() ? "" : ", ") + std::to_string(one.number) + " "
                  + std::string(to_string(one.state));
    return text;
  }
};

using enum overlap_policy;

TEST_F(Schedule, IsCreatedOnceByEqualRequests) {
  EXPECT_EQ(set(skip), "p: s created");
  EXPECT_EQ(set(skip), "p: s unchanged");

  EXPECT_TRUE(events().empty());
  EXPECT_EQ(set(allow), "p: s changed");
}

TEST_F(Schedule, KeepsWhatItFiredWhenItIsChanged) {
  set(allow);
  fire({at(10)});
  auto before = progress().occurrences;

  set(allow, "another");

  EXPECT_EQ(progress().occurrences, before);
  EXPECT_EQ(progress().open.size(), 1u);
}

TEST_F(Schedule, FiresIntoAFullQueue) {
  queue_config config;
  config.max_depth = 1;
  decide(core::configure_queue{1, 1, {"default", "q"}, config});
  set(allow);

  fire({at(10)});
  fire({at(20)});

  EXPECT_EQ(progress().open.size(), 2u);
}

TEST_F(Schedule, FiresInTheSameWriteAsItMovesOn) {
  set(skip);

  fire({at(10)});

  ASSERT_EQ(events().size(), 2u);
  const auto* tasks = std::get_if<core::segment_appended>(&events()[0]);
  const auto* moved = std::get_if<core::schedule_changed>(&events()[1]);
  ASSERT_TRUE(tasks && moved);
  EXPECT_EQ(moved->progress.mark, nominal(10));
  EXPECT_EQ(moved->progress.open.at(0).entry.task, tasks->first);
  EXPECT_TRUE(moved->is_fired);
}

TEST_F(Schedule, FiresANominalTimeOnce) {
  set(allow);
  auto planned = due({at(10)});
  decide(planned);

  decide(planned);

  EXPECT_TRUE(events().empty());
  EXPECT_EQ(state().schedules.counts.fired, 1u);
}

TEST_F(Schedule, IgnoresAPlanOfAnotherDefinition) {
  set(allow);
  auto planned = due({at(10)});
  set(allow, "another");

  decide(planned);

  EXPECT_EQ(state().schedules.counts.fired, 0u);
}

TEST_F(Schedule, SkipsWhileItsPredecessorRuns) {
  set(skip);
  fire({at(10)});

  EXPECT_EQ(fire({at(20)}), "s skipped_overlap");

  EXPECT_EQ(written(), "1 skipped_overlap");
  EXPECT_EQ(progress().mark, nominal(20));
}

TEST_F(Schedule, FiresAgainWhenItsPredecessorEnded) {
  set(skip);
  attach("w", {"q"});
  claim("w", 1);
  fire({at(10)});
  complete("w", held(1, 1));
  EXPECT_EQ(written(), "0 completed");

  fire({at(20)});

  EXPECT_EQ(written(), "1 running");
}

TEST_F(Schedule, AllowsOverlapIfAsked) {
  set(allow);

  fire({at(10), at(20)});

  EXPECT_EQ(progress().open.size(), 2u);
}

TEST_F(Schedule, QueuesOneAndSkipsTheNext) {
  set(queue_one);
  fire({at(10)});

  EXPECT_EQ(fire({at(20), at(30)}), "s skipped_overlap");

  ASSERT_TRUE(progress().waiting);
  EXPECT_EQ(progress().waiting->nominal, nominal(20));
  EXPECT_EQ(written(), "1 waiting, 2 skipped_overlap");
}

TEST_F(Schedule, FiresWhatWaitsWhenThePredecessorEnds) {
  set(queue_one);
  attach("w", {"q"});
  claim("w", 1);
  fire({at(10)});
  fire({at(20)});
  complete("w", held(1, 1));
  EXPECT_EQ(entry().next, timestamp{});

  fire_waiting();

  EXPECT_EQ(written(), "1 running");
  EXPECT_FALSE(progress().waiting);
  EXPECT_EQ(progress().occurrences, 2u);
}

TEST_F(Schedule, CancelsItsPredecessorAndFiresWhenThatEnded) {
  set(cancel_previous);
  fire({at(10)});

  fire({at(20)});

  // The task was not leased, so that it has ended at once.
  EXPECT_EQ(written(), "0 cancelled, 1 waiting");
  fire_waiting();
  EXPECT_EQ(written(), "1 running");
}

TEST_F(Schedule, PauseKeepsItFromFiring) {
  set(allow);
  auto planned = due({at(10)});

  EXPECT_EQ(
    decide(core::change_schedule{1, 1, name, core::schedule_change::pause}), "p: s changed");
  decide(planned);

  EXPECT_EQ(state().schedules.counts.fired, 0u);
  EXPECT_FALSE(entry().next);
}

TEST_F(Schedule, ResumeLeavesOutWhatWasDueMeanwhile) {
  set(allow);
  decide(core::change_schedule{1, 1, name, core::schedule_change::pause});

  decide(core::change_schedule{1, 1, name, core::schedule_change::resume, nominal(50)});

  EXPECT_EQ(progress().mark, nominal(50));
  EXPECT_EQ(entry().next, timestamp{});
}

TEST_F(Schedule, DeletedOneIsUnknown) {
  set(allow);

  EXPECT_EQ(
    decide(core::change_schedule{1, 1, name, core::schedule_change::remove}), "p: s deleted");

  EXPECT_EQ(decide(core::show_schedule{1, 1, name}), "p: refused unknown_schedule");
  EXPECT_TRUE(state().schedules.empty());
}

TEST_F(Schedule, SendsATaskOfAnotherShardThroughTheOutboxAndWatchesItsEnd) {
  set(skip);
  EXPECT_EQ(fire({at(10, 2)}), "deliver 2 below 2 to shard 2: 1");

  EXPECT_EQ(
    decide(core::confirm_follow_ups{shard_id{2}, core::first_of_epoch(1) + 1, {77}}),
    "watch 77 to shard 2");

  EXPECT_EQ(progress().open.at(0).entry.task, 77u);
  decide(core::note_ends{shard_id{2}, {{77, occurrence_state::dead}}});
  EXPECT_EQ(written(), "0 dead");
  EXPECT_TRUE(progress().open.empty());
}

TEST_F(Schedule, SendsAKeyedTaskOfItsOwnShardThroughTheOutboxToo) {
  set(skip);

  EXPECT_EQ(fire({at(10, 0, "k")}), "deliver 2 below 2 to shard 0: 1");
}

TEST_F(Schedule, TellsAShardThatWatchesATaskOfItsEnd) {
  enqueue("q");
  attach("w", {"q"});
  claim("w", 1);
  auto task = core::first_of_epoch(1);
  EXPECT_EQ(decide(core::watch_ends{shard_id{3}, {task}}), "");

  EXPECT_EQ(
    complete("w", held(1, 1)), "ended 1 completed to shard 3; w: answered 1/t1 ok");
}

TEST_F(Schedule, TellsThatAnUnknownTaskHasEnded) {
  EXPECT_EQ(decide(core::watch_ends{shard_id{3}, {4711}}), "ended 4711 ended to shard 3");
}

TEST_F(Schedule, RunNowAndBackfillDoNotMoveItOnAndDoNotCountAsRunning) {
  set(skip);
  auto now = due({at(5)});
  now.peer = 1;
  now.cause = occurrence_cause::run_now;
  now.to = now.from;

  EXPECT_EQ(decide(now), "p: s fired");

  EXPECT_EQ(progress().mark, nominal(0));
  fire({at(10)});
  EXPECT_EQ(written(), "1 running");
}

TEST_F(Schedule, LateOccurrenceIsNoted) {
  set(allow);
  auto late = at(10);
  late.at = state().at - 2s;

  EXPECT_EQ(fire({late}), "s late");
}

TEST_F(Schedule, KeepsTheLatestHundredOpenOccurrences) {
  set(allow);
  std::vector<core::planned_occurrence> many;
  for (std::int64_t i = 1; i <= 150; ++i)
    many.push_back(at(i));

  fire(many);

  EXPECT_EQ(progress().open.size(), limits::schedule_history_max);
  EXPECT_EQ(progress().open.front().entry.number, 50u);
  const auto& changed = std::get<core::schedule_changed>(events().back());
  EXPECT_EQ(changed.entries.size(), limits::schedule_history_max);
}

TEST_F(Schedule, StillSkipsWhileItsPredecessorRunsAfterALargeBackfill) {
  set(skip);
  fire({at(1)});
  std::vector<core::planned_occurrence> many;
  for (std::int64_t i = 0; i < 150; ++i)
    many.push_back(at(i));
  auto backfill = due(many);
  backfill.peer = 1;
  backfill.cause = occurrence_cause::backfill;
  backfill.to = backfill.from;
  decide(backfill);

  fire({at(200)});

  EXPECT_EQ(progress().open.size(), limits::schedule_history_max);
  EXPECT_EQ(written(), "151 skipped_overlap");
}

TEST_F(Schedule, IsDueByTimeInOrder) {
  core::schedule_table table;
  for (const auto* name : {"a", "b", "c"})
    table.put({"t", name}, definition(skip), {});
  table.look_at({"t", "a"}, timestamp{3s});
  table.look_at({"t", "b"}, timestamp{1s});
  table.look_at({"t", "c"}, std::nullopt);

  EXPECT_EQ(table.next_look(), timestamp{1s});
  auto due = table.due(timestamp{3s}, 10);
  ASSERT_EQ(due.size(), 2u);
  EXPECT_EQ(due[0].name, "b");
  EXPECT_EQ(due[1].name, "a");
  EXPECT_EQ(table.due(timestamp{2s}, 10).size(), 1u);
}

TEST(ScheduleTable, RefusesTheOneTooManyOfATenant) {
  core::schedule_table table;
  auto one = std::make_shared<const core::schedule_definition>();
  for (std::size_t i = 0; i < limits::schedules_per_tenant_max; ++i)
    table.put({"t", std::to_string(i)}, one, {});

  auto refused = core::check_room(table, {"t", "more"}, *one);

  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::too_large);
  EXPECT_NE(refused.error().context.find("100000 schedules"), std::string::npos);
  EXPECT_TRUE(core::check_room(table, {"t", "1"}, *one));
  EXPECT_TRUE(core::check_room(table, {"u", "more"}, *one));
}

/// A definition of which a table takes that share of the bytes of a shard, with some for names.
core::schedule_definition part_of_bytes(std::size_t parts) {
  core::schedule_definition definition;
  definition.spec.resize(limits::schedule_bytes_per_shard_max / parts - 100);
  return definition;
}

TEST(ScheduleTable, GivesATenantNoMoreBytesThanAreFree) {
  core::schedule_table table;
  auto quarter = part_of_bytes(4);
  for (const auto* name : {"1", "2"}) {
    ASSERT_TRUE(core::check_room(table, {"t", name}, quarter));
    table.put({"t", name}, std::make_shared<const core::schedule_definition>(quarter), {});
  }

  auto refused = core::check_room(table, {"t", "3"}, quarter);

  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::too_large);
  EXPECT_NE(refused.error().context.find("of 268435456 bytes"), std::string::npos);
  EXPECT_NE(refused.error().context.find("tenant \"t\""), std::string::npos);
  EXPECT_FALSE(core::check_room(table, {"t", "1"}, part_of_bytes(2)));
  EXPECT_TRUE(core::check_room(table, {"u", "1"}, quarter));
}

TEST(ScheduleTable, TakesADefinitionThatIsNotLargerWhateverOthersHave) {
  core::schedule_table table;
  auto half = std::make_shared<const core::schedule_definition>(part_of_bytes(2));
  table.put({"t", "s"}, half, {});
  table.put({"u", "s"}, half, {});

  EXPECT_TRUE(core::check_room(table, {"t", "s"}, *half));
  EXPECT_TRUE(core::check_room(table, {"t", "s"}, part_of_bytes(3)));
  EXPECT_FALSE(core::check_room(table, {"t", "more"}, {}));
}

TEST(ScheduleTable, LeavesSchedulesForEveryFurtherTenant) {
  core::schedule_table table;
  auto one = std::make_shared<const core::schedule_definition>();
  auto add = [&](const std::string& tenant) {
    std::size_t added = 0;
    for (; core::check_room(table, {tenant, std::to_string(added)}, *one); ++added)
      table.put({tenant, std::to_string(added)}, one, {});
    return added;
  };

  EXPECT_EQ(add("a"), limits::schedules_per_tenant_max);
  EXPECT_EQ(add("b"), limits::schedules_per_shard_max / 4);
  EXPECT_EQ(add("c"), limits::schedules_per_shard_max / 8);
}

TEST(ScheduleTable, ForgetsTheBytesOfRemovedSchedules) {
  core::schedule_table table;
  auto third = part_of_bytes(3);
  table.put({"t", "1"}, std::make_shared<const core::schedule_definition>(third), {});
  ASSERT_FALSE(core::check_room(table, {"t", "2"}, third));

  table.erase({"t", "1"});

  EXPECT_TRUE(core::check_room(table, {"t", "2"}, third));
  EXPECT_EQ(table.use_of("t").schedules, 0u);
}

TEST(ScheduleTable, BoundsTheBytesOfAllSchedules) {
  core::schedule_table table;
  core::schedule_definition large;
  large.spec.resize(limits::schedule_bytes_per_shard_max);

  EXPECT_FALSE(core::check_room(table, {"t", "s"}, large));
}

} // namespace
} // namespace codeq::test
