// SPDX-License-Identifier: Apache-2.0
#include "core/state/invariants.hpp"
#include "storage/keys/keyspace.hpp"
#include "storage/memory/memory_store.hpp"
#include "storage/records/projection.hpp"
#include "storage/recovery/recovery.hpp"
#include "support/shard_fixture.hpp"
#include "support/write_sets.hpp"

#include <gtest/gtest.h>

namespace codeq::storage {
namespace {

using namespace std::chrono_literals;

/// A shard whose turns go to a store.
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

  /// Takes the bodies of all tasks away.
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
    claim("w", 4);
    nack("w", held(31, 1), 20s);
    fail_permanently("w", held(32, 2));
    complete("w", held(33, 3));
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
  EXPECT_EQ((*recovered)->segments.unpacked_segments(), 2u)
    << "one has a lease, one is of a group; the rest waits packed";
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

TEST_F(Recovery, DamagedBlockIsCorruption) {
  make_tasks();
  take_snapshot();
  write();
  auto blocks = read(blocks_of(shard_id{}));
  ASSERT_FALSE(blocks.empty());
  auto& [key, value] = *blocks.begin();
  auto writes = std::make_shared<write_set>();
  auto damaged = value;
  // The version of the packed form is the first byte behind the record's own words.
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
