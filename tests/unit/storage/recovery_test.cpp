// SPDX-License-Identifier: Apache-2.0
#include "core/checks/invariants.hpp"
#include "core/state/queue_fairness.hpp"
#include "record.capnp.h"
#include "storage/keys/keyspace.hpp"
#include "storage/memory/memory_store.hpp"
#include "storage/records/projection.hpp"
#include "storage/records/record_build.hpp"
#include "storage/records/record_codec.hpp"
#include "storage/recovery/recovery.hpp"
#include "support/equal_hashes.hpp"
#include "support/shard_fixture.hpp"
#include "support/write_sets.hpp"

#include <gtest/gtest.h>

namespace codeq::storage {
namespace {

using namespace std::chrono_literals;

/// A shard whose turns are written to a store.
class Recovery : public test::shard_fixture {
protected:
  void write() {
    for (; written_ < turns(); ++written_) {
      auto writes = std::make_shared<write_set>();
      for (const auto& e : events_of(written_))
        project(shard_id{}, e, *writes);
      commit(std::move(writes));
    }
  }

  void commit(std::shared_ptr<const write_set> set) {
    ASSERT_TRUE(store_.commit({&set, 1}, durability::os));
  }

  [[nodiscard]] test::contents read(const key_range& range) {
    auto found = test::read_all(store_, range.begin, range.end);
    EXPECT_TRUE(found);
    return found ? found.value() : test::contents{};
  }

  /// Removes the bodies of all tasks.
  void remove_bodies() {
    auto writes = std::make_shared<write_set>();
    for (const auto& range : {segments_of(shard_id{}), asides_of(shard_id{})})
      for (const auto& [key, value] : read(range))
        writes->remove(key);
    commit(std::move(writes));
  }

  /// Plain tasks, deferred and keyed ones, leases, a retry and a dead task.
  void make_tasks() {
    attach("w", {"q", "r"});
    enqueue("q", 30);
    enqueue("r", 20, {.priority = 3});
    enqueue("q", 1, {.delay = 1h});
    enqueue("q", 1, {.group = "g"});
    enqueue("q", 1, {.key = "k"});
    enqueue("r", 3, {.fairness = {"customer", 7}});
    claim("w", 4);
    nack("w", held(31, 1), 20s);
    fail_permanently("w", held(32, 2));
    complete("w", held(33, 3));
  }

  /// Moves the totals to their place in format 1.
  void to_format_one() {
    auto writes = std::make_shared<write_set>();
    auto totals = read(totals_of(shard_id{}));
    auto snapshot = decode_snapshot(read_value(shard_key{}.encode()));
    ASSERT_TRUE(snapshot);
    writes->put(shard_key{}.encode(), build<schema::ShardRecord>(small_words, [&](auto r) {
                  r.setPosition(snapshot->position);
                  r.setAtMs(ms_of(snapshot->at));
                  r.setNextSequence(snapshot->next_sequence);
                  auto list = r.initQueues(static_cast<capnp::uint>(totals.size()));
                  capnp::uint i = 0;
                  for (const auto& [key, value] : totals) {
                    auto queue = totals_key::decode(key)->queue;
                    auto of_queue = decode_totals(value, queue);
                    list[i].initQueue().setTenant(queue.tenant);
                    list[i].getQueue().setQueue(queue.queue);
                    list[i].setCompleted(of_queue->totals.completed);
                    list[i].setCancelled(of_queue->totals.cancelled);
                    list[i++].setPurgedBelow(of_queue->totals.purged_below);
                    writes->remove(key);
                  }
                }));
    commit(std::move(writes));
  }

  [[nodiscard]] std::string read_value(const std::string& key) {
    auto value = store_.read(key);
    return value && *value ? **value : std::string();
  }

