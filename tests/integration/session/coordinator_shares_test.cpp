// SPDX-License-Identifier: Apache-2.0
#include "base/tuning.hpp"
#include "integration/session/session_fixture.hpp"

#include <gmock/gmock.h>

/// A session whose tenant has used up its shares: of what is not durable yet, and of unread bytes.
namespace codeq::test {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
using namespace std::chrono_literals;

/// A task whose body has that size.
coordinator::task_delivery delivery_of(std::size_t size) {
  core::granted_run run;
  run.first = 1;
  run.count = 1;
  run.queue = {"default", "q"};
  coordinator::task_delivery delivery;
  delivery.granted.peer = 1;
  delivery.granted.runs = {std::move(run)};
  delivery.bodies = {{bytes(std::string(size, 'x')), {static_cast<std::uint32_t>(size)}}};
  return delivery;
}

/// The answer to a look-up of a task whose result has that size.
coordinator::shard_reply status_of(std::uint64_t number, std::size_t size) {
  protocol::status_answered answered;
  answered.number = number;
  answered.texts.text = bytes(std::string(size, 'x'));
  return {shard_id{}, std::move(answered)};
}

TEST_F(CoordinatorSession, RefusesTasksBeyondTheSharesOfItsTenantAndTakesThemLater) {
  shares_ = std::make_shared<coordinator::enqueue_shares>(3 * tuning::enqueue_overhead_bytes);
  start(limited(security::role::producer, security::rate_scope::producer));

  read(enqueue_of(1, 1));
  read(enqueue_of(2, 10));
  auto said = take();
  ASSERT_EQ(said.size(), 2u);
  EXPECT_EQ(said[0], "enqueue");
  EXPECT_THAT(said[1], AllOf(StartsWith("2 overloaded: tenant t has "), EndsWith(" after 500")));
  EXPECT_THAT(said[1], HasSubstr("enqueue_bytes_max=3072"));
  held_.clear();
  // A refused request does not count against the token's rate.
  read(enqueue_of(2, 9));

  EXPECT_THAT(take(), ElementsAre("enqueue"));
}

/// Saves a checkpoint of half a KiB.
protocol::heartbeat_request checkpoint_of(std::uint64_t token, std::uint32_t number) {
  return protocol::heartbeat_request::build([&](schema::HeartbeatRequest::Builder root) {
    root.initLeases(1)[0].setToken(token);
    auto line = root.initCheckpoints(1)[0];
    line.setToken(token);
    line.setNumber(number);
    line.initData(512);
  });
}

TEST_F(CoordinatorSession, PostponesCheckpointsBeyondTheSharesOfItsTenantAndExtendsTheirLeases) {
  shares_ = std::make_shared<coordinator::enqueue_shares>(4 * tuning::enqueue_overhead_bytes);
  read(checkpoint_of(50, 1), schema::Role::WORKER);
  EXPECT_THAT(take(), ElementsAre("1 leases, 1 checkpoints"));

  read(checkpoint_of(51, 2), schema::Role::WORKER);
  EXPECT_THAT(
    take(), testing::UnorderedElementsAre("1 leases, 0 checkpoints", "postponed 51.2"));
  // The first one is durable.
  held_.clear();
  EXPECT_EQ(shares_->used(), 0u);
  read(checkpoint_of(51, 2), schema::Role::WORKER);

  EXPECT_THAT(take(), ElementsAre("1 leases, 1 checkpoints"));
}

TEST_F(CoordinatorSession, TakesNoShareForHeartbeatsWithoutCheckpoints) {
  shares_ = std::make_shared<coordinator::enqueue_shares>(1);

  read(
    protocol::heartbeat_request::build(
      [](schema::HeartbeatRequest::Builder root) { root.initLeases(2); }),
    schema::Role::WORKER);

  EXPECT_THAT(take(), ElementsAre("2 leases, 0 checkpoints"));
}

TEST_F(CoordinatorSession, RefusesChangesBeyondTheSharesOfItsTenantButNoQuestions) {
  shares_ = std::make_shared<coordinator::enqueue_shares>(3 * tuning::enqueue_overhead_bytes);
  auto change = protocol::queue_request::build([](schema::QueueRequest::Builder root) {
    root.setNumber(3);
    root.setPause();
  });
  auto question = protocol::queue_request::build(
    [](schema::QueueRequest::Builder root) { root.setShow(); });
  read(change, schema::Role::OPERATOR);
  EXPECT_THAT(take(), ElementsAre("queue"));

  read(change, schema::Role::OPERATOR);
  EXPECT_THAT(take(), ElementsAre(StartsWith("3 overloaded: tenant t has ")));
  read(question, schema::Role::OPERATOR);
  EXPECT_THAT(take(), ElementsAre("queue"));
  held_.clear();
  read(change, schema::Role::OPERATOR);

  EXPECT_THAT(take(), ElementsAre("queue"));
}

TEST_F(CoordinatorSession, LeavesTheSharesOfARequestThatWasPassedOnWhenItEnds) {
  read(enqueue_of(1, 1));

  receive(actors::connection_lost{});
  EXPECT_GT(shares_->used(), 0u);
  held_.clear();

  EXPECT_EQ(shares_->used(), 0u);
}

TEST_F(CoordinatorSession, PausesClaimsWhileItsTenantHasTooManyUnreadBytes) {
  unread_ = std::make_shared<coordinator::unread_shares>(256u << 10);
  start(nullptr);
  claim(3);
  take();

  receive(delivery_of(300u << 10));
  EXPECT_THAT(take(), Contains("take 2"));
  system_.advance(1s);
  EXPECT_THAT(take(), Not(Contains("credits 2"))) << "nothing is read";
  receive(coordinator::credit_news{shard_id{}, coordinator::credit_news::kind::returned, 2});
  outgoing_->written = 300u << 10;
  system_.advance(1s);

  EXPECT_THAT(take(), Contains("credits 2"));
  EXPECT_EQ(unread_->used(), 0u);
}

TEST_F(CoordinatorSession, GivesBackItsShareOfUnreadBytesThatAreRead) {
  unread_ = std::make_shared<coordinator::unread_shares>(256u << 10);
  start(nullptr);
  receive(delivery_of(100u << 10));
  take();
  EXPECT_GE(unread_->used(), 100u << 10);

  outgoing_->written = 100u << 10;
  system_.advance(1s);
  take();

  EXPECT_EQ(unread_->used(), 0u);
}

TEST_F(CoordinatorSession, RefusesAnswersToQuestionsWhileItsTenantHasTooManyUnreadBytes) {
  unread_ = std::make_shared<coordinator::unread_shares>(256u << 10);
  start(nullptr);
  receive(delivery_of(100u << 10));
  take();

  receive(status_of(7, 100u << 10));
  EXPECT_THAT(take(), ElementsAre(StartsWith("7 overloaded: the nodes of tenant default have")));
  outgoing_->written = 100u << 10;
  receive(status_of(8, 100u << 10));

  EXPECT_THAT(take(), ElementsAre("8 none: "));
}

TEST_F(CoordinatorSession, EndsWhenItReadsNoAnswersAndTheShareOfItsTenantIsUsedUp) {
  unread_ = std::make_shared<coordinator::unread_shares>(256u << 10);
  start(nullptr);
  coordinator::shard_reply many{
    shard_id{}, core::reports_answered{1, std::vector<core::report_answer>(40'000)}};
  auto answer = "frame " + std::to_string(protocol::frame_type<schema::ResultReply>);
  auto refusal = "frame " + std::to_string(protocol::frame_type<schema::Refused>);
  receive(many);
  EXPECT_THAT(take(), ElementsAre(answer)) << "it cannot be refused";

  receive(many);
  receive(many);
  EXPECT_THAT(take(), ElementsAre(refusal)) << "the connection ends once";
}

} // namespace
} // namespace codeq::test
