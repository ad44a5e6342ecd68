// SPDX-License-Identifier: Apache-2.0
#include "integration/session/session_fixture.hpp"
#include "protocol/reply.hpp"

#include <gmock/gmock.h>

namespace codeq::test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;
using namespace std::chrono_literals;

TEST_F(CoordinatorSession, TakesCreditsBackBeforeAGoodbyeEndsLeases) {
  claim(8);
  take();

  receive(protocol::goodbye::build([](schema::Goodbye::Builder) {}));

  EXPECT_THAT(take(), ElementsAre("take 8", "released"));
}

TEST_F(CoordinatorSession, PlacesNoCreditsOfAWorkerThatTakesNoMore) {
  claim(8);
  EXPECT_THAT(take(), ElementsAre("credits 8"));

  claim(0);
  EXPECT_THAT(take(), ElementsAre("take 8"));
  receive(coordinator::credit_news{shard_id{}, coordinator::credit_news::kind::returned, 8});
  receive(actors::outgoing_pressure{false});

  EXPECT_THAT(take(), IsEmpty());
}

TEST_F(CoordinatorSession, WithholdsTheCreditsOfADrainedWorkerUntilItIsTakenBack) {
  claim(8);
  take();

  receive(coordinator::drain_session{true});
  EXPECT_THAT(take(), ElementsAre("take 8"));
  receive(coordinator::credit_news{shard_id{}, coordinator::credit_news::kind::returned, 8});
  claim(2);
  receive(actors::outgoing_pressure{false});
  EXPECT_THAT(take(), IsEmpty());

  receive(coordinator::drain_session{false});
  EXPECT_THAT(take(), ElementsAre("credits 10"));
}

TEST_F(CoordinatorSession, PassesOperatorsRequestsToTheShardTheyName) {
  receive(protocol::queue_request::build([](schema::QueueRequest::Builder) {}));
  receive(protocol::force_request::build([](schema::ForceRequest::Builder) {}));

  EXPECT_THAT(take(), ElementsAre("queue", "force"));
}

TEST_F(CoordinatorSession, RefusesOperatorsRequestsForAShardThatIsNotThere) {
  receive(protocol::queue_request::build([](schema::QueueRequest::Builder root) {
    root.setNumber(3);
    root.setShard(1);
  }));
  receive(protocol::force_request::build([](schema::ForceRequest::Builder root) {
    root.setNumber(4);
    root.initTask().setShard(7);
  }));

  EXPECT_THAT(
    take(),
    ElementsAre(
      "3 invalid_argument: shard is 1; it must be 0..0",
      "4 unknown_task: no such task: its shard is not there"));
}

protocol::workers_request drain_of(const char* worker) {
  return protocol::workers_request::build([&](schema::WorkersRequest::Builder root) {
    root.setNumber(5);
    root.setDrain(worker);
  });
}

TEST_F(CoordinatorSession, DrainsAKnownWorkerForAnAdminOfItsTenantAndAuditsTheChange) {
  std::vector<bool> told;
  auto tell = [&](bool is_drained) { told.push_back(is_drained); };
  ASSERT_FALSE(drained_->join({"t/w1", 7}, 9, tell));
  security::principal who;
  who.tenant = "t";
  who.role = security::role::admin;
  start(std::make_shared<const security::principal>(who));

  receive(drain_of("t/w1"));
  EXPECT_THAT(
    take(),
    testing::UnorderedElementsAre("5 none t/w1 is drained", "audit of t: worker drain t/w1"));
  receive(drain_of("t/w1"));
  EXPECT_THAT(take(), ElementsAre("5 none t/w1 is drained"));
  EXPECT_THAT(told, ElementsAre(true));
  receive(drain_of("t/w2"));
  EXPECT_THAT(take(), ElementsAre("5 none"));
  receive(drain_of("http:t/bob"));
  EXPECT_THAT(take(), ElementsAre("5 unsupported"));
}

TEST_F(CoordinatorSession, DrainsNoWorkerOfAnotherTenantAndNoneForAReader) {
  ASSERT_FALSE(drained_->join({"u/w1", 7}, 9, [](bool) { FAIL(); }));
  security::principal who;
  who.tenant = "t";
  who.role = security::role::admin;
  start(std::make_shared<const security::principal>(who));
  receive(drain_of("u/w1"));
  EXPECT_THAT(take(), ElementsAre("5 unauthorized"));

  who.tenant = security::everything;
  who.role = security::role::reader;
  start(std::make_shared<const security::principal>(who));
  receive(drain_of("u/w1"));
  EXPECT_THAT(take(), ElementsAre("5 unauthorized"));
}

protocol::claim_request change_to(const char* queue) {
  return protocol::claim_request::build([&](schema::ClaimRequest::Builder root) {
    root.setSetsQueues(true);
    auto only = root.initQueues(1)[0];
    only.setTenant("t");
    only.setQueue(queue);
  });
}

