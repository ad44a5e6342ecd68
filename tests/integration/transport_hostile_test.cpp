// SPDX-License-Identifier: Apache-2.0
#include "base/tuning.hpp"
#include "integration/transport_fixture.hpp"
#include "support/seed.hpp"
#include "transport/admission.hpp"
#include "transport/connection.hpp"

#include <caf/all.hpp>
#include <caf/io/all.hpp>

#include <fstream>
#include <random>

#include <unistd.h>

namespace codeq::test {

namespace {

using std::chrono::milliseconds;

constexpr std::size_t hostile_connections = 200;
constexpr std::size_t growth_bytes_max = 16u << 20;

std::string random_bytes(std::size_t count) {
  std::mt19937_64 random{choose_seed()};
  std::string text(count, '\0');
  for (auto& c : text)
    c = static_cast<char>(random());
  return text;
}

/// A frame header of the given length, type and flags, in the machine's byte order (little-endian).
std::string header(std::uint32_t length, std::uint16_t type, std::uint16_t flags = 0) {
  std::string text(8, '\0');
  std::memcpy(text.data(), &length, 4);
  std::memcpy(text.data() + 4, &type, 2);
  std::memcpy(text.data() + 6, &flags, 2);
  return text;
}

std::size_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::size_t total = 0;
  std::size_t resident = 0;
  statm >> total >> resident;
  return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

struct attack {
  const char* name;
  std::string bytes;
};

std::vector<attack> attacks() {
  auto hello_type = protocol::frame_type<schema::Hello>;
  return {
    {"RandomBytes", random_bytes(5000)},
    {"FourGibibytesAnnounced", header(0xfffffff8, hello_type) + std::string(64, 'x')},
    {"SixteenMebibytesAnnounced", header(tuning::frame_bytes_max, hello_type)},
    {"Silence", ""},
    {"HalfAHeader", header(64, hello_type).substr(0, 5)},
    {"HalfAHello", header(64, hello_type) + std::string(24, '\0')},
    {"UnknownTypeBeforeHello", header(8, 999) + std::string(8, '\0')},
    {"ClaimBeforeHello",
     header(8, protocol::frame_type<schema::ClaimRequest>) + std::string(8, '\0')},
    {"OddLength", header(13, hello_type) + std::string(13, '\0')},
    {"NoBody", header(0, hello_type)},
    {"FlagsSet", header(8, hello_type, 1) + std::string(8, '\0')},
    {"AnotherProtocol", "GET / HTTP/1.1\r\nHost: example\r\n\r\n"},
  };
}

class TransportHostileTest : public transport_fixture, public testing::WithParamInterface<attack> {
protected:
  TransportHostileTest() {
    settings.hello_timeout = milliseconds(100);
    options.unauthenticated_connections_max = hostile_connections;
  }

