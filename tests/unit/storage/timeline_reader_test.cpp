// SPDX-License-Identifier: Apache-2.0
#include "core/state/task_index.hpp"
#include "storage/keys/keyspace.hpp"
#include "storage/memory/memory_store.hpp"
#include "storage/records/projection.hpp"
#include "storage/recovery/recovery.hpp"
#include "storage/recovery/task_reader.hpp"
#include "storage/recovery/timeline_reader.hpp"
#include "support/key_ranges.hpp"
#include "support/shard_fixture.hpp"

#include <gtest/gtest.h>

namespace codeq::storage {
namespace {

using namespace std::chrono_literals;
using kind = task_event::kind;

/// A shard whose turns are all in a store.
class Timeline : public test::shard_fixture {
protected:
  /// Writes the turns that are not in the store yet.
  void write() {
    for (; written_ < turns(); ++written_) {
      auto writes = std::make_shared<write_set>();
      for (const auto& e : events_of(written_))
        project(shard_id{}, e, *writes);
      std::shared_ptr<const write_set> set = writes;
      ASSERT_TRUE(store_.commit({&set, 1}, durability::os));
    }
  }

  /// The task's current view in the shard.
  core::task_view view_of(int number) {
    core::task_view view;
    view.seq = task(number);
    view.entry = entry_of(number);
    if (const auto* l = state().leases.find(view.entry.token)) {
      view.worker = state().leases.grant_at(l->grant).worker->name;
      view.granted_at = state().leases.grant_at(l->grant).at;
    }
    return view;
  }

  /// The events in words; "purged" when there are none.
  std::string read(const core::task_view& view, view_source source = view_source::memory) {
    write();
    auto timeline = read_timeline(store_, shard_id{}, view, source);
    if (!timeline)
      return to_string(timeline.error());
    if (!*timeline)
      return "purged";
    std::string words;
    for (const auto& event : (*timeline)->events) {
      words += words.empty() ? "" : ", ";
      words += to_string(event.what);
      words += event.attempt == 0 ? "" : " " + std::to_string(event.attempt);
    }
    if ((*timeline)->dropped > 0)
      words += "; dropped " + std::to_string((*timeline)->dropped);
    return words + "; " + std::string(to_string((*timeline)->state));
  }

  std::string read(int number) { return read(view_of(number)); }

  /// The same for a closed task, whose view comes from its fate record.
  std::string read_closed(int number) {
    write();
    auto view = read_fate(store_, shard_id{}, task(number), {});
    return view && *view ? read(**view, view_source::fate) : "no fate";
  }

  std::size_t records() {
    write();
    std::size_t found = 0;
    auto range = test::keys_of_kind(key_tag::history, shard_id{});
    EXPECT_TRUE(store_.scan(range.begin, range.end, [&](std::string_view, std::string_view) {
      ++found;
      return true;
    }));
    return found;
  }

  void lease_one() {
    attach("w", {"q"});
    claim("w", 1);
    enqueue("q");
  }

