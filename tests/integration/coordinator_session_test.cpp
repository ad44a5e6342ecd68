// SPDX-License-Identifier: Apache-2.0

#include "base/tuning.hpp"
#include "coordinator/actors/counts_desk.hpp"
#include "coordinator/actors/frame_sinks.hpp"
#include "coordinator/actors/session_driver.hpp"
#include "protocol/error_code.hpp"
#include "protocol/reply.hpp"
#include "support/deterministic_system.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace codeq::test {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;
using namespace std::chrono_literals;

/// The answer to a request for workers, in words.
std::string say_workers(const protocol::workers_reply& reply) {
  return *reply.read([](auto from) -> result<std::string> {
    auto text = std::to_string(from.getNumber()) + " "
                + std::string(to_string(protocol::from_schema(from.getCode())));
    for (auto worker : from.getWorkers())
      text += " " + std::string(worker.getName().cStr())
              + (worker.getDraining() ? " is drained" : " is at work");
    return text;
  });
}

/// The refusal of a request for a queue or a task, in words.
std::string say_refusal(const protocol::wire_frame& frame) {
  auto read = [](auto reply) -> result<std::string> {
    return std::to_string(reply.getNumber()) + " "
           + std::string(to_string(protocol::from_schema(reply.getCode()))) + ": "
           + std::string(reply.getContext().cStr());
  };
  if (frame.type == protocol::frame_type<schema::QueueReply>)
    return *protocol::queue_reply::parse(frame.body)->read(read);
  if (frame.type == protocol::frame_type<schema::ChangeReply>)
    return *protocol::change_reply::parse(frame.body)->read(read);
  if (frame.type == protocol::frame_type<schema::StatsReply>)
    return *protocol::stats_reply::parse(frame.body)->read(read);
  if (frame.type == protocol::frame_type<schema::WorkersReply>)
    return say_workers(*protocol::workers_reply::parse(frame.body));
  if (frame.type == protocol::frame_type<schema::StatusReply>)
    return *protocol::status_reply::parse(frame.body)->read(read);
  if (frame.type == protocol::frame_type<schema::EnqueueReply>)
    return *protocol::enqueue_reply::parse(frame.body)->read(read) + " after "
           + std::to_string(*protocol::enqueue_reply::parse(frame.body)
                               ->read([](auto reply) -> result<std::uint32_t> {
                                 return reply.getRetryAfterMs();
                               }));
  return "frame " + std::to_string(frame.type);
}

actors::connection_actor::behavior_type
pretended_connection(actors::connection_actor::pointer, std::vector<std::string>* lines) {
  return {
    [lines](const protocol::wire_frame& frame) { lines->push_back(say_refusal(frame)); },
    [](const actors::connection_accepted&) {},
    [](actors::probe_peer) { return true; },
    [](const actors::close_connection&) {},
  };
}

std::string say(const core::command& command) {
  if (const auto* m = std::get_if<core::claim>(&command))
    return "credits " + std::to_string(m->credits);
  if (const auto* m = std::get_if<core::revoke_credits>(&command))
    return "take " + std::to_string(m->credits);
  if (const auto* m = std::get_if<core::change_queues>(&command))
    return "serve " + m->queues.at(0).queue;
  if (const auto* m = std::get_if<core::note_command>(&command))
    return "audit of " + m->tenant + ": " + std::string(to_string(m->action)) + " " + m->detail;
  if (const auto* m = std::get_if<core::end_session>(&command))
    return "session " + std::to_string(m->producer.low) + " ends";
  return std::holds_alternative<core::release_worker>(command) ? "released" : "another command";
}

std::string say(const protocol::shard_request& request) {
  if (std::holds_alternative<protocol::enqueue_request>(request))
    return "enqueue";
  if (std::holds_alternative<protocol::force_request>(request))
    return "force";
  return std::holds_alternative<protocol::queue_request>(request) ? "queue" : "another request";
}