  void attack_at_once() {
    std::vector<raw_peer> peers;
    for (std::size_t i = 0; i < hostile_connections; ++i)
      peers.emplace_back(port).send(GetParam().bytes);
    for (auto& peer : peers)
      ASSERT_TRUE(peer.is_closed());
  }
};

TEST_P(TransportHostileTest, IsClosedAndCostsNoMemoryAndDisturbsNobody) {
  listen();
  auto link = connect();
  accept(expect_hello());
  auto up = expect<actors::link_up>(link_events);
  auto before = resident_bytes();

  attack_at_once();

  auto after = resident_bytes();
  EXPECT_LT(after, before + growth_bytes_max);
  EXPECT_FALSE(hellos.pop(milliseconds(0))) << "no hello may have come through";
  caf::anon_send(up.connection, make_claim(1).to_wire());
  expect<protocol::claim_request>(accepted_events);
}

INSTANTIATE_TEST_SUITE_P(
  Attacks, TransportHostileTest, testing::ValuesIn(attacks()), [](const auto& each) {
    return std::string(each.param.name);
  });

class TransportLimitTest : public transport_fixture {};

/// An acceptor that ends after it has admitted a connection and before the connection's first step.
caf::behavior ending_acceptor(
  caf::io::broker* self,
  int fd,
  const actors::registrar_actor& registrar,
  const transport::connection_settings& settings) {
  self->add_doorman(fd);
  return {[self, registrar, settings](const caf::io::new_connection_msg& fresh) {
    auto places = std::make_shared<transport::admission>(8, 8);
    auto place = places->admit("127.0.0.1");
    EXPECT_TRUE(place);
    EXPECT_TRUE(places->stop().empty());
    self->fork(
      transport::accepted_connection,
      fresh.handle,
      transport::accepted_options{registrar, settings, std::move(place->ticket), nullptr});
    self->quit();
  }};
}

TEST_F(TransportLimitTest, NothingIsReadBeforeTheRegistrarHasDecided) {
  settings.probe_timeout = milliseconds(50);
  listen();
  raw_peer peer(port);
  peer.send(make_hello().to_wire());
  peer.send(header(0xfffffff8, 0));
  auto hello = expect_hello();
  caf::scoped_actor self{*system};

  // A probe passes through the connection's mailbox, after everything that the connection has read.
  bool alive = true;
  self->request(hello.connection, std::chrono::seconds(10), actors::probe_peer{})
    .receive([&](bool answer) { alive = answer; }, [](const caf::error&) {});
  EXPECT_FALSE(alive);
  accept(hello);

  EXPECT_EQ(expect<actors::connection_lost>(accepted_events).reason.code, errc::protocol_error);
}

TEST_F(TransportLimitTest, AHelloThatTheRegistrarLeavesUnansweredTimesOut) {
  settings.hello_timeout = milliseconds(50);
  listen();
  raw_peer peer(port);
  peer.send(make_hello().to_wire());
  expect_hello();

  EXPECT_TRUE(peer.is_closed());
}

TEST_F(TransportLimitTest, AFrameOverTheLimitClosesAnAuthenticatedConnection) {
  listen();
  auto peer = authenticated_peer();

  peer->send(header(tuning::frame_bytes_max + 8, protocol::frame_type<schema::ClaimRequest>));

  EXPECT_EQ(expect<actors::connection_lost>(accepted_events).reason.code, errc::protocol_error);
  EXPECT_TRUE(peer->is_closed());
}

TEST_F(TransportLimitTest, AConnectionOverTheUnauthenticatedLimitTakesThePlaceOfTheOldest) {
  options.unauthenticated_connections_max = 2;
  settings.hello_timeout = std::chrono::hours(1);
  listen();
  std::vector<raw_peer> waiting;
  waiting.emplace_back(port);
  waiting.emplace_back(port);

  waiting.emplace_back(port);

  EXPECT_TRUE(waiting.front().is_closed());
  waiting.back().send(make_hello().to_wire());
  accept(expect_hello());
  ASSERT_TRUE(waiting.back().receive());
  raw_peer fourth(port);
  fourth.send(make_hello("w4").to_wire());
  expect_hello();
}

TEST_F(TransportLimitTest, AnEndedConnectionGivesItsPlaceBack) {
  options.connections_max = 1;
  listen();
  { auto first = authenticated_peer(); }
  expect<actors::connection_lost>(accepted_events);

  auto second = authenticated_peer();
  raw_peer third(port);

  EXPECT_TRUE(third.is_closed());
}

TEST_F(TransportLimitTest, AnAcceptorThatEndsClosesThoseThatWait) {
  settings.hello_timeout = std::chrono::hours(1);
  listen();
  raw_peer waiting(port);
  raw_peer said_hello(port);
  said_hello.send(make_hello().to_wire());
  expect_hello();

  stop_listening();

  EXPECT_TRUE(waiting.is_closed());
  EXPECT_TRUE(said_hello.is_closed());
}

TEST_F(TransportLimitTest, AnAcceptorThatEndsBeforeAConnectionBeginsHasItClosed) {
  settings.hello_timeout = std::chrono::hours(1);
  auto listening = transport::listen_on("127.0.0.1", 0);
  ASSERT_TRUE(listening) << to_string(listening.error());
  system->middleman().spawn_broker(
    ending_acceptor, listening->socket.release(), registrar, settings);

  raw_peer silent(listening->port);

  EXPECT_TRUE(silent.is_closed());
}

} // namespace

} // namespace codeq::test
