// SPDX-License-Identifier: Apache-2.0
#include "storage/keys/keyspace.hpp"
#include "storage/memory/memory_store.hpp"
#include "storage/records/projection.hpp"
#include "storage/records/retention_codec.hpp"
#include "storage/recovery/task_reader.hpp"

#include <gtest/gtest.h>

namespace codeq::storage {
namespace {

using namespace std::chrono_literals;

constexpr shard_id shard{1};
constexpr timestamp start{duration{1'000'000}};
const task_key name{{"default", "q"}, {}, "x"};

class TaskReader : public testing::Test {
protected:
  void commit(const core::event& e) {
    auto writes = std::make_shared<write_set>();
    project(shard, e, *writes);
    std::shared_ptr<const write_set> set = writes;
    ASSERT_TRUE(store_.commit({&set, 1}, durability::sync));
  }

  /// Ends task 5 at `start`, in a record that is kept for an hour.
  void end(task_state next, const std::string& text) {
    core::leases_ended e{9, start, {}, 1h};
    core::lease_end x{5, fencing_token{4}, {}, true, next, {}, bytes(text)};
    x.attempt = 3;
    e.ends.push_back(x);
    commit(e);
  }

  void change(core::change_kind kind) {
    commit(core::tasks_changed{10, start, {{5, kind, {}, {}}}});
  }

  /// Closes task 5, which is alone in its segment, half an hour after the start.
  void close(task_state state) {
    core::segment_fate fate;
    fate.first = 5;
    fate.closed_at = start + 30min;
    fate.retention = 1h;
    fate.entries.push_back(view(state).entry);
    core::snapshot_taken c;
    c.position = 11;
    c.closed.push_back(fate);
    c.closed_keys.push_back({name, {5, 8, start + 90min}});
    commit(c);
  }

  static core::task_view view(task_state state) {
    core::task_view v;
    v.seq = 5;
    v.entry.state = state;
    v.entry.outcome = 9;
    return v;
  }

  /// The text of task 5 in that state, or the error in its place.
  std::string text_of(task_state state, timestamp now) {
    auto text = read_text(store_, shard, view(state), now);
    if (!text)
      return to_string(text.error());
    return *text ? "'" + std::string((*text)->view()) + "'" : "unknown";
  }

  /// Adds a segment of one task whose body is its number.
  void append(sequence first, bool aside) {
    core::segment_appended e;
    e.first = first;
    e.count = 1;
    e.key = aside ? "key" : "";
    auto body = std::to_string(first);
    e.body_bytes = body.size();
    e.pieces.push_back({bytes(body), {static_cast<std::uint32_t>(body.size())}});
    commit(e);
  }

  std::vector<std::string> bodies_of(const std::vector<sequence>& segments, bool aside) {
    std::vector<std::string> found;
    auto take = [&](sequence segment, const core::encoded_tasks& bodies) {
      found.emplace_back(bodies.body.view());
      EXPECT_EQ(found.back(), std::to_string(segment));
    };
    EXPECT_TRUE(read_bodies(store_, shard, segments, aside, take));
    return found;
  }

