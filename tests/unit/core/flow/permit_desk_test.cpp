// SPDX-License-Identifier: Apache-2.0
#include "core/commands/routing.hpp"
#include "core/flow/permit_desk.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace codeq::core {
namespace {

using namespace std::chrono_literals;

constexpr shard_id own{0};
constexpr shard_id owner{1};
constexpr shard_id other{2};
constexpr std::uint32_t session = 5;

/// The desk of shard 0 of three, whose owners hear what the test tells them.
class PermitDesk : public testing::Test {
protected:
  PermitDesk() { desk_.open(own, 3, session); }

  void wait(sequence seq, std::uint8_t priority = 0, const std::string& key = "k") {
    desk_.wait({seq, priority, 0, "t", {{owner, {{"api", key, 1}}}}});
  }

  /// The one message that the desk says now; empty when there is none.
  std::optional<ask_permits> say() {
    auto letters = desk_.say(now_);
    EXPECT_LE(letters.size(), 1u);
    return letters.empty() ? std::nullopt : std::optional(letters.front().what);
  }

  std::vector<sequence> hear(std::uint64_t heard, std::vector<permit_number> given = {}) {
    return desk_.hear({owner, session, heard, std::move(given)}, now_, has_rate);
  }

  /// Tells the owner that there is nothing, which it hears.
  void list() {
    auto said = say();
    ASSERT_TRUE(said && said->is_list);
    (void)hear(said->number);
  }

  /// A task that has its permit.
  permit_number permitted(sequence seq) {
    wait(seq);
    if (auto first = say(); first && first->is_list) {
      (void)hear(first->number);
      asked_ = say();
    } else {
      asked_ = first;
    }
    auto number = asked_->wanted.front().number;
    EXPECT_EQ(hear(asked_->number, {number}), std::vector<sequence>{seq});
    return number;
  }

  static bool has_rate(const std::string&, const task_limit& use) { return use.name == "paced"; }

