// SPDX-License-Identifier: Apache-2.0
#include "core/commands/routing.hpp"
#include "core/flow/permit_desk.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

/// The slots of queues at the desk of a shard.
namespace codeq::core {
namespace {

constexpr shard_id desk_shard{0};
constexpr shard_id slots_owner{1};
constexpr std::uint16_t desk_shards = 3;
constexpr std::uint32_t desk_session = 5;
constexpr std::uint32_t slots_queue = 7;

/// The name of a queue whose slots that owner counts; another one for each place.
queue_address owned_queue(std::size_t place = 0) {
  queue_address name{"t", "q"};
  for (int i = 0;; ++i) {
    name.queue = "q" + std::to_string(i);
    task_limit use{std::string(slot_limit), name.queue, 1};
    if (shard_of_limit_key("t", use, desk_shards) == slots_owner && place-- == 0)
      return name;
  }
}

class PermitSlots : public testing::Test {
protected:
  PermitSlots() { desk_.open(desk_shard, desk_shards, desk_session); }

  std::optional<ask_permits> say() {
    auto letters = desk_.say(now_);
    EXPECT_LE(letters.size(), 1u);
    return letters.empty() ? std::nullopt : std::optional(letters.front().what);
  }

  static bool has_rate(const std::string&, const task_limit&) { return false; }

  void hear(std::uint64_t heard, std::vector<permit_number> given = {}) {
    (void)desk_.hear({slots_owner, desk_session, heard, std::move(given)}, now_, has_rate);
  }

  /// Opens the queue, and asks for so many slots. Returns the message.
  ask_permits ask(std::size_t count) {
    desk_.open_slots(slots_queue, owned_queue(), 0);
    desk_.want_slots(slots_queue, count, 0);
    hear(say()->number);
    return *say();
  }

