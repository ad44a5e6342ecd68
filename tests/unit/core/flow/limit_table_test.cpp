// SPDX-License-Identifier: Apache-2.0
#include "codeq/limits.hpp"

#include "core/queues/queue_rules.hpp"
#include "core/tables/limit_table.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace codeq::core {
namespace {

const limit_address api{"t", "api"};
const limit_definition one_slot{.concurrency = 1};

TEST(LimitTable, FindsDefinitionsByTenantAndName) {
  limit_table limits;
  limits.define(api, one_slot, timestamp{});

  EXPECT_EQ(*limits.find(api), one_slot);
  EXPECT_EQ(limits.find({"other", "api"}), nullptr);
  EXPECT_EQ(limits.defined_by("t"), 1u);
  limits.define(api, {}, timestamp{});
  EXPECT_EQ(limits.find(api), nullptr);
  EXPECT_EQ(limits.defined_by("t"), 0u);
}

TEST(LimitTable, UnknownNameNamesTheTenantAndWhatToDo) {
  limit_table limits;
  auto refused = limits.check_new("t", {{"api", "k", 1}});

  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::unknown_limit);
  EXPECT_NE(refused.error().context.find("codeqctl limit set api"), std::string::npos);
}

TEST(LimitTable, TenantMayUseABoundedNumberOfKeysAndLeavesRoomForOthers) {
  limit_table limits;
  limits.define(api, one_slot, timestamp{});
  limits.define({"other", "api"}, one_slot, timestamp{});
  limited_task task;
  for (std::size_t i = 0; i < limits::limit_keys_max; ++i) {
    task.seq = i;
    task.uses = {{limits.place_of("t", {"api", std::to_string(i), 1}), 1}};
    limits.keys().occupy(task);
  }

  auto refused = limits.check_new("t", {{"api", "further", 1}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::queue_full);
  EXPECT_TRUE(is_of_limit_keys(refused.error()));
  EXPECT_TRUE(limits.check_new("t", {{"api", "7", 1}})) << "the key is in use already";
  limits.define({"t", "max_depth"}, one_slot, timestamp{});
  auto with_that_name = limits.check_new("t", {{"max_depth", "further", 1}});
  ASSERT_FALSE(with_that_name);
  EXPECT_TRUE(is_of_limit_keys(with_that_name.error()));
  EXPECT_FALSE(is_of_max_depth(with_that_name.error())) << "a limit may have any name";
  EXPECT_TRUE(limits.check_new("other", {{"api", "further", 1}}));
}

TEST(LimitTable, KeysOfATenantAreCountedOverItsLimits) {
  limit_table limits;
  const limit_address db{"t", "db"};
  for (const auto& limit : {api, db, limit_address{"other", "api"}})
    limits.define(limit, one_slot, timestamp{});
  limited_task first{1, 0, {}, 0};
  first.uses = {
    {limits.place_of("t", {"api", "k", 1}), 1}, {limits.place_of("t", {"db", "k", 1}), 1}};
  limited_task second{2, 0, {}, 0};
  second.uses = {
    {limits.place_of("t", {"db", "l", 1}), 1}, {limits.place_of("other", {"api", "k", 1}), 1}};
  limits.keys().occupy(first);
  limits.keys().occupy(second);
  EXPECT_EQ(limits.keys().keys_of("t"), 3u);
  EXPECT_EQ(limits.keys().keys_of("other"), 1u);

  limits.keys().free(second.uses, {});
  static_cast<void>(limits.keys().release({}));
  EXPECT_EQ(limits.keys().keys_of("t"), 2u);
  EXPECT_EQ(limits.keys().keys_of("other"), 0u);

  limits.keys().free(first.uses, {});
  static_cast<void>(limits.keys().release({}));
  limits.define(db, {}, timestamp{});
  limits.forget_removed();
  EXPECT_EQ(limits.keys().keys_of("t"), 0u);
  limits.define(db, one_slot, timestamp{});
  second.uses = {{limits.place_of("t", {"db", "l", 1}), 1}};
  limits.keys().occupy(second);
  EXPECT_EQ(limits.keys().keys_of("t"), 1u) << "of a limit that was defined again";
}

TEST(LimitTable, RemovedLimitIsForgottenOnceNothingUsesIt) {
  limit_table limits;
  limits.define(api, one_slot, timestamp{});
  limited_task task{1, 0, {}, 0};
  task.uses = {{limits.place_of("t", {"api", "k", 1}), 1}};
  limits.keys().occupy(task);
  limits.define(api, {}, timestamp{});
  limits.forget_removed();
  limits.define(api, one_slot, timestamp{});
  EXPECT_EQ(limits.describe(api).leased, 1u) << "its leases still count when it is defined again";

  limits.define(api, {}, timestamp{});
  limits.keys().free(task.uses, {});
  static_cast<void>(limits.keys().release({}));
  limits.forget_removed();
  std::size_t numbers = 0;
  limits.for_each_number([&](const limit_address&, std::uint32_t) { ++numbers; });
  EXPECT_EQ(numbers, 0u);
}

TEST(LimitTable, ListsPartsInTheOrderOfNames) {
  limit_table limits;
  for (const char* name : {"c", "a", "b"})
    limits.define({"t", name}, one_slot, timestamp{});
  limits.define({"u", "a"}, one_slot, timestamp{});
  bool more = false;
  auto first = limits.list("t", {{}, 2, true}, more);
  ASSERT_EQ(first.size(), 2u);
  EXPECT_TRUE(more);
  EXPECT_EQ(first[1].limit.name, "b");
  auto rest = limits.list("t", {"b", 2, false}, more);
  ASSERT_EQ(rest.size(), 1u);
  EXPECT_FALSE(more);
  EXPECT_EQ(rest[0].limit.name, "c");
}

TEST(LimitTable, PageOfBusyKeysPassesOverABoundedNumberOfOthers) {
  limit_table limits;
  limits.define(api, one_slot, timestamp{});
  constexpr auto passed = limits::idle_limit_keys_passed_max;
  auto key_of = [](std::size_t i) { return std::to_string(100'000 + i); };
  for (std::size_t i = 0; i < passed; ++i)
    limits.keys().close(limits.place_of("t", {"api", key_of(i), 1}), timestamp{duration{1}});
  bool more = false;
  EXPECT_TRUE(limits.list_keys(api, {{}, 10, true}, true, more).empty());
  EXPECT_FALSE(more);

  limited_task task{1, 0, {}, 0};
  task.uses = {{limits.place_of("t", {"api", "busy", 1}), 1}};
  limits.keys().occupy(task);
  auto first = limits.list_keys(api, {{}, 10, true}, true, more);
  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(first[0].key, key_of(passed - 1));
  EXPECT_TRUE(more);
  auto next = limits.list_keys(api, {first[0].key, 10, false}, true, more);
  ASSERT_EQ(next.size(), 1u);
  EXPECT_EQ(next[0].key, "busy");
  EXPECT_FALSE(more);
}

TEST(LimitTable, MarksOfKeysAreRestored) {
  limit_table limits;
  limits.define(api, limit_definition{.rate = start_rate{1, duration{1000}, 1}}, timestamp{});
  limited_task task{1, 0, {}, 0};
  task.uses = {{limits.place_of("t", {"api", "k", 1}), 1}};
  timestamp now{duration{10'000}};
  limits.keys().take(task, now);
  auto marks = limits.take_marks();
  ASSERT_EQ(marks.size(), 1u);

  limit_table restored;
  restored.define(api, limit_definition{.rate = start_rate{1, duration{1000}, 1}}, timestamp{});
  restored.restore(marks.front());
  auto key = restored.describe_key(api, "k");
  EXPECT_EQ(key.next_start, now + duration{1000});
  EXPECT_EQ(key.leased, 0u) << "slots are counted from the leases";
}

} // namespace
} // namespace codeq::core
