// SPDX-License-Identifier: Apache-2.0
#include "coordinator/store/lookup_desk.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

namespace codeq::coordinator {
namespace {

constexpr bool is_bounded = true;

stored_inquiry inquiry_of(core::peer_id peer, sequence seq, bool bounded = is_bounded) {
  stored_inquiry asked;
  asked.why.peer = peer;
  asked.seq = seq;
  asked.is_bounded = bounded;
  return asked;
}

stored_list list_for(core::peer_id peer, const std::string& tenant, bool bounded = is_bounded) {
  stored_list asked;
  asked.in_memory.peer = peer;
  asked.in_memory.part.filter.tenant = tenant;
  asked.is_bounded = bounded;
  return asked;
}

keys_wanted keys_of(core::peer_id peer) {
  keys_wanted wanted;
  wanted.peer = peer;
  wanted.names.resize(1);
  return wanted;
}

survivors_wanted survivors_of(std::uint16_t shard) {
  survivors_wanted wanted;
  wanted.shard = shard_id{shard};
  return wanted;
}

/// The peers and shards that a turn serves, by kind.
std::string text_of(const lookup_turn& turn) {
  std::string text;
  for (const auto& wanted : turn.keys)
    text += "keys of " + std::to_string(wanted.peer) + "; ";
  for (const auto& asked : turn.inquiries)
    text += "task " + std::to_string(asked.seq) + " for " + std::to_string(asked.why.peer) + "; ";
  for (const auto& list : turn.lists)
    text += "list of " + list.tenant + " for " + std::to_string(list.peer) + "; ";
  for (const auto& wanted : turn.survivors)
    text += "survivors of " + std::to_string(value(wanted.shard)) + "; ";
  return text;
}

TEST(LookupDesk, RefusesInquiriesOfAConnectionBeyondItsPlaces) {
  lookup_desk desk({.inquiries_max = 2});
  desk.add(inquiry_of(1, 1));
  EXPECT_FALSE(desk.check(inquiry_of(1, 2)));
  desk.add(inquiry_of(1, 2));

  auto refusal = desk.check(inquiry_of(1, 3));

  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->limit, "lookups_waiting_max");
  EXPECT_EQ(refusal->max, 2u);
  EXPECT_EQ(refusal->tenant, "default");
  EXPECT_EQ(refusal->reason.code, errc::overloaded);
  EXPECT_EQ(
    refusal->reason.context, "the connection has 2 look-ups waiting; lookups_waiting_max=2");
  EXPECT_FALSE(desk.check(inquiry_of(2, 1))) << "another connection";
  EXPECT_FALSE(desk.check(inquiry_of(1, 3, !is_bounded))) << "the gateway";
  EXPECT_FALSE(desk.check(list_for(1, "a"))) << "lists have places of their own";
}

TEST(LookupDesk, RefusalNamesTheTenantOfTheToken) {
  lookup_desk desk({.inquiries_max = 0});
  auto asked = inquiry_of(1, 1);
  auto bearer = std::make_shared<security::principal>();
  bearer->tenant = "acme";
  asked.asker = bearer;

  EXPECT_EQ(desk.check(asked)->tenant, "acme");
}

TEST(LookupDesk, RefusesListsOfAConnectionBeyondItsPlaces) {
  lookup_desk desk({.lists_max = 2});
  desk.add(list_for(1, "a"));
  desk.add(list_for(1, "b"));

  auto refusal = desk.check(list_for(1, "c"));

  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->limit, "lists_waiting_max");
  EXPECT_EQ(refusal->tenant, "c");
  EXPECT_EQ(refusal->reason.context, "the connection has 2 lists waiting; lists_waiting_max=2");
  EXPECT_FALSE(desk.check(list_for(2, "a"))) << "another connection";
  EXPECT_FALSE(desk.check(list_for(1, "c", !is_bounded))) << "the gateway";
}

TEST(LookupDesk, TurnServesOneOwnerOfEachKind) {
  lookup_desk desk;
  for (std::uint16_t owner = 1; owner <= 2; ++owner) {
    desk.add(survivors_of(owner));
    desk.add(list_for(owner, "t"));
    desk.add(inquiry_of(owner, 7));
    desk.add(keys_of(owner));
  }
  EXPECT_EQ(desk.size(), 8u);

  auto first = desk.take();
  auto second = desk.take();

  EXPECT_EQ(text_of(first), "keys of 1; task 7 for 1; list of t for 1; survivors of 1; ");
  EXPECT_EQ(first.peers, (std::set<core::peer_id>{1}));
  EXPECT_EQ(text_of(second), "keys of 2; task 7 for 2; list of t for 2; survivors of 2; ");
  EXPECT_EQ(desk.size(), 0u);
  EXPECT_EQ(text_of(desk.take()), "");
}

TEST(LookupDesk, TurnNamesThePeersOfItsInquiriesAndLists) {
  lookup_desk desk;
  desk.add(keys_of(1));
  desk.add(inquiry_of(2, 1));
  desk.add(list_for(3, "t"));

  EXPECT_EQ(desk.take().peers, (std::set<core::peer_id>{2, 3}));
}

TEST(LookupDesk, ListThatIsNotCompleteWaitsForTheOthers) {
  lookup_desk desk;
  desk.add(list_for(1, "a"));
  desk.add(list_for(1, "b"));

  auto turn = desk.take();
  EXPECT_EQ(text_of(turn), "list of a for 1; ");
  desk.add(std::move(turn.lists.front()));

  EXPECT_EQ(text_of(desk.take()), "list of b for 1; ");
  EXPECT_EQ(text_of(desk.take()), "list of a for 1; ");
}

TEST(LookupDesk, RefusalsLetInquiriesOfOnePeerInNowAndThen) {
  constexpr int refusals_of_a_turn = 128;
  lookup_desk desk;
  desk.add(list_for(1, "a"));
  desk.add(inquiry_of(1, 1));
  desk.add(inquiry_of(2, 2));

  std::string turns;
  for (int i = 1; i < refusals_of_a_turn; ++i)
    turns += text_of(desk.take_after_refusal());
  EXPECT_EQ(turns, "");

  auto turn = desk.take_after_refusal();
  EXPECT_EQ(text_of(turn), "task 1 for 1; ");
  EXPECT_EQ(turn.peers, (std::set<core::peer_id>{1}));
  EXPECT_TRUE(desk.has(1)) << "its list waits";
}

TEST(LookupDesk, ForgetsInquiriesAndListsOfAPeerThatHasEnded) {
  lookup_desk desk;
  desk.add(inquiry_of(1, 1));
  desk.add(list_for(1, "a"));
  desk.add(inquiry_of(2, 2));
  EXPECT_EQ(desk.inquiries_of(1), 1u);

  desk.drop(1);

  EXPECT_FALSE(desk.has(1));
  EXPECT_EQ(desk.inquiries_of(1), 0u);
  EXPECT_TRUE(desk.has(2));
  EXPECT_EQ(text_of(desk.take()), "task 2 for 2; ");
}

} // namespace
} // namespace codeq::coordinator