  memory_store store_;
};

TEST_F(TaskReader, CompletedTaskIsUnknownPastTheRetentionOfItsResult) {
  end(task_state::completed, "result");

  EXPECT_EQ(text_of(task_state::completed, start + 1h - 1ms), "'result'");
  EXPECT_EQ(text_of(task_state::completed, start + 1h), "unknown");
}

TEST_F(TaskReader, CompletedTaskIsUnknownWhenItsResultIsGone) {
  EXPECT_EQ(text_of(task_state::completed, start), "unknown");
}

TEST_F(TaskReader, CancelledTaskLosesItsTextOnly) {
  end(task_state::cancelled, "stopped");

  EXPECT_EQ(text_of(task_state::cancelled, start + 1h - 1ms), "'stopped'");
  EXPECT_EQ(text_of(task_state::cancelled, start + 1h), "''");
}

TEST_F(TaskReader, LiveTaskKeepsItsText) {
  end(task_state::scheduled, "error");

  EXPECT_EQ(text_of(task_state::scheduled, start + 1000h), "'error'");
}

TEST_F(TaskReader, FateIsUnknownPastItsRetention) {
  close(task_state::cancelled);

  EXPECT_TRUE(*read_fate(store_, shard, 5, {start + 90min - 1ms}));
  EXPECT_FALSE(*read_fate(store_, shard, 5, {start + 90min}));
  EXPECT_FALSE(*read_fate(store_, shard, 6, {start}));
}

TEST_F(TaskReader, FateOfACopiedTaskIsItsOwn) {
  core::snapshot_taken c;
  c.position = 11;
  for (bool copied : {false, true}) {
    auto& fate = c.closed.emplace_back();
    fate.first = 5;
    fate.copied = copied;
    fate.closed_at = start + (copied ? 1h : 0min);
    fate.retention = 1h;
    fate.entries.push_back(view(copied ? task_state::completed : task_state::cancelled).entry);
    fate.entries.back().gone = !copied;
  }
  commit(c);

  auto found = *read_fate(store_, shard, 5, {start + 90min});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->entry.state, task_state::completed);
  EXPECT_FALSE(*read_fate(store_, shard, 5, {start + 2h}));
}

TEST_F(TaskReader, KeyIsKnownAsLongAsItsTask) {
  close(task_state::completed);
  EXPECT_TRUE(*read_key(store_, shard, name, {start + 90min - 1ms}));
  EXPECT_FALSE(*read_key(store_, shard, name, {start + 90min}));
  EXPECT_FALSE(*read_key(store_, shard, {name.queue, {}, "another"}, {start}));

  core::purge_marks purged{{{}, 6}};
  EXPECT_FALSE(*read_key(store_, shard, name, {start, &purged}));

  auto writes = std::make_shared<write_set>();
  writes->remove(fate_key{shard, 5}.encode());
  std::shared_ptr<const write_set> set = writes;
  ASSERT_TRUE(store_.commit({&set, 1}, durability::sync));
  EXPECT_FALSE(*read_key(store_, shard, name, {start}));
}

TEST_F(TaskReader, DeadTaskHasARecordOfItsOwn) {
  end(task_state::dead, "why");

  auto record = decode_death(store_.read(dead_key{shard, 5}.encode())->value());
  ASSERT_TRUE(record);
  EXPECT_EQ(record->at, start);
  EXPECT_EQ(record->attempt, 3);
  EXPECT_EQ(record->token, fencing_token{4});
  EXPECT_EQ(record->text.view(), "why");
  EXPECT_EQ(text_of(task_state::dead, start + 10'000h), "'why'");
}

TEST_F(TaskReader, RedrivenTaskHasNoRecordOfItsDeath) {
  end(task_state::dead, "why");
  change(core::change_kind::rescheduled);
  EXPECT_TRUE(store_.read(dead_key{shard, 5}.encode())->has_value());

  change(core::change_kind::redriven);

  EXPECT_FALSE(store_.read(dead_key{shard, 5}.encode())->has_value());
  EXPECT_EQ(text_of(task_state::dead, start), "''") << "it lives since the view was taken";
}

TEST_F(TaskReader, CheckpointsAreReadUntilTheirTasksEnd) {
  core::checkpoints_changed e{12, start, {}, {}};
  e.saved.push_back({5, {fencing_token{4}, 1}, bytes("a")});
  e.saved.push_back({6, {fencing_token{5}, 1}, bytes("b")});
  commit(e);
  e.saved = {{6, {fencing_token{5}, 2}, bytes("c")}};
  e.dropped = {5};
  commit(e);
  core::granted_run run;
  run.checkpoints = {{5, {}, {}}, {6, {}, {}}, {7, {}, {}}};

  ASSERT_TRUE(read_checkpoints(store_, shard, run));

  ASSERT_EQ(run.checkpoints.size(), 1u);
  EXPECT_EQ(run.checkpoints[0].seq, 6u);
  EXPECT_EQ(run.checkpoints[0].mark, (core::checkpoint_mark{fencing_token{5}, 2}));
  EXPECT_EQ(run.checkpoints[0].data.view(), "c");
}

TEST_F(TaskReader, BodiesOfManySegmentsAreReadInOrder) {
  // Some are adjacent, some far apart, and the two kinds are mixed.
  for (sequence first = 1; first <= 200; ++first)
    append(first, first % 10 == 0);
  // The last one and two in between do not exist.
  std::vector<sequence> wanted{3, 4, 8, 50, 60, 77, 99, 101, 121, 199, 999};

  EXPECT_EQ(
    bodies_of(wanted, false),
    (std::vector<std::string>{"3", "4", "8", "77", "99", "101", "121", "199"}));
  EXPECT_EQ(bodies_of(wanted, true), (std::vector<std::string>{"50", "60"}));
  EXPECT_EQ(bodies_of({}, false), std::vector<std::string>{});
  EXPECT_EQ(bodies_of({500, 600}, false), std::vector<std::string>{});
}

TEST_F(TaskReader, DamagedBodyIsCorruption) {
  append(1, false);
  auto writes = std::make_shared<write_set>();
  writes->put(segment_key{shard, 2}.encode(), "no record");
  std::shared_ptr<const write_set> set = writes;
  ASSERT_TRUE(store_.commit({&set, 1}, durability::sync));

  const std::vector<sequence> both{1, 2};
  auto read = read_bodies(store_, shard, both, false, [](sequence, const auto&) {});

  EXPECT_EQ(read.error().code, errc::corruption);
}

} // namespace
} // namespace codeq::storage
