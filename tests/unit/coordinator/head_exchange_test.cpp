// SPDX-License-Identifier: Apache-2.0
#include "coordinator/hub/head_exchange.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace codeq::coordinator {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t shards = 8;
const queue_address q{"t", "q"};

std::optional<core::rival_head>
head(std::uint8_t priority, duration age = 0ms, std::uint16_t shard = 1) {
  return core::rival_head{{priority, timestamp{1'000'000ms} - age}, shard_id{shard}};
}

std::string say(const std::optional<core::rival_head>& told) {
  if (!told)
    return "none";
  auto age = timestamp{1'000'000ms} - told->head.enqueued_at;
  auto text = "p" + std::to_string(told->head.priority);
  text += core::is_turn(told->head.enqueued_at) ? " by turn" : " " + std::to_string(age.count());
  return text + " at " + std::to_string(value(told->shard));
}

std::string say(const std::vector<queue_head>& heads) {
  std::string text;
  for (const auto& one : heads)
    text += (text.empty() ? "" : "; ") + one.queue.queue + ": " + say(one.head);
  return text;
}

/// The news of a tick for the others.
std::string tick(head_exchange& exchange) {
  auto news = exchange.tick();
  return news ? say(news->heads) : "";
}

/// Ticks until others know of a task that stays; returns what they were told.
std::string tick_until_steady(head_exchange& exchange) {
  std::string told;
  for (std::size_t i = 0; i < head_exchange::steady_looks; ++i)
    told += tick(exchange);
  return told;
}

head_news news(const std::optional<core::rival_head>& of_q, bool is_whole = false) {
  return {is_whole, {{q, of_q}}};
}

monotonic_time at(duration since_start) {
  return monotonic_time{} + since_start;
}

TEST(HeadExchange, TellsOfATaskThatHasWaitedForSomeTicks) {
  head_exchange exchange(shards);
  exchange.show({q, head(5)});

  for (std::size_t i = 1; i < head_exchange::steady_looks; ++i)
    EXPECT_FALSE(exchange.tick());
  EXPECT_EQ(tick(exchange), "q: p5 0 at 1");
  EXPECT_FALSE(exchange.tick());
}

TEST(HeadExchange, SaysFromTimeToTimeThatItIsThereAsLongAsItHasToldOfATask) {
  head_exchange exchange(shards);
  exchange.show({q, head(5)});
  EXPECT_EQ(tick_until_steady(exchange), "q: p5 0 at 1");

  std::size_t news = 0;
  for (std::size_t i = 0; i < 3 * head_exchange::silent_ticks_max; ++i)
    news += exchange.tick() ? 1 : 0;
  EXPECT_EQ(news, 3u);
  exchange.show({q, std::nullopt});
  EXPECT_EQ(tick(exchange), "q: none");
  for (std::size_t i = 0; i < 3 * head_exchange::silent_ticks_max; ++i)
    EXPECT_FALSE(exchange.tick());
}

TEST(HeadExchange, TaskThatIsGrantedSoonIsNotToldOf) {
  head_exchange exchange(shards);
  for (int i = 0; i < 5; ++i) {
    exchange.show({q, head(9)});
    EXPECT_EQ(tick(exchange), "");
    exchange.show({q, std::nullopt});
    EXPECT_EQ(tick(exchange), "");
  }
}

TEST(HeadExchange, BeneathShortVisitsOfBetterTasksTheOneThatStaysIsTold) {
  head_exchange exchange(shards);
  exchange.show({q, head(3)});
  EXPECT_EQ(tick_until_steady(exchange), "q: p3 0 at 1");

  exchange.show({q, head(9)});
  EXPECT_EQ(tick(exchange), "");
  exchange.show({q, head(3)});
  EXPECT_EQ(tick(exchange), "");
  exchange.show({q, head(9)});
  EXPECT_EQ(tick_until_steady(exchange), "q: p9 0 at 1");
}

TEST(HeadExchange, TaskThatIsGoneIsWithdrawnAtOnce) {
  head_exchange exchange(shards);
  exchange.show({q, head(5)});
  static_cast<void>(tick_until_steady(exchange));

  exchange.show({q, head(2)});
  EXPECT_EQ(tick(exchange), "q: p2 0 at 1");
  exchange.show({q, std::nullopt});
  EXPECT_EQ(tick(exchange), "q: none");
}