  permit_desk desk_;
  monotonic_time now_{duration{1000}};
};

TEST_F(PermitSlots, AreAskedForUntilTheOwnerAnswers) {
  auto asked = ask(2);
  ASSERT_EQ(asked.wanted.size(), 2u);
  EXPECT_TRUE(desk_.is_asking_slots(slots_queue));
  hear(asked.number, {asked.wanted.front().number});

  EXPECT_FALSE(desk_.is_asking_slots(slots_queue));
  EXPECT_EQ(desk_.free_slots(slots_queue), 1u);
  EXPECT_EQ(desk_.awaited_slots(slots_queue), 1u) << "it waits in the owner's line";
  EXPECT_EQ(desk_.take_changed_slots(), std::set<std::uint32_t>{slots_queue});
}

TEST_F(PermitSlots, AreAskedForAlsoWhenEachAnswerTakesLong) {
  constexpr duration round_trip{600};
  desk_.open_slots(slots_queue, owned_queue(), 0);
  desk_.want_slots(slots_queue, 1, 0);
  std::map<monotonic_time, std::uint64_t> answers;
  const auto end = now_ + duration{5000};
  for (bool is_asked = false; !is_asked; now_ += duration{50}) {
    ASSERT_LT(now_, end) << "no list is heard";
    if (answers.contains(now_))
      hear(answers.at(now_));
    if (auto said = say()) {
      answers[now_ + round_trip] = said->number;
      is_asked = !said->wanted.empty();
    }
  }
}

TEST_F(PermitSlots, OwnerThatDoesNotAnswerIsSilentUntilItDoes) {
  auto asked = ask(1);
  EXPECT_FALSE(desk_.is_owner_silent(slots_queue, now_));
  now_ += permit_desk::answer_wait + duration{1};
  EXPECT_TRUE(desk_.is_owner_silent(slots_queue, now_));
  auto again = say();
  ASSERT_TRUE(again);
  EXPECT_TRUE(desk_.is_owner_silent(slots_queue, now_));
  (void)desk_.take_changed_slots();
  hear(again->number);

  EXPECT_FALSE(desk_.is_owner_silent(slots_queue, now_));
  EXPECT_TRUE(desk_.take_changed_slots().contains(slots_queue));
}

TEST_F(PermitSlots, SlotThatWasNotSpentInTimeIsRememberedUntilTheNextLease) {
  auto asked = ask(2);
  hear(asked.number, {asked.wanted.front().number});
  EXPECT_FALSE(desk_.has_missed_slot(slots_queue));
  now_ += permit_desk::unspent_max;
  desk_.return_unspent(now_);
  EXPECT_TRUE(desk_.has_missed_slot(slots_queue));

  hear(asked.number, {asked.wanted.back().number});
  EXPECT_TRUE(desk_.has_missed_slot(slots_queue));
  desk_.spend_slot(slots_queue);
  EXPECT_FALSE(desk_.has_missed_slot(slots_queue));
}

TEST_F(PermitSlots, OwnerSaysWhetherItCounts) {
  desk_.open_slots(slots_queue, owned_queue(), 0);
  EXPECT_FALSE(desk_.does_owner_count(slots_queue)) << "it has said nothing";
  desk_.want_slots(slots_queue, 1, 0);
  auto listed = say();
  ASSERT_TRUE(listed);
  hear(listed->number);
  EXPECT_TRUE(desk_.does_owner_count(slots_queue));
  EXPECT_TRUE(desk_.take_changed_slots().contains(slots_queue));

  (void)desk_.hear({slots_owner, desk_session, listed->number, {}, false, false}, now_, has_rate);
  EXPECT_FALSE(desk_.does_owner_count(slots_queue));
}

TEST_F(PermitSlots, ListHasNoMoreOfAQueueThanFitIntoAMessage) {
  const auto leased = permit_desk::slots_per_queue_max + 2;
  desk_.open_slots(slots_queue, owned_queue(), leased);
  auto listed = say();
  ASSERT_TRUE(listed && listed->is_list);
  EXPECT_EQ(listed->held.size(), permit_desk::slots_per_queue_max);
  EXPECT_EQ(desk_.spent_slots(slots_queue), leased);

  desk_.end_slot(slots_queue, now_);
  desk_.end_slot(slots_queue, now_);
  hear(listed->number);
  EXPECT_EQ(say(), std::nullopt) << "the owner did not know them";
  desk_.end_slot(slots_queue, now_);
  auto said = say();
  ASSERT_TRUE(said);
  EXPECT_EQ(said->returned.size(), 1u);
}

TEST_F(PermitSlots, QueuesAskInTurnsWhenAMessageCannotHaveAll) {
  constexpr std::size_t queues = permit_desk::message_permits_max / permit_desk::slots_asked_max;
  for (std::size_t i = 0; i < queues; ++i) {
    const auto queue = static_cast<std::uint32_t>(i);
    desk_.open_slots(queue, owned_queue(i), 0);
    desk_.want_slots(queue, permit_desk::slots_asked_max, 0);
  }
  hear(say()->number);

  std::map<std::string, std::size_t> asked;
  const auto said = say();
  ASSERT_TRUE(said);
  for (const auto& one : said->wanted)
    ++asked[queue_of_slot(one).queue];
  EXPECT_EQ(said->wanted.size(), permit_desk::message_permits_max / 2);
  EXPECT_EQ(asked.size(), queues);
  for (const auto& [queue, slots] : asked)
    EXPECT_EQ(slots, permit_desk::slots_asked_max / 2) << queue;
}

TEST_F(PermitSlots, LeasesOfAQueueThatGetsAMaximumAreToldAlsoWhileAListIsUnderWay) {
  desk_.open_slots(slots_queue, owned_queue(), 1);
  auto first = say();
  ASSERT_TRUE(first && first->is_list);
  desk_.open_slots(slots_queue + 1, owned_queue(), 2);
  hear(first->number);
  auto second = say();

  ASSERT_TRUE(second && second->is_list);
  EXPECT_EQ(second->held.size(), 3u);
  hear(second->number);
  EXPECT_EQ(say(), std::nullopt);
}

} // namespace
} // namespace codeq::core
