// SPDX-License-Identifier: Apache-2.0
#include "client/shard_walk.hpp"

#include <gtest/gtest.h>

#include <string>

namespace codeq::client {

namespace {

using namespace std::chrono_literals;

queue_part part_with(std::uint64_t max_depth, std::uint64_t max_leased) {
  queue_part part;
  part.settings.config.max_depth = max_depth;
  part.settings.config.max_leased = max_leased;
  return part;
}

} // namespace

TEST(ShardWalk, EveryShardGetsTheWholeAndItsPartsOfMaxima) {
  queue_config whole;
  whole.max_depth = 10;
  whole.max_leased = 1;
  whole.defaults.lease = 7s;

  auto part = part_of(whole, 4);

  EXPECT_EQ(part.max_depth, 10u);
  EXPECT_EQ(part.max_depth_part, 3u) << "for shards of older versions";
  EXPECT_EQ(part.max_leased, 1u);
  EXPECT_EQ(part.max_leased_part, 1u) << "for shards of older versions";
  EXPECT_EQ(part.defaults.lease, 7s);
  EXPECT_EQ(part_of(part_with(0, ~0ull).settings.config, 4).max_depth_part, 0u);
  EXPECT_EQ(part_of(part_with(0, ~0ull).settings.config, 1).max_leased, ~0ull);
}

TEST(ShardWalk, PartsTogetherAreTheQueue) {
  auto part = part_with(10, 0);
  part.settings.config = part_of(part.settings.config, 4);
  auto info = merge_parts({"t", "q"}, std::vector(4, part));

  EXPECT_EQ(info.queue, (queue_address{"t", "q"}));
  EXPECT_EQ(info.config.max_depth, 10u);
  EXPECT_EQ(info.config.max_depth_part, 0u);
  EXPECT_EQ(info.config.max_leased, 0u);
  EXPECT_EQ(info.shards, 4u);
  EXPECT_TRUE(info.is_uniform);
  // The values shown may be set again unchanged.
  EXPECT_EQ(part_of(info.config, 4), part.settings.config);
}

TEST(ShardWalk, EveryShardHasTheWholeMaximumOfLeases) {
  auto whole = part_with(0, 7);
  whole.settings.config = part_of(whole.settings.config, 4);
  EXPECT_EQ(whole.settings.config.max_leased_part, 2u);

  auto info = merge_parts({"t", "q"}, std::vector(4, whole));

  EXPECT_EQ(info.config.max_leased, 7u);
  EXPECT_EQ(info.config.max_leased_part, 0u);
  EXPECT_TRUE(info.is_uniform);
}

TEST(ShardWalk, PartsOfShardsOfOlderVersionsAreSummed) {
  queue_part part;
  part.settings.config.max_leased_part = 2;
  part.settings.config.max_depth_part = 3;

  EXPECT_EQ(merge_parts({"t", "q"}, std::vector(4, part)).config.max_leased, 8u);
  EXPECT_EQ(merge_parts({"t", "q"}, std::vector(4, part)).config.max_depth, 12u);
}

TEST(ShardWalk, PartOfAnOlderVersionStandsForTheWholeThatOthersSay) {
  queue_part older;
  older.settings.config.max_leased_part = 2;
  auto newer = part_with(0, 0);
  newer.settings.config = part_of(part_with(0, 5).settings.config, 4);

  EXPECT_EQ(merge_parts({}, {older, newer, newer, newer}).config.max_leased, 5u);
  EXPECT_EQ(merge_parts({}, {newer, older, newer, newer}).config.max_leased, 5u);
}

TEST(ShardWalk, ShardsThatDifferAreSaid) {
  auto paused = part_with(0, 0);
  paused.settings.paused = true;

  EXPECT_FALSE(merge_parts({}, {part_with(0, 0), paused}).is_uniform);
  EXPECT_FALSE(merge_parts({}, {part_with(1, 0), part_with(0, 0)}).is_uniform);
}

TEST(ShardWalk, ReasonOfAPauseIsTheFirstOne) {
  auto by_operator = part_with(0, 0);
  by_operator.settings.paused = true;
  auto first = by_operator;
  first.settings.pause_reason = "breaker, 60 %";
  auto second = by_operator;
  second.settings.pause_reason = "breaker, 70 %";

  auto info = merge_parts({}, {by_operator, first, second});

  EXPECT_EQ(info.pause_reason, "breaker, 60 %");
  EXPECT_TRUE(info.is_uniform);
}

TEST(ShardWalk, AQueueExistsWhenOneShardKnowsIt) {
  auto unknown = part_with(0, 0);
  unknown.is_known = false;

  EXPECT_FALSE(merge_parts({}, {unknown, unknown}).exists);
  EXPECT_TRUE(merge_parts({}, {unknown, part_with(0, 0)}).exists);
}

TEST(QueueParts, NameTheShardsThatDifferOrAreMissing) {
  const auto info = merge_parts(
    {}, {part_with(2, 1), part_with(2, 1), part_with(3, 1)}, {shard_id{1}, shard_id{3}});

  EXPECT_EQ(info.shards, 5u);
  EXPECT_FALSE(info.is_uniform);
  EXPECT_EQ(info.differing, std::vector{shard_id{4}});
  EXPECT_EQ(info.missing, (std::vector{shard_id{1}, shard_id{3}}));
}

TEST(QueueParts, MissingShardsChangeNoMaximum) {
  const auto info = merge_parts({}, {part_with(2, 0), part_with(2, 0)}, {shard_id{2}});

  EXPECT_EQ(info.config.max_depth, 2u);
  EXPECT_EQ(info.config.max_leased, 0u);
  EXPECT_TRUE(info.differing.empty());
}

TEST(ShardWalk, ReadIsAnsweredWithoutTheShardsThatAreSilent) {
  const error away{errc::disconnected, "shard 1 is away"};
  const error late{errc::timeout, "shard 3 is late"};

  const auto told = without_silent(std::vector<result<int>>{5, away, 6, late});

  ASSERT_TRUE(told);
  EXPECT_EQ(told->parts, (std::vector{5, 6}));
  EXPECT_EQ(told->missing, (std::vector{shard_id{1}, shard_id{3}}));
  EXPECT_EQ(told->silence, away);
}

TEST(ShardWalk, ReadFailsWithARefusalAndWhenNoShardAnswers) {
  const error away{errc::disconnected, "away"};
  const error late{errc::timeout, "late"};
  const error refused{errc::unauthorized, "not yours"};

  EXPECT_EQ(without_silent(std::vector<result<int>>{5, away, refused}).error(), refused);
  EXPECT_EQ(without_silent(std::vector<result<int>>{away, late}).error(), away);
  EXPECT_EQ(
    without_silent(std::vector<result<int>>{away, 5}, first_shard::required).error(), away);
  EXPECT_TRUE(without_silent(std::vector<result<int>>{away, 5}));
}

TEST(ShardWalk, ChangeThatFailsSaysWhereItIsMade) {
  const error full{errc::disk_full, "no space"};

  EXPECT_EQ(to_string(after_change(full, {})), "disk_full: no space; nothing was changed");
  EXPECT_EQ(
    to_string(after_change(full, {{shard_id{0}, shard_id{2}}, {shard_id{3}}, {shard_id{1}}})),
    "disk_full: no space; the change is made on shards 0, 2, not on shard 3, and it is not known "
    "whether on shard 1; make it again for the rest");
  EXPECT_EQ(
    to_string(after_change({errc::timeout, "late"}, {{}, {}, {shard_id{0}}})), "timeout: late");
  EXPECT_EQ(
    to_string(before_change({errc::unauthorized, "not yours"})), "unauthorized: not yours");
}

TEST(ShardWalk, ReadThatPrecedesAChangeHasNoEffectAlsoWhenItWasSent) {
  const auto sent = "away" + std::string(sent_unanswered) + std::string(unknown_outcome);

  EXPECT_EQ(
    to_string(before_change({errc::disconnected, sent})),
    "disconnected: away; nothing was changed");
}

TEST(ShardWalk, OutcomeOfARequestThatWasSentIsUnknown) {
  EXPECT_TRUE(is_outcome_known({errc::disconnected, "shard 1 is away"}));
  EXPECT_FALSE(is_outcome_known({errc::timeout, "late"}));
  EXPECT_FALSE(
    is_outcome_known({errc::disconnected, "away; sent, and whether it took effect is unknown"}));
}

TEST(ShardWalk, ExplanationOfAQueueIsTheSumOfItsShards) {
  queue_part first;
  first.explanation.exists = true;
  first.explanation.waiting = {{task_reason::limited, 3}, {task_reason::deferred, 1}};
  first.explanation.limits = {{"api", {{}, 0, 3}}};
  first.explanation.keys = {{"api", {"a", 1, 3}}};
  first.explanation.workers = 2;
  first.explanation.starts_per_minute = 20;
  auto second = first;
  second.explanation.waiting = {{task_reason::limited, 5}, {task_reason::next, 2}};
  second.explanation.limits = {{"db", {{}, 0, 4}}, {"api", {{}, 0, 1}}};
  second.explanation.keys = {{"db", {"b", 1, 4}}, {"api", {"c", 1, 1}}};
  second.explanation.starts_per_minute = 10;

  auto whole = merge_explanations({"t", "q"}, {first, second});

  ASSERT_TRUE(whole);
  EXPECT_TRUE(whole->exists);
  EXPECT_EQ(
    whole->waiting,
    (std::map<task_reason, std::uint64_t>{
      {task_reason::deferred, 1}, {task_reason::next, 2}, {task_reason::limited, 8}}));
  EXPECT_EQ(whole->workers, 2u);
  ASSERT_EQ(whole->limits.size(), 2u);
  EXPECT_EQ(whole->limits[0].limit, "api");
  EXPECT_EQ(whole->limits[1].at.held, 4u);
  ASSERT_EQ(whole->keys.size(), 3u);
  EXPECT_EQ(whole->keys[0].at.key, "b");
  EXPECT_EQ(whole->last_start, duration{20'000}) << "10 tasks at 30 a minute";
  EXPECT_TRUE(whole->missing_shards.empty());
}

TEST(ShardWalk, LimitsBoundTheForecastOfAQueue) {
  queue_part part;
  part.explanation.waiting = {{task_reason::limited, 10}};
  part.explanation.starts_per_minute = 60;
  auto last_start = [&](duration limits_need) {
    auto other = part;
    other.explanation.limits_need = limits_need;
    return merge_explanations({}, {part, other})->last_start;
  };

  EXPECT_EQ(last_start(duration{0}), duration{10'000}) << "20 tasks at 120 a minute";
  EXPECT_EQ(last_start(duration{9000}), duration{10'000});
  EXPECT_EQ(last_start(duration{90'000}), duration{90'000});
  EXPECT_EQ(last_start(duration::max()), std::nullopt);
}

TEST(ShardWalk, ShardsShareTheMaximumOfLeasesInTheForecast) {
  queue_part part;
  part.explanation.waiting = {{task_reason::queue_at_max_leased, 10}};
  part.explanation.starts_per_minute = 60;
  part.explanation.max_leased_need = duration{20'000};
  part.explanation.limits_need = duration{30'000};

  auto whole = merge_explanations({}, {part, part, part});

  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->limits_need, duration{60'000});
  EXPECT_EQ(whole->last_start, duration{60'000});
}

TEST(ShardWalk, ShardsThatDoNotExplainAQueueAreNamed) {
  queue_part answered;
  answered.explanation.waiting = {{task_reason::no_worker, 1}};
  answered.explanation.starts_per_minute = 5;
  error late{errc::timeout, "no answer"};

  auto whole = merge_explanations({}, {late, answered, late});

  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->missing_shards, (std::vector<std::uint16_t>{0, 2}));
  EXPECT_EQ(whole->waiting.at(task_reason::no_worker), 1u);
  EXPECT_FALSE(whole->last_start) << "it starts when there is a worker";
}

TEST(ShardWalk, ExplanationThatNoShardGivesSaysSo) {
  const error late{errc::timeout, "no answer of shard 0"};
  const error later{errc::timeout, "no answer of shard 1"};
  const error refused{errc::unauthorized, "not yours"};

  EXPECT_EQ(
    to_string(merge_explanations({}, {late, later}).error()),
    "timeout: no answer of shard 0; none of the 2 shards has answered");
  EXPECT_EQ(merge_explanations({}, {late, refused}).error(), refused);
  EXPECT_EQ(merge_explanations({}, {late}).error(), late);
}

TEST(BulkPace, WithoutBoundsPartsAreAsLargeAsTheyMayBe) {
  bulk_pace pace(0, 0);

  EXPECT_EQ(pace.next_part(), 1000u);
  EXPECT_EQ(pace.take(1000), 0ms);
  EXPECT_EQ(pace.next_part(), 1000u);
}

TEST(BulkPace, ALimitIsNeverPassed) {
  bulk_pace pace(1500, 0);

  EXPECT_EQ(pace.next_part(), 1000u);
  static_cast<void>(pace.take(1000));
  EXPECT_EQ(pace.next_part(), 500u);
  static_cast<void>(pace.take(500));
  EXPECT_EQ(pace.next_part(), 0u);
  EXPECT_EQ(pace.changed(), 1500u);
}

TEST(BulkPace, ARateIsKeptByTheChangedTasks) {
  bulk_pace pace(0, 200);

  EXPECT_EQ(pace.next_part(), 20u);
  EXPECT_EQ(pace.take(20), 100ms);
  EXPECT_EQ(pace.take(0), 0ms);
  EXPECT_EQ(bulk_pace(0, 3).next_part(), 1u);
  EXPECT_EQ(bulk_pace(0, 3).take(1), 334ms);
}

} // namespace codeq::client
