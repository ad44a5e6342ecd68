// SPDX-License-Identifier: Apache-2.0
#include "storage/keys/keyspace.hpp"
#include "storage/memory/memory_store.hpp"
#include "storage/records/projection.hpp"
#include "storage/records/record_codec.hpp"
#include "storage/recovery/recovery.hpp"
#include "storage/recovery/schedule_reader.hpp"
#include "support/write_sets.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace codeq::storage {
namespace {

schedule::nominal_time nominal(std::int64_t order, std::int64_t local) {
  return {
    schedule::local_seconds{std::chrono::seconds{order}},
    schedule::local_seconds{std::chrono::seconds{local}}};
}

core::occurrence some_entry(std::uint64_t number) {
  core::occurrence entry;
  entry.number = number;
  entry.nominal = nominal(200, 100);
  entry.at = timestamp{duration{7}};
  entry.decided_at = timestamp{duration{8}};
  entry.cause = occurrence_cause::backfill;
  entry.state = occurrence_state::dead;
  entry.count = 3;
  entry.shard = shard_id{2};
  entry.task = 99;
  entry.ended_at = timestamp{duration{9}};
  return entry;
}

core::schedule_changed some_change(const std::string& name) {
  core::schedule_changed e;
  e.position = 5;
  e.at = timestamp{duration{11}};
  e.name = {"t", name};
  e.definition = std::make_shared<const core::schedule_definition>(
    core::schedule_definition{"spec", overlap_policy::queue_one});
  e.progress.mark = nominal(4, 3);
  e.progress.occurrences = 150;
  e.progress.paused = true;
  e.progress.waiting = core::waiting_occurrence{nominal(6, 6), timestamp{duration{1}}, 149};
  e.progress.open = {{some_entry(148), 17, 2, true}};
  e.progress.latest = some_entry(149);
  e.entries = {some_entry(148), some_entry(149)};
  return e;
}

void write(task_store& store, const core::event& e) {
  auto writes = std::make_shared<write_set>();
  project(shard_id{}, e, *writes);
  test::shared_write_set set = writes;
  ASSERT_TRUE(store.commit({&set, 1}, durability::sync));
}

TEST(ScheduleRecord, IsReadAsItWasWritten) {
  auto e = some_change("s");
  auto definition = decode_schedule(encode(*e.definition));
  auto progress = decode_progress(encode(e.progress, e.position, e.at));
  auto entry = decode_occurrence(encode(some_entry(1)));

  ASSERT_TRUE(definition && progress && entry);
  EXPECT_EQ(*definition, *e.definition);
  EXPECT_EQ(progress->progress, e.progress);
  EXPECT_EQ(progress->position, 5u);
  EXPECT_EQ(progress->at, e.at);
  EXPECT_EQ(*entry, some_entry(1));
}

TEST(ScheduleRecord, WithAnUnknownStateIsCorruption) {
  auto entry = some_entry(1);
  entry.state = static_cast<occurrence_state>(200);

  auto read = decode_occurrence(encode(entry));

  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, errc::corruption);
}

TEST(ScheduleRecord, IsRecovered) {
  memory_store store;
  auto e = some_change("s");
  write(store, e);

  auto state = recover(store, shard_id{}, 2, {});

  ASSERT_TRUE(state);
  const auto* found = (*state)->schedules.find(e.name);
  ASSERT_TRUE(found);
  EXPECT_EQ(*found->definition, *e.definition);
  EXPECT_EQ(found->progress, e.progress);
  EXPECT_EQ((*state)->at, e.at);
  // Whatever is due is looked for at once.
  EXPECT_EQ(found->next, timestamp{});
}

TEST(ScheduleRecord, HistoryHasTheEntriesOfOneScheduleInOrder) {
  memory_store store;
  write(store, some_change("s"));
  write(store, some_change("s0"));

  auto history = read_occurrences(store, shard_id{}, {"t", "s"});

  ASSERT_TRUE(history);
  ASSERT_EQ(history->size(), 2u);
  EXPECT_EQ(history->front(), some_entry(148));
}

TEST(ScheduleRecord, EntryOverwritesTheOneAHundredBefore) {
  memory_store store;
  auto e = some_change("s");
  write(store, e);
  e.entries = {some_entry(248)};
  write(store, e);

  auto history = read_occurrences(store, shard_id{}, e.name);

  ASSERT_TRUE(history);
  ASSERT_EQ(history->size(), 2u);
  EXPECT_EQ(history->back().number, 248u);
}

TEST(ScheduleRecord, RemovedScheduleLeavesNothing) {
  memory_store store;
  auto e = some_change("s");
  write(store, e);
  e.is_removed = true;
  write(store, e);

  for (const auto& range :
       {schedules_of(shard_id{}), progress_of(shard_id{}), occurrences_of(shard_id{})})
    EXPECT_TRUE(test::read_all(store, range.begin, range.end)->empty());
}

TEST(ScheduleKey, IsReadAsItWasWritten) {
  schedule_address name{"t", "a.b-c_d"};
  EXPECT_EQ(schedule_key::decode(schedule_key({shard_id{3}, name}).encode())->schedule, name);
  EXPECT_EQ(progress_key::decode(progress_key({shard_id{3}, name}).encode())->schedule, name);
  occurrence_key key{shard_id{3}, name, 99};
  EXPECT_EQ(occurrence_key::decode(key.encode()), key);
  EXPECT_FALSE(occurrence_key::decode(key.encode() + "x"));
  EXPECT_FALSE(schedule_key::decode(key.encode()));
}

} // namespace
} // namespace codeq::storage