  memory_store store_;
  std::size_t written_ = 0;
};

TEST_F(Recovery, ReadsNoSegmentThatTheSnapshotKnows) {
  make_tasks();
  take_snapshot();
  write();
  remove_bodies();

  auto recovered = recover(store_, shard_id{}, 2, {});

  ASSERT_TRUE(recovered) << to_string(recovered.error());
  EXPECT_EQ((*recovered)->segments.unpacked_segments(), 1u)
    << "one has a lease; the rest waits packed";
  EXPECT_EQ(core::durable_text(**recovered), core::durable_text(state()));
  EXPECT_EQ(core::find_violations(**recovered), std::vector<std::string>{});
}

TEST_F(Recovery, ReadsTheSegmentsBehindTheSnapshot) {
  make_tasks();
  take_snapshot();
  write();
  remove_bodies();
  enqueue("q", 3);
  enqueue("q", 1, {.delay = 2h});
  write();

  auto recovered = recover(store_, shard_id{}, 2, {});

  ASSERT_TRUE(recovered) << to_string(recovered.error());
  EXPECT_EQ(core::durable_text(**recovered), core::durable_text(state()));
}

TEST_F(Recovery, FairnessKeysHaveTheirWeightsWithAndWithoutASnapshot) {
  const auto weights = [&]() -> std::vector<std::uint32_t> {
    auto recovered = recover(store_, shard_id{}, 2, {});
    if (!recovered)
      return {};
    const auto* queue = (*recovered)->find_queue({"default", "q"});
    std::vector<std::uint32_t> found;
    for (const auto& key : queue->fair->list({.limit = 10}, {.leased = queue->leased}).keys)
      found.push_back(key.weight);
    return found;
  };
  enqueue("q", 2, {.fairness = {"ready", 7}});
  enqueue("q", 1, {.delay = 1h, .fairness = {"scheduled", 5}});
  write();
  EXPECT_EQ(weights(), (std::vector<std::uint32_t>{7, 5}));

  take_snapshot();
  write();
  EXPECT_EQ(weights(), (std::vector<std::uint32_t>{7, 5}));
}

TEST_F(Recovery, KeepsGroupsApartWhoseNamesHaveEqualHashes) {
  std::string first(test::equal_groups.first);
  std::string second(test::equal_groups.second);
  enqueue("q", 2, {.group = first});
  take_snapshot();
  enqueue("q", 2, {.group = second});
  write();
  auto with_one_in_blocks = recover(store_, shard_id{}, 2, {});
  ASSERT_TRUE(with_one_in_blocks) << to_string(with_one_in_blocks.error());
  EXPECT_EQ(core::durable_text(**with_one_in_blocks), core::durable_text(state()));

  take_snapshot();
  enqueue("q", 1, {.group = second});
  write();
  auto with_both_in_blocks = recover(store_, shard_id{}, 2, {});
  ASSERT_TRUE(with_both_in_blocks) << to_string(with_both_in_blocks.error());
  EXPECT_EQ(core::durable_text(**with_both_in_blocks), core::durable_text(state()));
}

TEST_F(Recovery, FindsAnEarlierTaskThatCameBackWhileALaterOneOfItsGroupWasLeased) {
  attach("w", {"q"});
  claim("w", 2);
  enqueue("q", 3, {.group = "g"});
  fail_permanently("w", held(1, 1));
  redrive(1);
  take_snapshot();
  write();

  auto recovered = recover(store_, shard_id{}, 2, {});

  ASSERT_TRUE(recovered) << to_string(recovered.error());
  EXPECT_EQ(core::durable_text(**recovered), core::durable_text(state()));
  EXPECT_EQ((*recovered)->groups.late, state().groups.late);
  EXPECT_EQ(state().groups.late.size(), 1u);
}

TEST_F(Recovery, FindsTheTotalsOfQueuesThatLaterSnapshotsDidNotName) {
  attach("w", {"q", "r"});
  claim("w", 2);
  enqueue("q", 1);
  enqueue("r", 1);
  complete("w", held(1, 1));
  take_snapshot();
  complete("w", held(2, 2));
  take_snapshot();
  write();

  auto recovered = recover(store_, shard_id{}, 2, {});

  ASSERT_TRUE(recovered) << to_string(recovered.error());
  EXPECT_EQ(core::durable_text(**recovered), core::durable_text(state()));
  EXPECT_TRUE((*recovered)->changed_totals.empty());
}

TEST_F(Recovery, OfASnapshotWithManyQueuesOnlyWhatChangedIsWritten) {
  attach("w", {"q"});
  claim("w", 2);
  auto bytes_of_snapshot = [&](int task) {
    enqueue("q", 1);
    complete("w", held(task, task == 1 ? 1 : 2));
    take_snapshot();
    write_set writes;
    for (const auto& e : events())
      project(shard_id{}, e, writes);
    std::size_t bytes = 0;
    for (const auto& o : writes.operations())
      if (o.key == shard_key{}.encode() || totals_of(shard_id{}).contains(o.key))
        bytes += o.key.size() + o.value.size();
    return bytes;
  };
  auto with_one = bytes_of_snapshot(1);
  for (int i = 0; i < 1000; ++i)
    enqueue("q" + std::to_string(i));
  take_snapshot();

  EXPECT_EQ(bytes_of_snapshot(1002), with_one);
}

TEST_F(Recovery, ReadsTotalsFromASnapshotOfFormatOneAndWritesThemAnew) {
  attach("w", {"q"});
  claim("w", 1);
  enqueue("q", 2);
  complete("w", held(1, 1));
  core::task_part part;
  part.filter.queue = "q";
  part.below = task(2);
  part.limit = 10;
  change_many(core::bulk_kind::purge_all, part);
  take_snapshot();
  write();
  to_format_one();

  auto recovered = recover(store_, shard_id{}, 2, {});

  ASSERT_TRUE(recovered) << to_string(recovered.error());
  EXPECT_EQ(core::find_violations(**recovered), std::vector<std::string>{});
  EXPECT_EQ((*recovered)->changed_totals.size(), 1u) << "they have no record of their own";
  const auto& totals = (*recovered)->find_queue({"default", "q"})->totals;
  EXPECT_EQ(totals.completed, 1u);
  EXPECT_EQ(totals.purged_below, task(2));
  // It is not known how long the records of ended tasks are kept.
  EXPECT_EQ(totals.records_until, now() + limits::retention_classes.back());
  EXPECT_EQ(totals.purged_until, totals.records_until);
}

TEST_F(Recovery, KnowsThePurgedTasksOfARemovedQueue) {
  attach("w", {"q"});
  claim("w", 1);
  enqueue("q");
  complete("w", held(1, 1));
  take_snapshot();
  enqueue("q");
  core::task_part part;
  part.filter.queue = "q";
  part.limit = 10;
  change_many(core::bulk_kind::purge_all, part);
  take_snapshot();
  write();
  EXPECT_TRUE(read(queues_of(shard_id{})).empty());
  EXPECT_EQ(read(totals_of(shard_id{})).size(), 1u);

  auto recovered = recover(store_, shard_id{}, 2, {});

  ASSERT_TRUE(recovered) << to_string(recovered.error());
  EXPECT_TRUE((*recovered)->queue_index.empty());
  EXPECT_EQ(core::durable_text(**recovered), core::durable_text(state()));
  EXPECT_EQ((*recovered)->purged->at({"default", "q"}), task(3));
  advance(24h);
  take_snapshot();
  write();
  EXPECT_TRUE(read(totals_of(shard_id{})).empty());
}

TEST_F(Recovery, DamagedBlockIsCorruption) {
  make_tasks();
  take_snapshot();
  write();
  auto blocks = read(blocks_of(shard_id{}));
  ASSERT_FALSE(blocks.empty());
  auto& [key, value] = *blocks.begin();
  auto writes = std::make_shared<write_set>();
  auto damaged = value;
  // The version of the packed format is the first byte after the record's fixed fields.
  damaged[damaged.find('\x01', 24)] = '\x7f';
  writes->put(key, damaged);
  commit(std::move(writes));

  auto recovered = recover(store_, shard_id{}, 2, {});

  ASSERT_FALSE(recovered);
  EXPECT_EQ(recovered.error().code, errc::corruption);
}

TEST_F(Recovery, ClosedSegmentsLeaveNoBlock) {
  attach("w", {"q"});
  claim("w", 2);
  enqueue("q", 2);
  take_snapshot();
  complete_all("w", {held(1, 1), held(2, 2)});
  take_snapshot();
  write();

  EXPECT_TRUE(read(blocks_of(shard_id{})).empty());
}

} // namespace
} // namespace codeq::storage
