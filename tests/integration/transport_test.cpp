// SPDX-License-Identifier: Apache-2.0
#include "base/tuning.hpp"
#include "integration/transport_fixture.hpp"
#include "observe/log.hpp"
#include "protocol/error_code.hpp"

#include <caf/all.hpp>

#include <thread>

namespace codeq::test {

namespace {

using std::chrono::milliseconds;

class TransportTest : public transport_fixture {
protected:
  /// The reason in the next `Refused` frame.
  errc refusal_of(raw_peer& peer) {
    auto frame = peer.receive();
    if (!frame || frame->type != protocol::frame_type<schema::Refused>)
      return errc::none;
    auto refused = protocol::refused::parse(frame->body);
    auto code = refused->read(
      [](auto reader) -> result<errc> { return protocol::from_schema(reader.getCode()); });
    return *code;
  }

  /// Waits until no reference to the actor is left.
  bool is_freed(const caf::weak_actor_ptr& actor) {
    auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (actor.lock() && std::chrono::steady_clock::now() < until)
      std::this_thread::yield();
    return !actor.lock();
  }
};

TEST_F(TransportTest, TypedFramesFlowBothWaysOnceTheHelloIsAccepted) {
  listen();
  auto link = connect();
  auto hello = expect_hello();
  accept(hello);
  auto up = expect<actors::link_up>(link_events);
  EXPECT_EQ(up.link, 7u);

  caf::anon_send(up.connection, make_claim(3).to_wire());
  EXPECT_EQ(credits_of(expect<protocol::claim_request>(accepted_events)), 3u);
  caf::anon_send(hello.connection, make_batch(1000).to_wire());
  EXPECT_GT(expect<protocol::task_batch>(link_events).body().size(), 1000u);
}

TEST_F(TransportTest, FramesLeaveInTheOrderSent) {
  listen();
  auto link = connect();
  accept(expect_hello());
  auto up = expect<actors::link_up>(link_events);

  for (std::uint32_t i = 1; i <= 2000; ++i)
    caf::anon_send(up.connection, make_claim(i).to_wire());

  for (std::uint32_t i = 1; i <= 2000; ++i)
    ASSERT_EQ(credits_of(expect<protocol::claim_request>(accepted_events)), i);
}

TEST_F(TransportTest, TheLargestFrameArrivesWholeAndAligned) {
  listen();
  auto link = connect();
  auto hello = expect_hello();
  accept(hello);
  expect<actors::link_up>(link_events);

  caf::anon_send(hello.connection, make_batch(tuning::frame_bytes_max - 512).to_wire());

  auto batch = expect<protocol::task_batch>(link_events);
  auto size = batch.read(
    [](auto reader) -> result<std::size_t> { return reader.getTasks().getBytes().size(); });
  ASSERT_TRUE(size) << to_string(size.error());
  EXPECT_EQ(*size, tuning::frame_bytes_max - 512);
}

TEST_F(TransportTest, AnUnauthorizedLinkIsDownUntilTheCoordinatorKnowsItsToken) {
  listen();
  auto link = connect();
  refuse(expect_hello(), errc::unauthorized);

  auto down = expect<actors::link_down>(link_events);
  EXPECT_EQ(down.reason, (error{errc::unauthorized, "said the test"}));
  EXPECT_TRUE(down.is_refused);
  accept(expect_hello());
  expect<actors::link_up>(link_events);
}

TEST_F(TransportTest, AReasonThatTheRegistrarHasLoggedIsNotLoggedAgain) {
  observe::init_log(observe::log_level::info);
  listen();
  const auto has_line = [this](bool is_logged) {
    testing::internal::CaptureStderr();
    raw_peer peer(port);
    peer.send(make_hello().to_wire());
    refuse(expect_hello(), errc::unauthorized, is_logged);
    // The connection logs before it ends.
    EXPECT_TRUE(peer.is_closed());
    observe::flush_log();
    const auto lines = testing::internal::GetCapturedStderr();
    return lines.find("connection closes") != std::string::npos;
  };

  EXPECT_TRUE(has_line(false));
  EXPECT_FALSE(has_line(true));
  observe::init_log(observe::log_level::warn);
}

TEST_F(TransportTest, ALinkIsDownForGoodOnceANewerProcessHasItsName) {
  listen();
  auto link = connect();
  refuse(expect_hello(), errc::superseded);

  EXPECT_TRUE(expect<actors::link_down>(link_events).is_refused);
  wait_until_gone(caf::actor_cast<caf::strong_actor_ptr>(link));
}

TEST_F(TransportTest, ALinkWhoseNameIsInUseTriesAgain) {
  listen();
  auto link = connect();
  refuse(expect_hello(), errc::name_in_use);

  auto down = expect<actors::link_down>(link_events);
  EXPECT_EQ(down.reason.code, errc::name_in_use);
  EXPECT_FALSE(down.is_refused);
  accept(expect_hello());
  expect<actors::link_up>(link_events);
}

TEST_F(TransportTest, ALinkReconnectsWhenTheCoordinatorComesBack) {
  listen();
  auto link = connect();
  auto hello = expect_hello();
  accept(hello);
  expect<actors::link_up>(link_events);
  auto goodbye =
    protocol::goodbye::build([](auto root) { root.setCode(schema::ErrorCode::GOING_AWAY); });

  stop_listening();
  caf::anon_send(hello.connection, goodbye.to_wire());
  caf::anon_send(hello.connection, actors::close_connection{{errc::going_away, "stopping"}});

  expect<protocol::goodbye>(link_events);
  EXPECT_FALSE(expect<actors::link_down>(link_events).is_refused);
  EXPECT_FALSE(expect<actors::link_down>(link_events).is_refused); // Nobody listens.
  listen(port);
  accept(expect_hello());
  wait_for<actors::link_up>(link_events);
}

TEST_F(TransportTest, AClosedLinkSaysGoodbyeAndEnds) {
  listen();
  auto link = connect();
  accept(expect_hello());
  expect<actors::link_up>(link_events);

  caf::anon_send(link, actors::close_link{{errc::none, "drained"}});

  expect<protocol::goodbye>(accepted_events);
  expect<actors::connection_lost>(accepted_events);
  wait_until_gone(caf::actor_cast<caf::strong_actor_ptr>(link));
}

TEST_F(TransportTest, ALinkEndsWithItsOwner) {
  listen();
  auto link = connect();
  accept(expect_hello());
  expect<actors::link_up>(link_events);

  caf::anon_send_exit(owners.front(), caf::exit_reason::kill);

  wait_until_gone(caf::actor_cast<caf::strong_actor_ptr>(link));
  expect<actors::connection_lost>(accepted_events);
}

TEST_F(TransportTest, ALinkThatWaitsToRedialDoesNotHoldUpTheEnd) {
  reconnect_delay_min = reconnect_delay_max = std::chrono::hours(1);
  listen();
  stop_listening();
  auto link = connect();
  expect<actors::link_down>(link_events);

  caf::anon_send(link, actors::close_link{{errc::none, "stopping"}});

  wait_until_gone(caf::actor_cast<caf::strong_actor_ptr>(link));
}

TEST_F(TransportTest, AConnectionEndsWithItsOwner) {
  listen();
  auto peer = authenticated_peer();

  caf::anon_send_exit(owners.front(), caf::exit_reason::kill);

  EXPECT_TRUE(peer->is_closed());
}

TEST_F(TransportTest, WhatHasEndedIsFreedOnceItsDeadlinesAreDue) {
  // Some of these timers are due after the connection's end.
  settings.linger = milliseconds(10);
  settings.hello_timeout = settings.ping_interval = milliseconds(200);
  listen();
  raw_peer peer(port);
  peer.send(make_hello().to_wire());
  auto hello = expect_hello();
  accept(hello);
  auto connection = caf::actor_cast<caf::weak_actor_ptr>(hello.connection);
  auto listener = caf::actor_cast<caf::weak_actor_ptr>(acceptor.actor);

  caf::anon_send(hello.connection, actors::close_connection{{errc::going_away, "test"}});
  hello.connection = nullptr;
  EXPECT_TRUE(peer.is_closed());
  stop_listening();

  EXPECT_TRUE(is_freed(connection));
  EXPECT_TRUE(is_freed(listener));
}

TEST_F(TransportTest, AFrameThatTheOwnerDoesNotTakeClosesTheConnection) {
  listen();
  auto peer = authenticated_peer();

  peer->send(make_batch(8).to_wire());

  EXPECT_EQ(refusal_of(*peer), errc::protocol_error);
  EXPECT_TRUE(peer->is_closed());
  EXPECT_EQ(expect<actors::connection_lost>(accepted_events).reason.code, errc::protocol_error);
}

TEST_F(TransportTest, APingIsAnsweredAtOnce) {
  listen();
  auto peer = authenticated_peer();

  peer->send(protocol::ping::build([](auto root) { root.setNumber(99); }).to_wire());

  auto answer = peer->receive();
  ASSERT_TRUE(answer);
  ASSERT_EQ(answer->type, protocol::frame_type<schema::Pong>);
  auto pong = protocol::pong::parse(answer->body);
  auto number = pong->read([](auto reader) -> result<std::uint64_t> { return reader.getNumber(); });
  EXPECT_EQ(*number, 99u);
}

TEST_F(TransportTest, ASilentPeerIsPingedAndThenDropped) {
  settings.ping_interval = milliseconds(20);
  settings.silent_peer_max = milliseconds(100);
  listen();
  auto peer = authenticated_peer();

  auto ping = peer->receive();

  ASSERT_TRUE(ping);
  EXPECT_EQ(ping->type, protocol::frame_type<schema::Ping>);
  EXPECT_TRUE(peer->is_closed());
  EXPECT_EQ(expect<actors::connection_lost>(accepted_events).reason.code, errc::disconnected);
}

TEST_F(TransportTest, PingsKeepAnIdleLinkAlive) {
  settings.ping_interval = milliseconds(10);
  settings.silent_peer_max = milliseconds(200);
  listen();
  auto link = connect();
  auto hello = expect_hello();
  accept(hello);
  expect<actors::link_up>(link_events);

  EXPECT_FALSE(link_events.pop(milliseconds(500))) << "an idle link must stay up";
}

TEST_F(TransportTest, AProbeTellsTheLivingFromTheStopped) {
  settings.probe_timeout = milliseconds(100);
  listen();
  caf::scoped_actor self{*system};
  auto answer_of = [&](const actors::connection_actor& connection) {
    std::optional<bool> alive;
    self->request(connection, std::chrono::seconds(10), actors::probe_peer{})
      .receive([&](bool answer) { alive = answer; }, [](const caf::error&) {});
    return alive;
  };
  auto link = connect();
  auto living = expect_hello();
  accept(living);
  raw_peer peer(port);
  peer.send(make_hello("w2").to_wire());
  auto stopped = expect_hello();
  accept(stopped);

  EXPECT_EQ(answer_of(living.connection), true);
  EXPECT_EQ(answer_of(stopped.connection), false);
}

TEST_F(TransportTest, AProbeIsAnsweredWhenTheConnectionCloses) {
  settings.probe_timeout = std::chrono::hours(1);
  listen();
  raw_peer peer(port);
  peer.send(make_hello().to_wire());
  auto hello = expect_hello();
  accept(hello);
  caf::scoped_actor self{*system};

  auto pending = self->request(hello.connection, std::chrono::seconds(10), actors::probe_peer{});
  caf::anon_send(hello.connection, actors::close_connection{{errc::superseded, "test"}});

  std::optional<bool> alive;
  pending.receive([&](bool answer) { alive = answer; }, [](const caf::error&) {});
  EXPECT_EQ(alive, false);
}

TEST_F(TransportTest, TheOwnerHearsOfOutgoingPressureAndOfItsEnd) {
  settings.outgoing_bytes_high = 8u << 20;
  settings.outgoing_bytes_low = 1u << 20;
  listen();
  raw_peer peer(port);
  peer.send(make_hello().to_wire());
  auto hello = expect_hello();
  accept(hello);
  ASSERT_TRUE(peer.receive());

  constexpr std::size_t batches = 13;
  for (std::size_t i = 0; i < batches; ++i)
    caf::anon_send(hello.connection, make_batch(1u << 20).to_wire());

  EXPECT_TRUE(expect<actors::outgoing_pressure>(accepted_events).high);
  for (std::size_t i = 0; i < batches; ++i)
    ASSERT_TRUE(peer.receive());
  EXPECT_FALSE(expect<actors::outgoing_pressure>(accepted_events).high);
}

TEST_F(TransportTest, APeerThatNeverReadsIsDropped) {
  settings.outgoing_bytes_high = 2u << 20;
  settings.outgoing_bytes_low = 1u << 20;
  listen();
  raw_peer peer(port);
  peer.send(make_hello().to_wire());
  auto hello = expect_hello();
  accept(hello);

  for (std::size_t i = 0; i < 30; ++i)
    caf::anon_send(hello.connection, make_batch(1u << 20).to_wire());

  EXPECT_EQ(wait_for<actors::connection_lost>(accepted_events).reason.code, errc::overloaded);
  EXPECT_TRUE(peer.is_closed());
}

TEST_F(TransportTest, APortInUseIsNamed) {
  listen();

  options.port = port;
  auto second = transport::spawn_acceptor(*system, options);

  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, errc::unavailable);
  EXPECT_NE(second.error().context.find("127.0.0.1"), std::string::npos);
  EXPECT_NE(second.error().context.find(std::to_string(port)), std::string::npos);
}

TEST_F(TransportTest, AConnectionHandedOverTooLateTellsItsNewOwner) {
  listen();
  raw_peer peer(port);
  peer.send(make_hello().to_wire());
  auto hello = expect_hello();

  caf::anon_send(hello.connection, actors::close_connection{{errc::going_away, "test"}});
  accept(hello);

  EXPECT_EQ(expect<actors::connection_lost>(accepted_events).reason.code, errc::going_away);
}

} // namespace

} // namespace codeq::test