TEST(HeadExchange, AgesAreToldInSteps) {
  head_exchange exchange(shards);
  exchange.show({q, head(0, 60s)});
  static_cast<void>(tick_until_steady(exchange));

  exchange.show({q, head(0, 59'001ms)});
  EXPECT_EQ(tick(exchange), "");
  exchange.show({q, head(0, 59s)});
  EXPECT_EQ(tick(exchange), "q: p0 59000 at 1");
}

TEST(HeadExchange, ShardWithTheTaskIsToldAtOnce) {
  head_exchange exchange(shards);
  exchange.show({q, head(5)});
  static_cast<void>(tick_until_steady(exchange));

  exchange.show({q, head(5, 0ms, 2)});
  EXPECT_EQ(tick(exchange), "q: p5 0 at 2");
}

TEST(HeadExchange, NewConnectionIsToldOfEverything) {
  head_exchange exchange(shards);
  for (std::size_t i = 0; i < head_news::queues_max + 1; ++i)
    exchange.show({{"t", "q" + std::to_string(i)}, head(1)});
  static_cast<void>(tick_until_steady(exchange) + tick_until_steady(exchange));

  auto parts = exchange.all();
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_TRUE(parts[0].is_whole);
  EXPECT_EQ(parts[0].heads.size(), head_news::queues_max);
  EXPECT_FALSE(parts[1].is_whole);
  EXPECT_EQ(parts[1].heads.size(), 1u);
}

TEST(HeadExchange, OneTenantTellsOfHalfOfTheQueuesAtMost) {
  head_exchange exchange(shards);
  for (std::size_t i = 0; i < head_exchange::queues_max; ++i)
    exchange.show({{"many", "q" + std::to_string(i)}, head(1)});
  for (int i = 0; i < 10; ++i)
    static_cast<void>(tick_until_steady(exchange));
  exchange.show({{"few", "q"}, head(1)});

  EXPECT_EQ(tick_until_steady(exchange), "q: p1 0 at 1");
  std::size_t told = 0;
  for (const auto& part : exchange.all())
    told += part.heads.size();
  EXPECT_EQ(told, head_exchange::queues_max / 2 + 1);
}

TEST(HeadExchange, QueueThatHadNoPlaceIsToldOfWhenThereIsOne) {
  head_exchange exchange(shards);
  for (std::size_t i = 0; i <= head_exchange::queues_max / 2; ++i)
    exchange.show({{"t", "q" + std::to_string(i)}, head(1)});
  for (int i = 0; i < 10; ++i)
    static_cast<void>(tick_until_steady(exchange));
  const auto last = "q" + std::to_string(head_exchange::queues_max / 2);

  exchange.show({{"t", "q0"}, std::nullopt});
  EXPECT_EQ(tick_until_steady(exchange), "q0: none" + last + ": p1 0 at 1");
}

TEST(HeadExchange, FirstTaskOfAllOthersCounts) {
  head_exchange exchange(shards);
  auto of_a = news(head(5, 0ms, 2));
  auto of_b = news(head(7, 0ms, 3));
  exchange.hear("a", of_a, at(0ms));
  exchange.hear("b", of_b, at(0ms));

  auto changes = exchange.take_changes();
  EXPECT_EQ(say(changes.heads), "q: p7 0 at 3");
  EXPECT_FALSE(changes.frees_tasks);
  of_b = news(std::nullopt);
  exchange.hear("b", of_b, at(0ms));
  changes = exchange.take_changes();
  EXPECT_EQ(say(changes.heads), "q: p5 0 at 2");
  EXPECT_TRUE(changes.frees_tasks);
}

TEST(HeadExchange, CoordinatorThatIsSilentOrLostDoesNotCountUntilItTellsAgain) {
  head_exchange exchange(shards);
  exchange.hear("a", news(head(5)), at(0ms));
  (void)exchange.take_changes();

  exchange.hear("a", {}, at(100ms));
  exchange.pass_over_silent(at(100ms + head_exchange::silence_max));
  EXPECT_EQ(say(exchange.take_changes().heads), "");
  exchange.pass_over_silent(at(101ms + head_exchange::silence_max));
  auto changes = exchange.take_changes();
  EXPECT_EQ(say(changes.heads), "q: none");
  EXPECT_TRUE(changes.frees_tasks);

  exchange.hear("a", {}, at(1s));
  EXPECT_EQ(say(exchange.take_changes().heads), "q: p5 0 at 1");
  exchange.lose("a");
  EXPECT_EQ(say(exchange.take_changes().heads), "q: none");
  exchange.hear("a", {}, at(1s));
  EXPECT_EQ(say(exchange.take_changes().heads), "q: p5 0 at 1");
}

TEST(HeadExchange, WholeNewsReplaceWhatWasTold) {
  head_exchange exchange(shards);
  auto told = news(head(5));
  exchange.hear("a", told, at(0ms));
  (void)exchange.take_changes();

  head_news whole{true, {{{"t", "r"}, head(2)}}};
  exchange.hear("a", whole, at(0ms));
  EXPECT_EQ(say(exchange.take_changes().heads), "q: none; r: p2 0 at 1");
}

TEST(HeadExchange, TaskOfAShardThatIsNoneIsIgnored) {
  head_exchange exchange(shards);
  auto told = news(head(5, 0ms, shards));
  exchange.hear("a", told, at(0ms));

  EXPECT_EQ(say(exchange.take_changes().heads), "");
}

} // namespace
} // namespace codeq::coordinator