TEST_F(CoordinatorSession, ChangesToQueuesThatTheTokenAllowsOnly) {
  security::principal who;
  who.tenant = "t";
  who.role = security::role::worker;
  who.queues = {"mine"};
  start(std::make_shared<const security::principal>(who));

  receive(change_to("mine"));
  EXPECT_THAT(take(), ElementsAre("serve mine"));
  receive(change_to("other"));
  EXPECT_THAT(take(), Not(Contains("serve other")));
}

TEST_F(CoordinatorSession, RefusesTasksBeyondTheRateAndSaysHowLong) {
  start(limited(security::role::producer, security::rate_scope::producer));

  receive(enqueue_of(1, 10));
  receive(enqueue_of(2, 5));
  EXPECT_THAT(
    take(),
    ElementsAre(
      "enqueue", "2 overloaded: over the rate of the token; retry after 500 ms after 500"));
  system_.advance(500ms);
  receive(enqueue_of(2, 5));

  EXPECT_THAT(take(), ElementsAre("enqueue"));
}

TEST_F(CoordinatorSession, EndsTheProducerSessionThatAGoodbyeNames) {
  auto request = [](std::uint64_t number) {
    return protocol::enqueue_request::build([&](schema::EnqueueRequest::Builder root) {
      root.initProducer().setHigh(1);
      root.getProducer().setLow(9);
      root.setNumber(number);
      root.initTasks().initEnds(1);
    });
  };
  auto answer = [](std::uint64_t number) {
    return coordinator::shard_reply{shard_id{}, core::enqueue_answered{1, number, {}}};
  };
  receive(request(1));
  take();

  receive(protocol::make_goodbye(errc::none, {1, 9}));
  EXPECT_THAT(take(), Not(Contains("session 9 ends"))) << "a request is not answered";
  start(nullptr);
  receive(request(1));
  receive(answer(1));
  take();
  receive(protocol::make_goodbye(errc::none, {1, 8}));
  EXPECT_THAT(take(), Not(Contains("session 8 ends"))) << "it is not this connection's";
  start(nullptr);
  receive(request(1));
  receive(answer(1));
  take();

  receive(protocol::make_goodbye(errc::none, {1, 9}));

  EXPECT_THAT(take(), Contains("session 9 ends"));
}

TEST_F(CoordinatorSession, LetsAWorkerResumeOnceAtEachShard) {
  auto resume = protocol::resume_request::build([](schema::ResumeRequest::Builder) {});
  receive(resume);
  EXPECT_THAT(take(), ElementsAre("another request"));

  receive(resume);

  EXPECT_THAT(take(), ElementsAre(StartsWith("frame "))) << "only the refusal";

  receive(resume);

  EXPECT_THAT(take(), IsEmpty()) << "it was told once";
}

TEST_F(CoordinatorSession, HoldsCreditsBeyondTheRateBackUntilTheirTime) {
  start(limited(security::role::worker, security::rate_scope::claim));

  claim(10);
  claim(4);
  EXPECT_THAT(take(), ElementsAre("credits 10"));
  system_.advance(100ms);
  EXPECT_THAT(take(), ElementsAre("credits 1"));
  system_.advance(300ms);

  EXPECT_THAT(take(), ElementsAre("credits 1", "credits 1", "credits 1"));
}

TEST_F(CoordinatorSession, PlacesNoHeldCreditsOfAWorkerThatTakesNoMore) {
  start(limited(security::role::worker, security::rate_scope::claim));
  claim(10);
  claim(4);
  take();

  claim(0);
  system_.advance(10s);

  EXPECT_THAT(take(), ElementsAre("take 10"));
}

TEST_F(CoordinatorSession, TellsTheCountsOfTheShards) {
  receive(protocol::stats_request::build(
    [](schema::StatsRequest::Builder root) { root.setNumber(3); }));
  receive(protocol::workers_request::build(
    [](schema::WorkersRequest::Builder root) { root.setNumber(4); }));

  EXPECT_THAT(take(), ElementsAre("3 none: ", "4 none"));
}

TEST_F(CoordinatorSession, RefusesRequestsBeyondTheRate) {
  start(limited(security::role::admin, security::rate_scope::admin, 1));
  receive(protocol::queue_request::build([](schema::QueueRequest::Builder) {}));
  receive(protocol::queue_request::build([](schema::QueueRequest::Builder) {}));
  receive(protocol::stats_request::build([](schema::StatsRequest::Builder) {}));

  EXPECT_THAT(
    take(),
    ElementsAre(
      "queue",
      "0 overloaded: over the rate of the token; retry after 100 ms",
      "0 overloaded: over the rate of the token; retry after 100 ms"));
}

} // namespace
} // namespace codeq::test
