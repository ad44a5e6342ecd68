// SPDX-License-Identifier: Apache-2.0
#include "codeq/limits.hpp"

#include "coordinator/session/claim_wire.hpp"
#include "support/task_builder.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace codeq::coordinator {
namespace {

constexpr claim_place place{7, 2, shard_id{3}};
constexpr std::size_t shards = 4;

template <class Step>
Step pass(const Step& step) {
  auto read = read_claim_at(make_claim_at(place, step), shards);
  EXPECT_TRUE(read);
  EXPECT_EQ(read->first, place);
  return std::get<Step>(read->second);
}

template <class Event>
Event pass_news(const Event& event) {
  auto read = read_claim_news(make_claim_news(place, event));
  EXPECT_TRUE(read);
  EXPECT_EQ(read->first, place);
  return std::get<Event>(read->second);
}

claim_attached attached(std::vector<queue_address> queues, std::vector<queue_address> prefixes) {
  auto worker = std::make_shared<const worker_identity>(worker_identity{"http:t/w", 1});
  return {std::move(worker), std::move(queues), std::move(prefixes)};
}

TEST(ClaimWire, StepsArriveAsTheyWereSent) {
  auto joined = pass(attached({{"t", "q"}}, {{"t", ""}}));
  EXPECT_EQ(*joined.worker, (worker_identity{"http:t/w", 1}));
  EXPECT_EQ(joined.queues, (std::vector<queue_address>{{"t", "q"}}));
  EXPECT_EQ(joined.prefixes, (std::vector<queue_address>{{"t", ""}}));

  auto claim = pass(core::claim{0, 5, duration{60'000}, 0, 1000});
  EXPECT_EQ(claim.credits, 5u);
  EXPECT_EQ(claim.lease, duration{60'000});
  EXPECT_EQ(claim.bytes, 1000);
  EXPECT_EQ(pass(core::revoke_credits{0, 4}).credits, 4u);
  EXPECT_EQ(pass(claim_question{6}).number, 6u);
  EXPECT_EQ(pass(claim_received{8}).messages, 8u);
  static_cast<void>(pass(claim_detached{}));
}

TEST(ClaimWire, NewsArriveAsTheyWereSent) {
  credit_news outranked{place.shard, credit_news::kind::outranked, 2};
  outranked.by = shard_id{1};
  outranked.priority = 4;
  outranked.being_read = -3;
  auto credits = pass_news(outranked);
  EXPECT_EQ(credits.shard, place.shard);
  EXPECT_EQ(credits.what, credit_news::kind::outranked);
  EXPECT_EQ(credits.credits, 2u);
  EXPECT_EQ(credits.by, shard_id{1});
  EXPECT_EQ(credits.priority, 4);
  EXPECT_EQ(credits.being_read, -3);

  const auto answer = pass_news(claim_answer{9, true});
  EXPECT_EQ(answer.number, 9u);
  EXPECT_TRUE(answer.awaits_slots);
  EXPECT_FALSE(answer.lacks_copies);
  EXPECT_TRUE(pass_news(claim_answer{9, false, true}).lacks_copies);
  EXPECT_EQ(
    pass_news(claim_left{{errc::not_owner, "elsewhere"}}).reason,
    (error{errc::not_owner, "elsewhere"}));
}

TEST(ClaimWire, StepOutOfBoundsIsRefused) {
  EXPECT_FALSE(read_claim_at(make_claim_at(place, claim_detached{}), 3));
  EXPECT_FALSE(read_claim_at(make_claim_at(place, attached({}, {})), shards));
  EXPECT_FALSE(read_claim_at(make_claim_at(place, attached({{"t", ""}}, {})), shards));
  auto long_name = attached({{"t", "q"}}, {});
  const std::string name(3 * limits::name_bytes_max + 1, 'w');
  long_name.worker = std::make_shared<const worker_identity>(worker_identity{name, 1});
  EXPECT_FALSE(read_claim_at(make_claim_at(place, long_name), shards));
  constexpr auto too_many = static_cast<std::uint32_t>(limits::slots_max + 1);
  EXPECT_FALSE(read_claim_at(make_claim_at(place, core::claim{0, too_many}), shards));
}

TEST(ClaimWire, OnlyTheLastMessageOfAGrantTellsWhatIsLeft) {
  task_delivery tasks{place.shard, {}, {}, false};
  tasks.granted.bytes = 12;
  for (sequence first : {1, 5}) {
    core::granted_run run;
    run.first = first;
    run.count = 1;
    run.queue = {"t", "q"};
    tasks.granted.runs.push_back(std::move(run));
    tasks.bodies.push_back(test::encode_bodies(1, 5u << 20));
  }

  std::vector<claim_tasks> sent;
  write_claim_tasks(place, tasks, [&](std::uint32_t count, const protocol::wire_frame& frame) {
    EXPECT_EQ(count, 1u);
    auto read = read_claim_news(*protocol::claim_news::parse(frame.body));
    sent.push_back(std::get<claim_tasks>(read->second));
  });

  ASSERT_EQ(sent.size(), 2u);
  EXPECT_EQ(sent[0].more, std::nullopt);
  EXPECT_EQ(sent[0].room, 0u);
  EXPECT_EQ(sent[1].more, false);
  EXPECT_EQ(sent[1].room, 12u);
  EXPECT_FALSE(sent[0].was_read);
  EXPECT_TRUE(protocol::task_batch::parse(sent[0].batch));
}

TEST(ClaimWire, LeasesOfAGrantAreInOrder) {
  core::tasks_granted granted;
  core::granted_run run;
  run.first = 4;
  run.count = 2;
  run.first_token = fencing_token{90};
  granted.runs.push_back(run);

  const auto leases = granted_leases(granted);

  ASSERT_EQ(leases.size(), 2u);
  EXPECT_EQ(leases[1].seq, 5u);
  EXPECT_EQ(leases[1].token, fencing_token{91});
}

} // namespace
} // namespace codeq::coordinator
