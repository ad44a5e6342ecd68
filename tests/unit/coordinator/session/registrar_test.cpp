// SPDX-License-Identifier: Apache-2.0
#include "coordinator/session/registrar.hpp"

#include "protocol/version.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace codeq::coordinator {
namespace {

/// Writes down what the registrar does with hellos.
class hello_port final : public registrar_port {
public:
  void open_session(std::uint64_t hello, session_opening) override { note("session", hello); }

  void open_stream(
    std::uint64_t hello,
    const protocol::node_introduction& node,
    const protocol::hello_ack&) override {
    note("stream of " + node.identity.name, hello);
  }

  void end_stream(std::uint64_t hello, const error& reason) override {
    note("ends as " + std::string(to_string(reason.code)), hello);
  }

  void note_full(const std::string&) override {}

  void refuse(std::uint64_t hello, const error& reason) override {
    note(std::string(to_string(reason.code)), hello);
    last_refusal = reason.context;
  }

  void probe(core::peer_id, std::uint64_t hello) override { note("probe", hello); }

  void end_session(core::peer_id, const error&) override {}

  [[nodiscard]] std::int64_t last_message(core::peer_id) const override { return 0; }

  void detach(core::peer_id) override {}

  void to_shards(core::command) override {}

  [[nodiscard]] std::shared_ptr<const security::principal>
  authenticate(const std::string& token) const override {
    return token == "secret" ? bearer : nullptr;
  }

  [[nodiscard]] result<void> review(const security::principal&) const override { return verdict; }

  void review_after(duration wait) override { reviews.push_back(wait); }

  [[nodiscard]] std::vector<std::string> take() { return std::exchange(lines_, {}); }

  /// Shows "secret".
  std::shared_ptr<const security::principal> bearer;
  std::string last_refusal;
  /// Whether tokens still hold.
  result<void> verdict;
  /// The waits until the next review of tokens.
  std::vector<duration> reviews;

private:
  void note(const std::string& what, std::uint64_t hello) {
    lines_.push_back(std::to_string(hello) + " " + what);
  }

  std::vector<std::string> lines_;
};

protocol::hello coordinator_hello(const std::string& cluster, const std::string& token = {}) {
  return protocol::hello::build([&](schema::Hello::Builder root) {
    root.setMinVersion(protocol::version);
    root.setMaxVersion(protocol::version);
    root.setRole(schema::Role::COORDINATOR);
    root.setName("c2");
    root.setIncarnation(1);
    root.setCluster(cluster);
    root.setToken({reinterpret_cast<const capnp::byte*>(token.data()), token.size()});
  });
}

std::vector<std::string> welcomed(const std::string& own, const std::string& other) {
  hello_port port;
  registrar_options options;
  options.cluster = own;
  registrar door{options, port};
  door.welcome(7, coordinator_hello(other), {});
  return port.take();
}

TEST(Registrar, CoordinatorOfTheClusterIsWelcome) {
  EXPECT_EQ(welcomed("prod", "prod"), (std::vector<std::string>{"7 stream of c2"}));
}

TEST(Registrar, CoordinatorsOfOtherClustersAreRefused) {
  EXPECT_EQ(welcomed("prod", "test"), (std::vector<std::string>{"7 unauthorized"}));
  EXPECT_EQ(welcomed("", "test"), (std::vector<std::string>{"7 unsupported"}));
}

protocol::hello producer_hello(const std::string& token) {
  return protocol::hello::build([&](schema::Hello::Builder root) {
    root.setMinVersion(protocol::version);
    root.setMaxVersion(protocol::version);
    root.setRole(schema::Role::PRODUCER);
    root.setName("p");
    root.setIncarnation(1);
    root.setToken({reinterpret_cast<const capnp::byte*>(token.data()), token.size()});
  });
}

TEST(Registrar, NodesShowATokenThatIsKnownWhereTokensAreTaken) {
  hello_port port;
  auto ada = std::make_shared<security::principal>();
  ada->tenant = "acme";
  ada->role = security::role::producer;
  port.bearer = ada;
  registrar_options options;
  options.takes_tokens = true;
  registrar door{options, port};

  door.welcome(1, producer_hello(""), {});
  EXPECT_EQ(port.last_refusal, "this coordinator requires a token");
  door.welcome(2, producer_hello("wrong"), {});
  EXPECT_EQ(
    port.last_refusal,
    "this coordinator does not know the token, or it has expired; the coordinator's log has the "
    "reason");
  door.welcome(3, producer_hello("secret"), {});

  EXPECT_EQ(
    port.take(), (std::vector<std::string>{"1 unauthorized", "2 unauthorized", "3 session"}));
}

TEST(Registrar, ReviewsItsSessionsEachSecondAsLongAsOneHasATokenThatExpires) {
  hello_port port;
  auto ada = std::make_shared<security::principal>();
  ada->tenant = "acme";
  ada->role = security::role::producer;
  auto bob = std::make_shared<security::principal>(*ada);
  bob->expires = timestamp{std::chrono::hours(1)};
  registrar_options options;
  options.takes_tokens = true;
  registrar door{options, port};
  const std::vector<duration> once{std::chrono::seconds(1)};

  port.bearer = ada;
  door.welcome(1, producer_hello("secret"), {});
  EXPECT_TRUE(port.reviews.empty()) << "the token of ada never expires";
  port.bearer = bob;
  door.welcome(2, producer_hello("secret"), {});
  door.welcome(3, producer_hello("secret"), {});
  EXPECT_EQ(std::exchange(port.reviews, {}), once);
  door.review_due();
  EXPECT_EQ(std::exchange(port.reviews, {}), once);

  door.forget(2);
  door.forget(3);
  door.review_due();

  EXPECT_TRUE(port.reviews.empty());
}

/// A coordinator that another one has reached with the token of an admin of all tenants.
class RegistrarOfStreams : public testing::Test {
protected:
  void connect(std::uint64_t hello, std::optional<timestamp> expires) {
    auto admin = std::make_shared<security::principal>();
    admin->tenant = security::everything;
    admin->role = security::role::admin;
    admin->expires = expires;
    port_.bearer = std::move(admin);
    door_.welcome(hello, coordinator_hello("prod", "secret"), {});
    EXPECT_EQ(port_.take(), std::vector<std::string>{std::to_string(hello) + " stream of c2"});
  }

