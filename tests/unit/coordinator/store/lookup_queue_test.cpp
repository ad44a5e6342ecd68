// SPDX-License-Identifier: Apache-2.0
#include "coordinator/store/lookup_queue.hpp"

#include <gtest/gtest.h>

#include <string>

namespace codeq::coordinator {
namespace {

using inquiry_queue = lookup_queue<stored_inquiry>;

void add(inquiry_queue& queue, core::peer_id peer, std::size_t count) {
  for (sequence seq = 1; seq <= count; ++seq) {
    stored_inquiry asked;
    asked.why.peer = peer;
    asked.seq = seq;
    queue.add(std::move(asked));
  }
}

/// The next turn as "peer:first-last".
std::string next_turn(inquiry_queue& queue) {
  auto taken = queue.take();
  if (taken.empty())
    return {};
  return std::to_string(taken.front().why.peer) + ":" + std::to_string(taken.front().seq) + "-"
         + std::to_string(taken.back().seq);
}

TEST(LookupQueue, PeersTakeTurnsOfBoundedLength) {
  static_assert(inquiry_queue::turn_max == 32);
  inquiry_queue queue;
  add(queue, 1, 70);
  add(queue, 2, 3);

  EXPECT_EQ(next_turn(queue), "1:1-32");
  EXPECT_EQ(next_turn(queue), "2:1-3");
  EXPECT_EQ(next_turn(queue), "1:33-64");
  EXPECT_EQ(next_turn(queue), "1:65-70");
  EXPECT_EQ(next_turn(queue), "");
  EXPECT_EQ(queue.size(), 0u);
}

TEST(LookupQueue, TurnEndsWithTheLookUpThatReadsTheLastRecordOfIt) {
  lookup_queue<keys_wanted> queue;
  for (std::size_t names : {20u, 1000u, 1u, 1u}) {
    keys_wanted wanted;
    wanted.peer = 1;
    wanted.names.resize(names);
    queue.add(std::move(wanted));
  }

  EXPECT_EQ(queue.take().size(), 2u);
  EXPECT_EQ(queue.take().size(), 2u);
}

TEST(LookupQueue, ForgetsWhatAPeerAskedThatIsGone) {
  inquiry_queue queue;
  add(queue, 1, 70);
  add(queue, 2, 3);

  queue.drop(1);

  EXPECT_EQ(queue.size(), 3u);
  EXPECT_FALSE(queue.has(1));
  EXPECT_EQ(next_turn(queue), "2:1-3");
  EXPECT_EQ(next_turn(queue), "");
}

stored_list list_of(core::peer_id peer, const std::string& tenant, std::uint64_t number) {
  stored_list asked;
  asked.in_memory.peer = peer;
  asked.in_memory.number = number;
  asked.in_memory.part.filter.tenant = tenant;
  return asked;
}

TEST(LookupQueue, TenantsOfOnePeerTakeTurnsWithTheirLists) {
  lookup_queue<open_list> queue;
  for (std::uint64_t i = 0; i < 3; ++i)
    queue.add(begin_list(list_of(1, "many", i)));
  queue.add(begin_list(list_of(1, "one", 9)));
  queue.add(begin_list(list_of(2, "many", 9)));

  std::string turns;
  for (auto taken = queue.take(); !taken.empty(); taken = queue.take()) {
    ASSERT_EQ(taken.size(), 1u) << "a list takes a whole turn";
    turns += std::to_string(taken.front().peer) + taken.front().tenant + " ";
  }

  EXPECT_EQ(turns, "1many 1one 2many 1many 1many ");
}

TEST(LookupQueue, ForgetsTheListsOfAllTenantsOfAPeer) {
  lookup_queue<open_list> queue;
  queue.add(begin_list(list_of(1, "a", 1)));
  queue.add(begin_list(list_of(1, "b", 1)));
  queue.add(begin_list(list_of(2, "a", 1)));
  EXPECT_EQ(queue.size_of(1), 2u);

  queue.drop(1);

  EXPECT_EQ(queue.size(), 1u);
  EXPECT_FALSE(queue.has(1));
  EXPECT_EQ(queue.take().front().peer, 2u);
  EXPECT_TRUE(queue.take().empty());
}

} // namespace
} // namespace codeq::coordinator