  permit_desk desk_;
  monotonic_time now_{1h};
  std::optional<ask_permits> asked_;
};

TEST_F(PermitDesk, OwnerIsToldWhatTheShardHasBeforeItIsAsked) {
  desk_.adopt({7, 3, 0, "t", {{owner, {{"api", "k", 2}}}}});
  wait(8);

  auto first = say();
  ASSERT_TRUE(first && first->is_list);
  ASSERT_EQ(first->held.size(), 1u);
  EXPECT_EQ(first->held.front().uses, (std::vector<task_limit>{{"api", "k", 2}}));
  EXPECT_TRUE(first->wanted.empty());
  EXPECT_FALSE(say()) << "one message at a time";
  (void)hear(first->number);
  auto second = say();
  ASSERT_TRUE(second && !second->is_list);
  EXPECT_EQ(second->wanted.size(), 1u);
}

TEST_F(PermitDesk, PermitIsSpentByTheLeaseAndReturnedAfterItsEnd) {
  auto number = permitted(8);
  EXPECT_TRUE(desk_.has_permit(8));
  desk_.spend(8);
  now_ += 1h;
  desk_.return_unspent(now_);
  EXPECT_FALSE(desk_.take_must_sync());
  desk_.end(8);
  EXPECT_TRUE(desk_.take_must_sync()) << "the end is synced before it is told";

  auto said = say();
  ASSERT_TRUE(said);
  EXPECT_EQ(said->returned, (std::vector<permit_return>{{number}}));
  now_ += permit_desk::answer_wait;
  auto again = say();
  ASSERT_TRUE(again);
  EXPECT_EQ(again->returned, said->returned);
  EXPECT_GT(again->number, said->number);
  (void)hear(said->number);
  EXPECT_FALSE(say()) << "the second message is not answered, but not late";
  (void)hear(again->number);
  now_ += 1h;
  EXPECT_FALSE(say());
  EXPECT_FALSE(desk_.next_look());
}

TEST_F(PermitDesk, PermitsAreAskedForAgainInPiecesThatAMessageMayHave) {
  constexpr std::size_t all = 2 * permit_desk::message_permits_max + 1;
  for (sequence seq = 0; seq < all; ++seq)
    wait(seq, 0, std::to_string(seq));
  list();
  auto ask = [&](duration pause) {
    std::set<permit_number> asked;
    for (int part = 0; part < 3; ++part) {
      auto said = say().value_or(ask_permits{});
      EXPECT_LE(said.wanted.size(), permit_desk::message_permits_max);
      for (const auto& one : said.wanted)
        asked.insert(one.number);
      (void)hear(said.number);
      now_ += pause;
    }
    EXPECT_FALSE(pause == duration{0} && say());
    return asked;
  };
  auto first = ask(duration{0});
  EXPECT_EQ(first.size(), all);

  now_ += permit_desk::ask_again;
  EXPECT_EQ(ask(permit_desk::ask_again), first) << "a part each time, which costs little";
}

TEST_F(PermitDesk, KeysWithoutRoomKeepNoPermitFromOtherTenants) {
  for (sequence seq = 0; seq < 2 * permit_desk::permits_per_owner_max; ++seq)
    wait(seq, 0, std::to_string(seq));
  list();
  for (auto said = say(); said; said = say())
    (void)hear(said->number);
  desk_.wait({90'000, 0, 0, "victim", {{owner, {{"api", "k", 1}}}}});

  auto said = say();
  ASSERT_TRUE(said);
  ASSERT_EQ(said->wanted.size(), 1u);
  EXPECT_EQ(said->wanted.front().tenant, "victim");
}

TEST_F(PermitDesk, KeysWithoutRoomLetFurtherOnesAskInTheirTurns) {
  constexpr std::size_t all = permit_desk::permits_per_owner_max + 1000;
  for (sequence seq = 0; seq < all; ++seq)
    wait(seq, 0, std::to_string(seq));
  list();
  std::set<std::string> asked;
  auto until = now_ + 10s;
  while (now_ < until) {
    auto said = say();
    if (said)
      (void)hear(said->number);
    else
      now_ += permit_desk::ask_again;
    for (const auto& one : said.value_or(ask_permits{}).wanted)
      asked.insert(one.uses.front().key);
  }
  EXPECT_EQ(asked.size(), all);
  EXPECT_LE(desk_.size(), permit_desk::permits_per_owner_max);
}

TEST_F(PermitDesk, KeysWithoutRoomTakeNoTurnsWhileTheirOwnerIsSilent) {
  for (sequence seq = 0; seq < permit_desk::permits_per_owner_max + 1000; ++seq)
    wait(seq, 0, std::to_string(seq));
  list();
  for (auto said = say(); said; said = say())
    (void)hear(said->number);
  now_ += permit_desk::ask_again;
  auto first = say();
  ASSERT_TRUE(first && !first->returned.empty());

  int repeated = 0;
  for (auto until = now_ + 60s; now_ < until; now_ += permit_desk::answer_wait_max) {
    auto again = say();
    if (!again)
      continue;
    ++repeated;
    EXPECT_EQ(again->returned, first->returned);
  }

  EXPECT_GT(repeated, 30);
}

TEST_F(PermitDesk, TasksThatWaitForOneKeyKeepNoneOfAnotherFromOthers) {
  for (sequence seq = 0; seq < 40; ++seq)
    desk_.wait({seq, 0, 0, "t", {{owner, {{"api", "", 1}, {"customer", "slow", 1}}}}});
  desk_.wait({40, 0, 0, "t", {{owner, {{"api", "", 1}, {"customer", "other", 1}}}}});
  list();

  auto said = say();
  ASSERT_TRUE(said);
  EXPECT_EQ(said->wanted.size(), permit_desk::asked_per_key_max + 1);
}

TEST_F(PermitDesk, PermitsAreAskedForAgainWhileOthersAreAskedFor) {
  wait(8);
  list();
  auto first = say();
  (void)hear(first->number);
  std::size_t again = 0;
  for (sequence seq = 9; seq < 14; ++seq) {
    now_ += permit_desk::ask_again / 4;
    wait(seq);
    auto said = say();
    ASSERT_TRUE(said);
    (void)hear(said->number);
    for (const auto& one : said->wanted)
      again += one.number == first->wanted.front().number ? 1 : 0;
  }

  EXPECT_EQ(again, 1u);
}

TEST_F(PermitDesk, PermitThatIsNotSpentInTimeIsReturned) {
  auto number = permitted(8);
  EXPECT_EQ(desk_.next_look(), now_ + permit_desk::unspent_max);
  now_ += permit_desk::unspent_max;
  desk_.return_unspent(now_);

  EXPECT_FALSE(desk_.has_permit(8));
  auto said = say();
  ASSERT_TRUE(said);
  EXPECT_EQ(said->returned, (std::vector<permit_return>{{number, {}, true}}));
}

TEST_F(PermitDesk, PermitThatIsGivenAgainAfterItsAttemptIsReturnedAsSpent) {
  auto number = permitted(1);
  desk_.spend(1);
  desk_.settle(1, {"api", "k", 3});
  desk_.end(1);
  (void)hear(asked_->number, {number});
  auto said = say();

  ASSERT_TRUE(said);
  ASSERT_EQ(said->returned.size(), 1u);
  EXPECT_FALSE(said->returned.front().is_unspent);
  EXPECT_EQ(said->returned.front().costs, (std::vector<task_limit>{{"api", "k", 3}}));
}

TEST_F(PermitDesk, PermitThatComesTooLateIsReturned) {
  wait(8);
  list();
  auto asked = say();
  auto number = asked->wanted.front().number;
  EXPECT_TRUE(desk_.leave(8));
  EXPECT_TRUE(hear(asked->number, {number}).empty());

  auto said = say();
  ASSERT_TRUE(said);
  EXPECT_EQ(said->returned.front().number, number);
}

TEST_F(PermitDesk, FewTasksOfAKeyAskAtATimeAndTheFirstOnesDo) {
  for (sequence seq = 1; seq <= 40; ++seq)
    wait(seq, seq == 40 ? 1 : 0);
  wait(41, 0, "other");
  list();

  auto asked = say();
  ASSERT_TRUE(asked);
  EXPECT_EQ(asked->wanted.size(), permit_desk::asked_per_key_max + 1);
  EXPECT_EQ(asked->wanted.front().priority, 1) << "the highest priority comes first";
  EXPECT_EQ(desk_.waiting_before(16), 16u);
  EXPECT_EQ(desk_.waiting_before(3), 3u) << "it is asked for, as are 40, 1 and 2";
}

TEST_F(PermitDesk, FairnessKeysTakeTurnsAndTheOwnerIsToldThem) {
  const fair_terms_of terms = [](std::uint32_t queue, std::string_view key) {
    return fair_terms{{key == "small" ? 3u : 1u, 2}, queue};
  };
  for (sequence seq = 1; seq <= 41; ++seq)
    desk_.wait(
      {seq, 0, 7, "t", {{owner, {{"api", "k", 1}}}}, {"q", seq <= 40 ? "flood" : "small"}});
  list();

  auto letters = desk_.say(now_, terms);

  ASSERT_EQ(letters.size(), 1u);
  std::map<std::string, permit_turn> turns;
  for (const auto& one : letters.front().what.wanted)
    turns[one.turn.fairness_key] = one.turn;
  EXPECT_EQ(turns["small"], (permit_turn{"q", "small", 3, 2, 7}));
  EXPECT_EQ(turns["flood"], (permit_turn{"q", "flood", 1, 2, 7}));
  (void)hear(letters.front().what.number, {letters.front().what.wanted.front().number});
  EXPECT_EQ(desk_.waiting_before(40, terms), 15u + 24u);
}

TEST_F(PermitDesk, FloodThatAskedFirstMakesRoomForOtherFairnessKeys) {
  auto add = [this](sequence seq, const char* key) {
    desk_.wait({seq, 0, 0, "t", {{owner, {{"api", "k", 1}}}}, {"q", key}});
  };
  for (sequence seq = 1; seq <= 40; ++seq)
    add(seq, "flood");
  list();
  auto first = say();
  ASSERT_TRUE(first);
  (void)hear(first->number);
  add(41, "small");
  EXPECT_FALSE(say()) << "as many as may ask do";

  now_ += permit_desk::ask_again;
  auto again = say();

  ASSERT_TRUE(again);
  EXPECT_EQ(again->returned.size(), permit_desk::asked_per_key_max / 2) << "two keys wait";
  EXPECT_EQ(again->wanted.size(), permit_desk::asked_per_key_max);
  EXPECT_EQ(
    std::count_if(
      again->wanted.begin(), again->wanted.end(),
      [](const permit& one) { return one.turn.fairness_key == "small"; }),
    1);
}

TEST_F(PermitDesk, TasksOfAnIdleQueueAskForNothingUntilItIsServed) {
  std::string key = "k";
  while (shard_of_limit_key("t", {"api", key, 1}, 3) != owner)
    key += "k";
  for (sequence seq = 1; seq <= 20; ++seq)
    wait(seq, 0, key);
  desk_.wait({30, 0, 1, "t", {{owner, {{"api", key, 1}}}}});
  list();
  auto first = say();
  ASSERT_TRUE(first);
  EXPECT_EQ(first->wanted.size(), permit_desk::asked_per_key_max);
  (void)hear(first->number);

  desk_.set_idle(0, "t", true, now_);
  auto idle = say();
  ASSERT_TRUE(idle);
  EXPECT_EQ(idle->returned.size(), permit_desk::asked_per_key_max - 1) << "one is another queue's";
  EXPECT_TRUE(idle->wanted.empty());
  (void)hear(idle->number);
  EXPECT_FALSE(say());
  EXPECT_TRUE(desk_.leave(20)) << "it is cancelled";

  desk_.set_idle(0, "t", false, now_);
  auto again = say();
  ASSERT_TRUE(again);
  EXPECT_EQ(again->wanted.size(), permit_desk::asked_per_key_max - 1);
}

TEST_F(PermitDesk, TaskOfAHigherPriorityTakesThePlaceOfTheLastOne) {
  for (sequence seq = 1; seq <= 20; ++seq)
    wait(seq);
  list();
  auto asked = say();
  ASSERT_TRUE(asked);
  (void)hear(asked->number);
  EXPECT_FALSE(say());
  wait(30, 1);

  auto urgent = say();
  ASSERT_TRUE(urgent);
  ASSERT_EQ(urgent->wanted.size(), 1u);
  EXPECT_EQ(urgent->wanted.front().priority, 1);
  ASSERT_EQ(urgent->returned.size(), 1u);
  EXPECT_EQ(urgent->returned.front().number, asked->wanted.back().number);
  EXPECT_TRUE(desk_.is_waiting(16));
}

TEST_F(PermitDesk, OwnerThatIsServedAnewIsToldAllAgain) {
  auto number = permitted(8);
  wait(9);
  auto asked = say();
  ASSERT_EQ(asked->wanted.size(), 1u);
  desk_.moved(owner);

  auto listed = say();
  ASSERT_TRUE(listed && listed->is_list);
  ASSERT_EQ(listed->held.size(), 1u);
  EXPECT_EQ(listed->held.front().number, number);
  EXPECT_TRUE(hear(asked->number, {asked->wanted.front().number}).empty()) << "of the past";
  (void)hear(listed->number);
  auto again = say();
  ASSERT_TRUE(again);
  EXPECT_NE(again->wanted.front().number, asked->wanted.front().number);
}

TEST_F(PermitDesk, KeyIsClosedNoLongerThanSaidHoweverLateTheOwnerHears) {
  desk_.close(owner, {"t", {"api", "k", 1}, 400ms}, now_);
  auto first = say();
  ASSERT_TRUE(first && first->closed.size() == 1);
  EXPECT_EQ(first->closed.front().lasting, 400ms);

  now_ += permit_desk::answer_wait;
  auto again = say();
  ASSERT_TRUE(again && again->closed.size() == 1);
  EXPECT_EQ(again->closed.front().lasting, 400ms - permit_desk::answer_wait);

  now_ += 2 * permit_desk::answer_wait;
  auto late = say();
  ASSERT_TRUE(late);
  EXPECT_TRUE(late->closed.empty());
  (void)hear(late->number);
  EXPECT_FALSE(say());
}

TEST_F(PermitDesk, OwnerThatAsksAnEarlierProcessIsToldWhatThereIs) {
  EXPECT_TRUE(desk_.hear({owner, session - 1, 90, {77}, true}, now_, has_rate).empty());

  auto said = say();
  ASSERT_TRUE(said && said->is_list);
  EXPECT_TRUE(said->held.empty());
}

/// A task that needs a permit of either owner.
class TwoOwners : public PermitDesk {
protected:
  TwoOwners() {
    desk_.wait({8, 0, 3, "t", {{owner, {{"api", "k", 1}}}, {other, {{"db", "k", 1}}}}});
    for (auto& letter : desk_.say(now_))
      if (letter.what.is_list)
        (void)desk_.hear({letter.to, session, letter.what.number}, now_, has_rate);
  }

  /// The message that the desk sends to the owner now; empty when there is none.
  std::optional<ask_permits> said_to(shard_id to) {
    for (auto& letter : desk_.say(now_))
      said_[letter.to] = letter.what;
    auto at = said_.find(to);
    if (at == said_.end())
      return std::nullopt;
    return said_.extract(at).mapped();
  }

  /// The owner gives what it is asked for; whether the task has all permits now.
  bool gives(shard_id from) {
    auto said = said_to(from);
    if (said && said->is_list) {
      (void)desk_.hear({from, session, said->number}, now_, has_rate);
      said = said_to(from);
    }
    EXPECT_TRUE(said && said->wanted.size() == 1) << "asked";
    auto number = said->wanted.front().number;
    return !desk_.hear({from, session, said->number, {number}}, now_, has_rate).empty();
  }

  /// The owner hears a message so long after it was said.
  void answer_slowly(shard_id from, duration time) {
    desk_.close(from, {"t", {"api", "k", 1}, {}}, now_);
    auto said = said_to(from);
    ASSERT_TRUE(said);
    now_ += time;
    (void)desk_.hear({from, session, said->number}, now_, has_rate);
  }

  std::map<shard_id, ask_permits> said_;
};

TEST_F(TwoOwners, AreAskedOneAfterTheOther) {
  EXPECT_EQ(desk_.awaited_use(8).name, "api");
  EXPECT_FALSE(gives(owner));
  EXPECT_EQ(desk_.awaited_use(8).name, "db");
  EXPECT_EQ(desk_.awaited_of(3).limits().size(), 1u);
  EXPECT_TRUE(gives(other));

  EXPECT_TRUE(desk_.has_permit(8));
  EXPECT_TRUE(desk_.awaited_of(3).limits().empty());
  desk_.spend(8);
  desk_.settle(8, {"db", "", 7});
  desk_.end(8);
  auto first = said_to(owner);
  auto second = said_to(other);
  ASSERT_TRUE(first && second);
  ASSERT_EQ(first->returned.size(), 1u);
  EXPECT_TRUE(first->returned.front().costs.empty());
  ASSERT_EQ(second->returned.size(), 1u);
  EXPECT_EQ(second->returned.front().costs, (std::vector<task_limit>{{"db", "", 7}}));
}

TEST_F(TwoOwners, FirstPermitIsReturnedWhenTheSecondDoesNotCome) {
  EXPECT_FALSE(gives(owner));
  (void)said_to(other);
  EXPECT_EQ(desk_.next_look(), now_ + permit_desk::unspent_max);
  now_ += permit_desk::unspent_max;
  desk_.return_unspent(now_);

  auto said = said_to(owner);
  ASSERT_TRUE(said);
  ASSERT_EQ(said->returned.size(), 1u);
  EXPECT_TRUE(said->returned.front().is_unspent);
  EXPECT_TRUE(said->wanted.empty()) << "it waits for the other one first";
  EXPECT_TRUE(desk_.is_waiting(8));
  EXPECT_EQ(desk_.awaited_use(8).name, "db");
}

TEST_F(TwoOwners, FirstPermitIsKeptWhileTheSecondOwnerIsAsSlowAsItWas) {
  answer_slowly(other, 80ms);

  EXPECT_FALSE(gives(owner));
  auto asked = said_to(other);
  ASSERT_TRUE(asked && asked->wanted.size() == 1);
  EXPECT_EQ(desk_.next_look(), now_ + 2 * 80ms);
  now_ += 80ms;
  desk_.return_unspent(now_);
  (void)desk_.hear({other, session, asked->number, {asked->wanted.front().number}}, now_, has_rate);

  EXPECT_TRUE(desk_.has_permit(8));
  EXPECT_EQ(desk_.next_look(), now_ + permit_desk::unspent_max) << "it can be leased now";
}

TEST_F(TwoOwners, FirstPermitIsNotKeptForEver) {
  answer_slowly(other, 1h);

  EXPECT_FALSE(gives(owner));

  EXPECT_EQ(desk_.next_look(), now_ + permit_desk::kept_max);
}

TEST_F(TwoOwners, FirstPermitIsKeptNoLongerOnceTheSecondOwnerIsFastAgain) {
  answer_slowly(other, 1h);
  for (int i = 0; i < 100; ++i)
    answer_slowly(other, 1ms);

  EXPECT_FALSE(gives(owner));

  EXPECT_EQ(desk_.next_look(), now_ + permit_desk::unspent_max);
}

TEST_F(TwoOwners, FirstPermitIsReturnedAtOnceWhenTheSecondOwnerHasNoneToGive) {
  answer_slowly(other, 80ms);
  EXPECT_FALSE(gives(owner));
  auto asked = said_to(other);
  ASSERT_TRUE(asked && asked->wanted.size() == 1);
  now_ += 10ms;

  (void)desk_.hear({other, session, asked->number}, now_, has_rate);

  EXPECT_EQ(desk_.next_look(), now_);
}

TEST_F(TwoOwners, PermitOfARateIsNotKeptForASlowOwner) {
  EXPECT_TRUE(desk_.leave(8));
  answer_slowly(other, 80ms);
  desk_.wait({9, 0, 3, "t", {{owner, {{"paced", "k", 1}}}, {other, {{"db", "k", 1}}}}});

  EXPECT_FALSE(gives(owner));

  EXPECT_EQ(desk_.next_look(), now_ + permit_desk::rate_unspent_max);
}

TEST_F(TwoOwners, NothingIsKeptForASlowOwnerOnceALimitHasARate) {
  answer_slowly(other, 80ms);
  EXPECT_FALSE(gives(owner));

  desk_.keep_none_longer(now_);

  EXPECT_EQ(desk_.next_look(), now_ + permit_desk::unspent_max);
}

TEST_F(TwoOwners, OwnerThatIsServedAnewIsToldWhatAWaitingTaskHas) {
  EXPECT_FALSE(gives(owner));
  desk_.moved(owner);

  auto said = said_to(owner);
  ASSERT_TRUE(said && said->is_list);
  EXPECT_EQ(said->held.size(), 1u);
}

TEST_F(TwoOwners, OwnerThatIsServedAnewIsNotToldWhatWasReturned) {
  EXPECT_FALSE(gives(owner));
  (void)said_to(other);
  now_ += permit_desk::unspent_max;
  desk_.return_unspent(now_);
  desk_.adopt({9, 0, 3, "t", {{owner, {{"api", "k", 1}}}}});
  desk_.end(9);
  desk_.moved(owner);

  auto said = said_to(owner);
  ASSERT_TRUE(said && said->is_list);
  EXPECT_TRUE(said->held.empty());
  EXPECT_EQ(said->returned.size(), 2u);
  EXPECT_TRUE(desk_.is_waiting(8));
}

TEST_F(TwoOwners, TaskThatIsNotReadyAnyMoreReturnsWhatItHasAndAsksFor) {
  EXPECT_FALSE(gives(owner));
  (void)said_to(other);
  EXPECT_TRUE(desk_.leave(8));

  EXPECT_EQ(desk_.size(), 0u);
  auto first = said_to(owner);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->returned.size(), 1u);
}

} // namespace
} // namespace codeq::core