  static registrar_options options() {
    registrar_options made;
    made.takes_tokens = true;
    made.cluster = "prod";
    return made;
  }

  hello_port port_;
  registrar door_{options(), port_};
};

TEST_F(RegistrarOfStreams, EndsThoseWhoseTokensHoldNoMoreOnce) {
  connect(7, std::nullopt);
  connect(8, std::nullopt);
  door_.forget_stream(8);
  door_.review_sessions();
  EXPECT_EQ(port_.take(), std::vector<std::string>{});

  port_.verdict = error{errc::unauthorized, "the token was removed"};
  door_.review_sessions();
  EXPECT_EQ(port_.take(), std::vector<std::string>{"7 ends as unauthorized"});
  door_.review_sessions();

  EXPECT_EQ(port_.take(), std::vector<std::string>{});
}

TEST_F(RegistrarOfStreams, ReviewsThemEachSecondAsLongAsOneHasATokenThatExpires) {
  connect(7, std::nullopt);
  EXPECT_TRUE(port_.reviews.empty());
  connect(8, timestamp{std::chrono::hours(1)});
  const std::vector<duration> once{std::chrono::seconds(1)};
  EXPECT_EQ(std::exchange(port_.reviews, {}), once);

  door_.review_due();
  EXPECT_EQ(std::exchange(port_.reviews, {}), once);
  door_.forget_stream(8);
  door_.review_due();

  EXPECT_TRUE(port_.reviews.empty());
}

TEST(Registrar, SingleUserSetupLooksAtNoToken) {
  hello_port port;
  registrar door{{}, port};

  door.welcome(1, producer_hello("wrong"), {});

  EXPECT_EQ(port.take(), std::vector<std::string>{"1 session"});
}

TEST(StreamFrame, OfAnotherCoordinatorHasMessagesOfReplicasOrIsItsGoodbye) {
  auto messages = protocol::replica_frame::build([](auto) {});
  auto goodbye = protocol::goodbye::build([](auto) {});
  auto other = protocol::enqueue_request::build([](auto) {});

  auto read = read_stream_frame(messages.to_wire());
  auto ended = read_stream_frame(goodbye.to_wire());
  auto refused = read_stream_frame(other.to_wire());

  ASSERT_TRUE(read);
  EXPECT_TRUE(*read);
  ASSERT_TRUE(ended);
  EXPECT_FALSE(*ended);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::protocol_error);
  EXPECT_EQ(
    refused.error().context,
    "a coordinator sends a frame of type "
      + std::to_string(protocol::frame_type<schema::EnqueueRequest>)
      + "; it may send replicas' messages only");
}

TEST(StreamFrame, MalformedOneIsRefused) {
  protocol::wire_frame frame{protocol::frame_type<schema::ReplicaFrame>, bytes(std::string("x"))};

  EXPECT_FALSE(read_stream_frame(frame));
}

} // namespace
} // namespace codeq::coordinator
