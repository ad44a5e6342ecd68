// SPDX-License-Identifier: Apache-2.0
#include "codeq/limits.hpp"

#include "base/tuning.hpp"
#include "storage/memory/memory_store.hpp"
#include "storage/records/projection.hpp"
#include "storage/recovery/audit_reader.hpp"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>

namespace codeq::storage {
namespace {

using namespace std::chrono_literals;

constexpr std::uint16_t shards = 3;
constexpr timestamp start{1000h};

/// An audit log of three shards.
class AuditReader : public testing::Test {
protected:
  struct command {
    std::uint16_t shard = 0;
    duration after_start{0};
    std::uint64_t operation = 1;
    std::string tenant = "t";
    std::string queue = "q";
    std::uint64_t changed = 1;
    sequence task = 0;
  };

  void add(const command& c) {
    core::audit_entry entry;
    entry.by = std::make_shared<const core::command_origin>(core::command_origin{
      start + c.after_start, c.operation, "ada", "*", "192.0.2.1:5"});
    entry.action = operator_action::queue_purge;
    entry.tenant = c.tenant;
    entry.queue = c.queue;
    entry.changed = c.changed;
    entry.task = c.task;
    entry.position = ++position_;
    auto writes = std::make_shared<write_set>();
    project(
      static_cast<shard_id>(c.shard), core::commands_audited{position_, start, {entry}}, *writes);
    std::shared_ptr<const write_set> set = writes;
    ASSERT_TRUE(store_.commit({&set, 1}, durability::os));
  }

  audit_page read(const audit_filter& filter = {}, timestamp now = start + 1h) {
    constexpr std::array<shard_id, shards> all{shard_id{0}, shard_id{1}, shard_id{2}};
    auto page = read_audit(store_, all, filter, now);
    EXPECT_TRUE(page) << to_string(page.error());
    return page ? *page : audit_page{};
  }

  /// Operation and count of each command, and `...` when there are more.
  std::string read_words(const audit_filter& filter = {}, timestamp now = start + 1h) {
    std::string words;
    auto page = read(filter, now);
    for (const auto& c : page.commands)
      words += (words.empty() ? "" : " ") + std::to_string(c.operation) + ":"
               + std::to_string(c.changed);
    return words + (page.after ? "..." : "");
  }

  memory_store store_;
  core::log_position position_ = 0;
};

TEST_F(AuditReader, IsEmptyAtFirst) {
  EXPECT_EQ(read_words(), "");
}

TEST_F(AuditReader, TellsAllOfACommand) {
  add({.shard = 2, .after_start = 1s, .operation = 7, .changed = 1, .task = 9});

  auto page = read();

  ASSERT_EQ(page.commands.size(), 1u);
  audited_command expected;
  expected.at = start + 1s;
  expected.operation = 7;
  expected.action = operator_action::queue_purge;
  expected.tenant = "t";
  expected.queue = "q";
  expected.task = task_id{shard_id{2}, 9};
  expected.changed = 1;
  expected.subject = "ada";
  expected.bearer_tenant = "*";
  expected.remote = "192.0.2.1:5";
  EXPECT_EQ(page.commands[0], expected);
}

TEST_F(AuditReader, TheLatestComesFirstAndPartsOfACommandAreOne) {
  for (std::uint16_t shard = 0; shard < shards; ++shard)
    add({.shard = shard, .after_start = 2s, .operation = 5, .changed = 10});
  add({.shard = 1, .after_start = 1s, .operation = 9});
  add({.shard = 0, .after_start = 3s, .operation = 2});
  // A later part of a command that was forgotten in between.
  add({.shard = 1, .after_start = 2s, .operation = 5, .changed = 4});

  EXPECT_EQ(read_words(), "2:1 5:34 9:1");
}

TEST_F(AuditReader, PagesFollowEachOther) {
  for (int i = 1; i <= 7; ++i)
    add(
      {.shard = static_cast<std::uint16_t>(i % shards),
       .after_start = i / 2 * 1ms,
       .operation = static_cast<std::uint64_t>(i)});

  std::string all;
  audit_filter filter;
  filter.limit = 2;
  for (int pages = 0; pages < 9; ++pages) {
    auto page = read(filter);
    for (const auto& c : page.commands)
      all += std::to_string(c.operation);
    filter.after = page.after;
    if (!page.after)
      break;
    all += ",";
  }

  EXPECT_EQ(all, "76,54,32,1");
}

TEST_F(AuditReader, TheLogOfOneShardHasItsPartOfACommand) {
  add({.shard = 0, .operation = 1, .changed = 2});
  add({.shard = 2, .operation = 1, .changed = 3, .task = 7});
  add({.shard = 1, .operation = 4});

  constexpr std::array<shard_id, 1> one{shard_id{2}};
  auto page = read_audit(store_, one, {}, start + 1h);

  ASSERT_TRUE(page);
  ASSERT_EQ(page->commands.size(), 1u);
  EXPECT_EQ(page->commands[0].changed, 3u);
  EXPECT_EQ(page->commands[0].task, (task_id{shard_id{2}, 7}));
}

TEST_F(AuditReader, ATenantSeesItsOwn) {
  add({.after_start = 1s, .operation = 1, .tenant = "t"});
  add({.after_start = 2s, .operation = 2, .tenant = "other"});
  add({.after_start = 3s, .operation = 3, .tenant = "", .queue = ""});

  EXPECT_EQ(read_words({.tenant = "t"}), "1:1");
  EXPECT_EQ(read_words({.tenant = "other"}), "2:1");
  EXPECT_EQ(read_words(), "3:1 2:1 1:1");
}

TEST_F(AuditReader, WhatIsOlderThanItsRetentionOrTheFilterIsLeftOut) {
  add({.after_start = 1s, .operation = 1});
  add({.after_start = 2s, .operation = 2});

  EXPECT_EQ(read_words({.since = start + 2s}), "2:1");
  EXPECT_EQ(read_words({.since = start + 2s + 1ms}), "");
  EXPECT_EQ(read_words({}, start + limits::audit_retention + 2s), "2:1");
}

TEST_F(AuditReader, APageReadsABoundedNumberOfEntries) {
  auto foreign = tuning::audited_looked_at_max + 10;
  for (std::size_t i = 0; i < foreign; ++i)
    add({.after_start = 10s, .operation = 10 + i, .tenant = "other"});
  add({.after_start = 1s, .operation = 1});

  audit_filter filter{.tenant = "t"};
  auto page = read(filter);
  EXPECT_TRUE(page.commands.empty());
  ASSERT_TRUE(page.after);
  filter.after = page.after;
  EXPECT_EQ(read_words(filter), "1:1");
}

} // namespace
} // namespace codeq::storage