  memory_store store_;

private:
  std::size_t written_ = 0;
};

TEST_F(Timeline, TaskThatWaitsWasEnqueued) {
  enqueue("q");

  EXPECT_EQ(read(1), "enqueued; ready");
}

TEST_F(Timeline, LiveLeaseIsTheLatestEvent) {
  lease_one();

  EXPECT_EQ(read(1), "enqueued, granted 1; leased");
}

TEST_F(Timeline, PlainCompletionComesFromItsOutcome) {
  lease_one();
  complete("w", held(1, 1), std::string(2000, 'x'));
  EXPECT_EQ(read(1), "enqueued, granted 1, completed 1; completed");
  take_snapshot();

  EXPECT_EQ(read_closed(1), "enqueued, granted 1, completed 1; completed");
  EXPECT_EQ(records(), 0u);
}

TEST_F(Timeline, GrantsStandBeforeWhatHappenedDuringThem) {
  lease_one();
  nack("w", held(1, 1), 0s);
  claim("w", 1);
  cancel(1);
  EXPECT_EQ(read(1), "enqueued, granted 1, nacked 1, granted 2, cancel_requested 2; leased");
  complete("w", held(1, 2));
  take_snapshot();

  EXPECT_EQ(
    read_closed(1),
    "enqueued, granted 1, nacked 1, granted 2, cancel_requested 2, completed 2; completed");
}

TEST_F(Timeline, NeighboursShareTheRecordOfTheirFirstFailure) {
  attach("w", {"q"});
  claim("w", 3);
  enqueue("q", 3);
  together([&] {
    for (int i = 1; i <= 3; ++i)
      nack("w", held(i, i), 0s);
  });

  EXPECT_EQ(records(), 1u);
  for (int i = 1; i <= 3; ++i)
    EXPECT_EQ(read(i), "enqueued, granted 1, nacked 1; ready");

  purge(1);
  cancel(2);

  EXPECT_EQ(read(2), "enqueued, granted 1, nacked 1, cancelled; cancelled");
  EXPECT_EQ(read(3), "enqueued, granted 1, nacked 1; ready");
}

TEST_F(Timeline, SharedEntryIsDroppedWhenThereAreTooMany) {
  attach("w", {"q"});
  claim("w", 2);
  enqueue("q", 2);
  together([&] {
    nack("w", held(1, 1), 0s);
    nack("w", held(2, 2), 0s);
  });
  for (int i = 0; i < 16; ++i) {
    force(2, force_kind::fail);
    redrive(2);
  }

  auto words = read(2);

  EXPECT_TRUE(words.starts_with("enqueued, forced_to_fail, redriven, ")) << words;
  EXPECT_TRUE(words.ends_with("; dropped 1; ready")) << words;
  EXPECT_EQ(read(1), "enqueued, granted 1, nacked 1; ready");
}

TEST_F(Timeline, EndsWithTheView) {
  lease_one();
  nack("w", held(1, 1), 0s);
  auto then = view_of(1);
  cancel(1);

  EXPECT_EQ(read(then), "enqueued, granted 1, nacked 1; ready");
  EXPECT_EQ(read(1), "enqueued, granted 1, nacked 1, cancelled; cancelled");
}

TEST_F(Timeline, KeepsTheLatestAndCountsTheOthers) {
  constexpr int redrives = 20;
  enqueue("q");
  for (int i = 0; i < redrives; ++i) {
    force(1, force_kind::fail);
    redrive(1);
  }

  auto words = read(1);

  EXPECT_TRUE(words.starts_with("enqueued, forced_to_fail, redriven, ")) << words;
  EXPECT_TRUE(words.ends_with(", redriven; dropped 8; ready")) << words;
  EXPECT_EQ(records(), 32u);
}

TEST_F(Timeline, ViewOlderThanAllThatIsKeptHasNothingButItsNumber) {
  enqueue("q");
  force(1, force_kind::fail);
  auto then = view_of(1);
  for (int i = 0; i < 20; ++i) {
    redrive(1);
    force(1, force_kind::fail);
  }

  EXPECT_EQ(read(then), "enqueued; dropped 1; dead");
}

TEST_F(Timeline, PurgeLeavesNothing) {
  enqueue("q", 2);
  for (int i = 0; i < 20; ++i) {
    force(1, force_kind::fail);
    redrive(1);
  }
  force(1, force_kind::fail);
  force(2, force_kind::fail);
  auto then = view_of(1);

  purge(1);

  EXPECT_EQ(read(then), "purged");
  EXPECT_EQ(records(), 1u);
  EXPECT_EQ(read(2), "enqueued, forced_to_fail; dead");
}

TEST_F(Timeline, LeaseThatIsPurgedLeavesNothing) {
  lease_one();

  core::task_part part;
  part.filter.queue = "q";
  part.limit = 10;
  change_many(core::bulk_kind::purge_all, part);

  EXPECT_EQ(records(), 0u);
}

TEST_F(Timeline, RecoveredShardNumbersOn) {
  lease_one();
  nack("w", held(1, 1), 0s);
  write();
  take_snapshot();
  cancel(1);
  write();

  auto recovered = recover(store_, shard_id{}, 2, {});

  ASSERT_TRUE(recovered);
  EXPECT_EQ(core::find_segment((*recovered)->segments, task(1))->view(task(1)).notes, 2u);
}

} // namespace
} // namespace codeq::storage
