// SPDX-License-Identifier: Apache-2.0
#include "coordinator/session.hpp"
#include "protocol/error_code.hpp"
#include "support/deterministic_system.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace codeq::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// The refusal of a request about a queue or a task, in words.
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

actors::shard_actor::behavior_type
pretended_shard(actors::shard_actor::pointer, std::vector<std::string>* lines) {
  auto note = [lines](std::string line) { lines->push_back(std::move(line)); };
  return {
    [](const actors::from_peer<schema::EnqueueRequest>&) {},
    [](const actors::from_peer<schema::HeartbeatRequest>&) {},
    [](const actors::from_peer<schema::ResultRequest>&) {},
    [](const actors::from_peer<schema::ResumeRequest>&) {},
    [](const actors::from_peer<schema::AwaitRequest>&) {},
    [](const actors::attach_session&) {},
    [](const actors::detach_session&) {},
    [note](const actors::add_credits& m) { note("credits " + std::to_string(m.credits)); },
    [note](const actors::take_credits& m) { note("take " + std::to_string(m.credits)); },
    [note](const actors::end_leases& m) { note(m.replaced ? "replaced" : "released"); },
    [](const actors::from_peer<schema::StatusRequest>&) {},
    [](const actors::from_peer<schema::ChangeRequest>&) {},
    [note](const actors::from_peer<schema::ForceRequest>&) { note("force"); },
    [note](const actors::from_peer<schema::QueueRequest>&) { note("queue"); },
    [](const actors::from_peer<schema::BulkRequest>&) {},
    [](const actors::from_peer<schema::ListRequest>&) {},
    [](const actors::from_peer<schema::ExplainRequest>&) {},
    [](const actors::from_peer<schema::EventsRequest>&) {},
    [](actors::ask_shard_stats) { return coordinator_stats{}; },
    [](actors::stop_shard) { return true; },
  };
}

/// The session of worker `w` with one shard.
class CoordinatorSession : public testing::Test {
protected:
  CoordinatorSession() {
    coordinator::session_options options;
    options.peer = 1;
    options.node.role = schema::Role::WORKER;
    options.node.identity = {"w", 1};
    options.worker = std::make_shared<const worker_identity>(options.node.identity);
    options.connection = system_.own(system_.get().spawn(pretended_connection, &lines_));
    options.shards = {system_.own(system_.get().spawn(pretended_shard, &lines_))};
    session_ = system_.own(system_.get().spawn(coordinator::session, options));
    system_.run();
  }

  template <class Message>
  void receive(const Message& message) {
    caf::anon_send(session_, message);
    system_.run();
  }

  void claim(std::uint32_t credits) {
    receive(protocol::claim_request::build(
      [&](schema::ClaimRequest::Builder root) { root.setCredits(credits); }));
  }

  std::vector<std::string> take() { return std::exchange(lines_, {}); }

  std::vector<std::string> lines_;
  deterministic_system system_;
  actors::session_actor session_;
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
  receive(actors::credits_returned{shard_id{}, 8});
  receive(actors::outgoing_pressure{false});

  EXPECT_THAT(take(), IsEmpty());
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

} // namespace
} // namespace codeq::test
