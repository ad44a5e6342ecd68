// SPDX-License-Identifier: Apache-2.0
#include "client/task_pages.hpp"

#include "protocol/messages.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace codeq::client {

namespace {

constexpr auto newest = list_order::newest_first;
constexpr auto oldest = list_order::oldest_first;

task_summary task(sequence seq, std::int64_t enqueued_at) {
  task_summary status;
  status.id.seq = seq;
  status.enqueued_at = timestamp{duration{enqueued_at}};
  return status;
}

list_part part_of(std::vector<task_summary> tasks, sequence after, bool more) {
  return {std::move(tasks), after, more, true};
}

/// The page in words: `shard/seq` of each task, and where the next page begins.
std::string merged(const page_request& page, std::vector<list_part> parts) {
  auto shards = static_cast<std::uint16_t>(parts.size());
  auto pages = page_merge::begin({}, page, shards);
  if (!pages)
    return "no such place";
  auto found = pages->merge(std::move(parts));
  if (!found)
    return to_string(found.error());
  std::string words;
  for (const auto& one : found->tasks)
    words += std::to_string(value(one.id.shard)) + "/" + std::to_string(one.id.seq) + " ";
  return words + (found->after.empty() ? "end" : "after " + found->after)
         + (found->is_partial ? " partial" : "");
}

/// The bounds that are requested of a shard.
std::string asked(const page_request& page, std::uint16_t shard) {
  auto pages = page_merge::begin({}, page, 2);
  auto wire = pages->question_for(shard)(1);
  auto request = protocol::list_request::parse(wire.body);
  return *request->read([](auto r) -> result<std::string> {
    auto filter = r.getFilter();
    return std::to_string(filter.getAfter()) + ".." + std::to_string(filter.getBelow())
           + (filter.getNewestFirst() ? " down" : " up");
  });
}

} // namespace

TEST(TaskPages, TasksOfAllShardsAreInOrderOfTheirTimes) {
  EXPECT_EQ(
    merged(
      {5, newest},
      {part_of({task(9, 90), task(3, 30)}, 3, false), part_of({task(7, 50)}, 7, false)}),
    "0/9 1/7 0/3 end");
  EXPECT_EQ(
    merged(
      {5, oldest},
      {part_of({task(3, 30), task(9, 90)}, 9, false), part_of({task(7, 50)}, 7, false)}),
    "0/3 1/7 0/9 end");
}

TEST(TaskPages, ShardWhoseTasksAreNotAllShownGoesOnBehindTheLastOne) {
  EXPECT_EQ(
    merged(
      {2, newest},
      {part_of({task(9, 90), task(3, 30)}, 3, true), part_of({task(7, 50), task(6, 40)}, 6, true)}),
    "0/9 1/7 after 9.7");
  EXPECT_EQ(
    merged(
      {2, oldest},
      {part_of({task(3, 30), task(9, 90)}, 9, true), part_of({task(7, 50), task(8, 60)}, 8, true)}),
    "0/3 1/7 after o3.7");
}

TEST(TaskPages, ShardOfWhichNothingIsShownBeginsAgain) {
  EXPECT_EQ(
    merged(
      {1, newest, "20.30"},
      {part_of({task(9, 90)}, 9, false), part_of({task(7, 50)}, 7, false)}),
    "0/9 after 1.30");
}

TEST(TaskPages, ShardWithoutFurtherTasksIsNotReadAgain) {
  EXPECT_EQ(
    merged({1, newest}, {part_of({}, 4, false), part_of({task(7, 50)}, 7, true)}),
    "1/7 after 1.7");
  EXPECT_EQ(
    merged({1, oldest}, {part_of({}, 4, false), part_of({task(7, 50)}, 7, true)}),
    "1/7 after o4.7");
}

TEST(TaskPages, PageThatLookedAtTooMuchSaysSoAndGoesOnFromThere) {
  EXPECT_EQ(
    merged({5, newest}, {part_of({task(9, 90)}, 6, true), part_of({}, 3, false)}),
    "0/9 after 6.1 partial");
  EXPECT_EQ(merged({5, oldest}, {part_of({}, 2000, true)}), "after o2000 partial");
  EXPECT_EQ(
    merged({1, newest}, {part_of({task(9, 90)}, 9, true)}), "0/9 after 9")
    << "a full page is whole";
}

TEST(TaskPages, MissingShardGoesOnWhereThePageBegan) {
  auto pages = page_merge::begin({}, {2, newest, "20.30.40"}, 3);
  ASSERT_TRUE(pages);

  const auto page =
    pages->merge({part_of({task(9, 90)}, 9, true), part_of({task(7, 50)}, 7, true)}, {shard_id{1}});

  ASSERT_TRUE(page);
  ASSERT_EQ(page->tasks.size(), 2u);
  EXPECT_EQ(page->tasks[0].id, (task_id{shard_id{0}, 9}));
  EXPECT_EQ(page->tasks[1].id, (task_id{shard_id{2}, 7}));
  EXPECT_EQ(page->after, "9.30.7");
  EXPECT_EQ(page->missing, std::vector{shard_id{1}});
}

TEST(TaskPages, EachShardGoesOnAtItsPlace) {
  EXPECT_EQ(asked({5, newest}, 0), "0..0 down");
  EXPECT_EQ(asked({5, newest, "20.30"}, 1), "0..30 down");
  EXPECT_EQ(asked({5, oldest, "o20.30"}, 1), "30..0 up");
}

TEST(TaskPages, OtherPlacesAreRefused) {
  for (const char* place : {"1", "1.2.3", "a.b", "1.", "o1.2", ".", "-1.2", "1.2 "})
    EXPECT_FALSE(page_merge::begin({}, {5, newest, place}, 2)) << place;
  EXPECT_FALSE(page_merge::begin({}, {5, oldest, "1.2"}, 2)) << "of the other order";
}

TEST(TaskPages, OlderCoordinatorThatIgnoresTheFilterIsRefused) {
  task_filter filter;
  filter.group = "g";
  std::vector<list_part> parts{{{}, 0, false, false}};

  EXPECT_EQ(page_merge::begin(filter, {}, 1)->merge(parts).error().code, errc::unsupported);
  EXPECT_TRUE(page_merge::begin({}, {}, 1)->merge(parts));
}

} // namespace codeq::client