coordinator::shard_actor::behavior_type pretended_shard(
  coordinator::shard_actor::pointer,
  std::vector<std::string>* lines,
  std::vector<coordinator::enqueue_share>* held) {
  auto note = [lines](std::string line) { lines->push_back(std::move(line)); };
  return {
    [note, held](const coordinator::peer_request& m) {
      note(say(m.request));
      held->push_back(m.share);
    },
    [note](const coordinator::shard_command& m) { note(say(m.what)); },
    [](const coordinator::attach_peer&) {},
    [](const coordinator::detach_peer&) {},
    [](coordinator::ask_shard_stats) { return base::coordinator_counts{}; },
    [](coordinator::stop_shard) { return true; },
  };
}

/// The session of worker `w` with one shard.
class CoordinatorSession : public testing::Test {
protected:
  CoordinatorSession() { start(nullptr); }

  void start(std::shared_ptr<const security::principal> bearer) {
    coordinator::session_driver_options options;
    options.session.bearer = std::move(bearer);
    options.session.peer = 1;
    options.session.worker = std::make_shared<const worker_identity>(worker_identity{"w", 1});
    options.limiter = std::make_shared<security::rate_limiter>();
    options.outgoing = outgoing_;
    options.unread = unread_;
    options.drained = drained_;
    options.clock = std::make_shared<base::manual_clock>();
    options.gauges = [] { return std::map<std::string, std::int64_t>{{"g", 1}}; };
    options.connection = system_.own(system_.get().spawn(pretended_connection, &lines_));
    options.shards = {system_.own(system_.get().spawn(pretended_shard, &lines_, &held_))};
    options.counts = system_.own(system_.get().spawn(
      coordinator::drive_counts_desk,
      caf::actor_cast<caf::strong_actor_ptr>(options.connection),
      options.shards));
    session_ = system_.own(system_.get().spawn(coordinator::drive_session, options));
    system_.run();
  }

  /// The peer sends a frame.
  template <class S>
  void receive(const protocol::frame<S>& frame) {
    receive(protocol::session_request{frame});
  }

  template <class Message>
  void receive(const Message& message) {
    caf::anon_send(session_, message);
    system_.run();
  }

  /// The peer's connection reads an enqueue for the tenant `t`.
  void read(const protocol::enqueue_request& frame) {
    auto sink = coordinator::session_sink(schema::Role::PRODUCER, {session_}, {"t", shares_});
    ASSERT_TRUE(sink(frame.to_wire()));
    system_.run();
  }

  void claim(std::uint32_t credits) {
    receive(protocol::claim_request::build(
      [&](schema::ClaimRequest::Builder root) { root.setCredits(credits); }));
  }

  std::vector<std::string> take() { return std::exchange(lines_, {}); }

  std::vector<std::string> lines_;
  std::shared_ptr<coordinator::enqueue_shares> shares_ =
    std::make_shared<coordinator::enqueue_shares>();
  /// Shares of the requests that the shard received.
  std::vector<coordinator::enqueue_share> held_;
  std::shared_ptr<actors::outgoing_progress> outgoing_ =
    std::make_shared<actors::outgoing_progress>();
  std::shared_ptr<coordinator::unread_shares> unread_ =
    std::make_shared<coordinator::unread_shares>();
  std::shared_ptr<coordinator::drained_workers> drained_ =
    std::make_shared<coordinator::drained_workers>();
  deterministic_system system_;
  coordinator::session_actor session_;
};

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

/// The bearer of a token with one limit, 10 per second.
std::shared_ptr<const security::principal>
limited(security::role role, security::rate_scope scope, std::uint32_t burst = 10) {
  security::principal who;
  who.tenant = "t";
  who.role = role;
  who.rates[static_cast<std::size_t>(scope)] = {10, burst};
  return std::make_shared<const security::principal>(who);
}

protocol::enqueue_request enqueue_of(std::uint64_t number, std::uint32_t tasks) {
  return protocol::enqueue_request::build([&](schema::EnqueueRequest::Builder root) {
    root.setNumber(number);
    root.initTasks().initEnds(tasks);
  });
}

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

TEST_F(CoordinatorSession, LeavesTheSharesOfARequestThatWasPassedOnWhenItEnds) {
  read(enqueue_of(1, 1));

  receive(actors::connection_lost{});
  EXPECT_GT(shares_->used(), 0u);
  held_.clear();

  EXPECT_EQ(shares_->used(), 0u);
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
