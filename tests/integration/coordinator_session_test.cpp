// SPDX-License-Identifier: Apache-2.0
#include "coordinator/session.hpp"
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

actors::connection_actor::behavior_type pretended_connection(actors::connection_actor::pointer) {
  return {
    [](const protocol::wire_frame&) {},
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
    [](const actors::from_peer<schema::ForceRequest>&) {},
    [](const actors::from_peer<schema::QueueRequest>&) {},
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
    options.connection = system_.own(system_.get().spawn(pretended_connection));
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

} // namespace
} // namespace codeq::test
