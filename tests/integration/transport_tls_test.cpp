// SPDX-License-Identifier: Apache-2.0
#include "base/tuning.hpp"
#include "integration/transport_fixture.hpp"
#include "support/certificate_authority.hpp"
#include "support/temporary_directory.hpp"
#include "transport/tls_stream.hpp"

#include <caf/all.hpp>

namespace codeq::test {

namespace {

using security::tls_side;
using security::tls_source;
using std::chrono::milliseconds;

/// An acceptor and links that use TLS, with certificates of one authority on both sides.
class TransportTls : public transport_fixture {
protected:
  TransportTls() {
    auto files = ours_.issue("coordinator", "IP:127.0.0.1");
    files.require_peer_certificate = true;
    options.tls = tls_source::open(files, tls_side::server).value();
    link_tls = tls_source::open(ours_.issue("worker", "DNS:w1"), tls_side::client).value();
  }

  /// Connects a link whose hello is accepted.
  actors::link_up connect_and_accept() {
    links_.push_back(connect());
    hello_ = expect_hello();
    accept(hello_);
    return expect<actors::link_up>(link_events);
  }

  temporary_directory directory_;
  certificate_authority ours_{directory_.path(), "ours"};
  certificate_authority others_{directory_.path(), "others"};
  std::vector<actors::link_actor> links_;
  actors::peer_hello hello_;
};

TEST_F(TransportTls, FramesFlowBothWaysInTheirOrder) {
  listen();
  auto up = connect_and_accept();

  for (std::uint32_t i = 1; i <= 2000; ++i)
    caf::anon_send(up.connection, make_claim(i).to_wire());
  caf::anon_send(hello_.connection, make_batch(1000).to_wire());

  for (std::uint32_t i = 1; i <= 2000; ++i)
    ASSERT_EQ(credits_of(expect<protocol::claim_request>(accepted_events)), i);
  EXPECT_GT(expect<protocol::task_batch>(link_events).body().size(), 1000u);
}

TEST_F(TransportTls, TheLargestFrameArrivesWholeAndAligned) {
  listen();
  auto up = connect_and_accept();

  caf::anon_send(hello_.connection, make_batch(tuning::frame_bytes_max - 512).to_wire());

  auto batch = expect<protocol::task_batch>(link_events);
  auto size = batch.read(
    [](auto reader) -> result<std::size_t> { return reader.getTasks().getBytes().size(); });
  ASSERT_TRUE(size) << to_string(size.error());
  EXPECT_EQ(*size, tuning::frame_bytes_max - 512);
}

TEST_F(TransportTls, GoodbyeArrivesBeforeTheEnd) {
  listen();
  connect_and_accept();

  caf::anon_send(links_.back(), actors::close_link{{errc::going_away, "the test ends"}});

  expect<protocol::goodbye>(accepted_events);
  EXPECT_EQ(expect<actors::connection_lost>(accepted_events).reason.code, errc::disconnected);
  wait_until_gone(caf::actor_cast<caf::strong_actor_ptr>(links_.back()));
}

TEST_F(TransportTls, CoordinatorOfAnotherNameIsNotTrusted) {
  options.tls =
    tls_source::open(ours_.issue("elsewhere", "IP:127.0.0.2"), tls_side::server).value();
  listen();
  links_.push_back(connect());

  auto down = expect<actors::link_down>(link_events);

  EXPECT_EQ(down.reason.code, errc::unauthorized);
  EXPECT_NE(down.reason.context.find("mismatch"), std::string::npos) << down.reason.context;
  EXPECT_FALSE(hellos.pop(milliseconds(50)));
}

TEST_F(TransportTls, NodeWithoutACertificateIsNotLetIn) {
  link_tls = tls_source::open({{}, {}, ours_.file()}, tls_side::client).value();
  listen();
  links_.push_back(connect());

  expect<actors::link_down>(link_events);

  EXPECT_FALSE(hellos.pop(milliseconds(50)));
}

TEST_F(TransportTls, PeerWithoutTlsIsClosed) {
  listen();
  raw_peer peer(port);

  peer.send(make_hello().to_wire());

  EXPECT_TRUE(peer.is_closed());
  EXPECT_FALSE(hellos.pop(milliseconds(50)));
}

TEST_F(TransportTls, LinkWithTlsGivesUpAPeerWithout) {
  options.tls = nullptr;
  listen();
  links_.push_back(connect());

  expect<actors::link_down>(link_events);

  EXPECT_FALSE(hellos.pop(milliseconds(50)));
}

TEST_F(TransportTls, HandshakeThatStopsHalfWayIsClosedInTime) {
  settings.hello_timeout = milliseconds(200);
  listen();
  auto client = transport::tls_stream::connect(*link_tls->current(), "127.0.0.1");
  ASSERT_TRUE(client->shake_hands());
  std::vector<char> first;
  client->take_to_send(first);
  raw_peer silent(port);
  raw_peer half(port);
  raw_peer whole(port);

  half.send(std::string(first.data(), first.size() / 2));
  whole.send(std::string(first.data(), first.size()));

  EXPECT_TRUE(silent.is_closed());
  EXPECT_TRUE(half.is_closed());
  EXPECT_TRUE(whole.is_closed());
  EXPECT_FALSE(hellos.pop(milliseconds(50)));
}

TEST_F(TransportTls, NewCertificateIsForNewConnections) {
  listen();
  auto up = connect_and_accept();
  auto hello = hello_;

  // The same files, now issued by an authority that the links do not trust.
  auto files = others_.issue("coordinator", "IP:127.0.0.1");
  ASSERT_TRUE(options.tls->reload());
  links_.push_back(connect());
  auto down = expect<actors::link_down>(link_events);

  EXPECT_EQ(down.reason.code, errc::unauthorized);
  caf::anon_send(up.connection, make_claim(5).to_wire());
  EXPECT_EQ(credits_of(expect<protocol::claim_request>(accepted_events)), 5u);
}

} // namespace

} // namespace codeq::test
