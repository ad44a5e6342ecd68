// SPDX-License-Identifier: Apache-2.0
#include "base/rfc3339.hpp"
#include "coordinator/actors/registrar_driver.hpp"
#include "security/authenticator.hpp"
#include "security/token.hpp"
#include "support/deterministic_system.hpp"
#include "support/temporary_directory.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace codeq::test {
namespace {

using testing::ElementsAre;

/// Tell a fake connection how to answer its probes; no real frame has these types.
constexpr std::uint16_t says_alive = 0xff01;
constexpr std::uint16_t says_dead = 0xff00;

/// A fake connection: records its messages, and answers probes when the test asks for it.
struct pretended_connection {
  static constexpr const char* name = "pretended connection";

  std::vector<std::string>* lines = nullptr;
  std::vector<caf::typed_response_promise<bool>>* probes = nullptr;
};

actors::connection_actor::behavior_type connection_behavior(
  actors::connection_actor::stateful_pointer<pretended_connection> self,
  std::vector<std::string>* lines,
  std::vector<caf::typed_response_promise<bool>>* probes,
  caf::strong_actor_ptr* owner) {
  return {
    [probes](const protocol::wire_frame& frame) {
      if (frame.type == says_alive || frame.type == says_dead)
        for (auto& probe : std::exchange(*probes, {}))
          probe.deliver(frame.type == says_alive);
    },
    [lines, owner](const actors::connection_accepted& m) {
      lines->push_back("accepted");
      *owner = m.owner;
    },
    [self, lines, probes](actors::probe_peer) -> caf::result<bool> {
      lines->push_back("probed");
      auto promise = self->make_response_promise<bool>();
      probes->push_back(promise);
      return promise;
    },
    [lines](const actors::close_connection& m) {
      lines->push_back("closed " + std::string(to_string(m.reason.code)));
    },
  };
}

protocol::session_request a_claim() {
  return protocol::claim_request::build(
    [](schema::ClaimRequest::Builder root) { root.setSetsQueues(true); });
}

class CoordinatorRegistrar : public testing::Test {
protected:
  CoordinatorRegistrar()
    : registrar_(system_.own(system_.get().spawn(
      coordinator::drive_registrar,
      coordinator::registrar_driver_options{
        {0, 1, 2},
        {},
        [] { return std::map<std::string, std::int64_t>{}; },
        std::make_shared<base::manual_clock>()}))) {}

  /// A process of worker `name` connects; with a tenant if one is given, and then with that token.
  void hello(
    const std::string& connection,
    std::uint64_t incarnation,
    const std::string& token = {},
    const std::string& tenant = {},
    const std::string& name = "w") {
    welcome(connection, protocol::hello::build([&](schema::Hello::Builder root) {
      root.setMinVersion(1);
      root.setMaxVersion(1);
      root.setName(name);
      root.setIncarnation(incarnation);
      root.setRole(schema::Role::WORKER);
      root.setToken({reinterpret_cast<const capnp::byte*>(token.data()), token.size()});
      if (tenant.empty())
        return;
      auto queue = root.initQueues(1)[0];
      queue.setTenant(tenant);
      queue.setQueue("q");
    }));
  }

  /// A connection reads a hello.
  void welcome(const std::string& connection, const protocol::hello& message) {
    auto spawned = system_.own(system_.get().spawn(
      connection_behavior, &lines_[connection], &probes_[connection], &owners_[connection]));
    connections_[connection] = spawned;
    caf::anon_send(registrar_, actors::peer_hello{message, spawned, "somewhere"});
    system_.run();
  }

  void answer_probes(const std::string& connection, bool is_alive) {
    caf::anon_send(
      connections_[connection], protocol::wire_frame{is_alive ? says_alive : says_dead, {}});
    system_.run();
  }

  std::vector<std::string> take(const std::string& connection) {
    return std::exchange(lines_[connection], {});
  }

  std::map<std::string, std::vector<std::string>> lines_;
  std::map<std::string, std::vector<caf::typed_response_promise<bool>>> probes_;
  /// The sessions of the accepted connections.
  std::map<std::string, caf::strong_actor_ptr> owners_;
  deterministic_system system_;
  std::map<std::string, actors::connection_actor> connections_;
  coordinator::registrar_internal_actor registrar_;
};

TEST_F(CoordinatorRegistrar, LeavesANameToTheLiving) {
  hello("a", 1);
  hello("b", 2);
  answer_probes("a", true);

  EXPECT_THAT(take("a"), ElementsAre("accepted", "probed"));
  EXPECT_THAT(take("b"), ElementsAre("closed name_in_use"));
}

TEST_F(CoordinatorRegistrar, GivesANameToOneOfTwoThatAskAtOnce) {
  hello("a", 1);
  hello("b", 2);
  hello("c", 3);
  answer_probes("a", false);
  EXPECT_THAT(take("b"), ElementsAre("accepted", "probed"));
  answer_probes("b", true);

  EXPECT_THAT(take("c"), ElementsAre("closed name_in_use"));
  EXPECT_THAT(take("b"), ElementsAre());
}

TEST_F(CoordinatorRegistrar, KeepsAWorkerThatReconnectsWhileItIsProbed) {
  hello("a", 1);
  hello("b", 2);
  hello("a again", 1);
  answer_probes("a", false);
  answer_probes("a again", true);

  EXPECT_THAT(take("a again"), ElementsAre("accepted", "probed"));
  EXPECT_THAT(take("b"), ElementsAre("closed name_in_use"));
}

TEST_F(CoordinatorRegistrar, LetsNobodyInWhileItStops) {
  hello("a", 1);
  hello("b", 2);
  caf::anon_send(registrar_, coordinator::stop_registrar{});
  system_.run();
  answer_probes("a", false);

  EXPECT_THAT(take("b"), ElementsAre("closed going_away"));
}

/// The same with tokens; a bearer's role and tenant are encoded in the token.
class GuardedRegistrar : public CoordinatorRegistrar {
protected:
  GuardedRegistrar() {
    write("worker-a worker-b worker-d worker-e producer-a");
    tokens_ = security::token_source::open(file_).value();
    coordinator::registrar_driver_options options;
    options.registrar.shard_count = 0;
    options.gauges = [] { return std::map<std::string, std::int64_t>{}; };
    options.clock = std::make_shared<base::manual_clock>();
    security::authenticator::options access;
    access.tokens = tokens_;
    access.now = [this] { return wall_; };
    options.access = std::make_shared<const security::authenticator>(access);
    options.limiter = std::make_shared<security::rate_limiter>();
    options.registrar.connections_max = connections_max;
    options.registrar.cluster = "prod";
    options.meter = meter_;
    registrar_ = system_.own(system_.get().spawn(coordinator::drive_registrar, options));
  }

  /// Replaces the content of the token file.
  void write(const std::string& tokens) {
    std::ofstream file(file_);
    std::istringstream names(tokens);
    for (std::string name; names >> name;) {
      auto dash = name.find('-');
      auto role = name.substr(0, dash);
      auto tenant = name.substr(dash + 1);
      file << "sha256=" << security::to_text(security::digest_of(name))
           << " subject=s tenant=" << (role == "admin" ? "*" : tenant) << " role=" << role
           << (role == "worker" ? " queues=q" : "")
           << (name.ends_with("-short") ? " expires=2026-05-20T10:00:00Z" : "") << '\n';
    }
  }

  void reload() {
    ASSERT_TRUE(tokens_->reload());
    caf::anon_send(registrar_, coordinator::tokens_replaced{});
    system_.run();
  }

  /// Another coordinator of the cluster connects.
  void hello_of_coordinator(const std::string& connection, const std::string& token) {
    welcome(connection, protocol::hello::build([&](schema::Hello::Builder root) {
              root.setMinVersion(1);
              root.setMaxVersion(1);
              root.setName(connection);
              root.setIncarnation(1);
              root.setRole(schema::Role::COORDINATOR);
              root.setCluster("prod");
              root.setToken({reinterpret_cast<const capnp::byte*>(token.data()), token.size()});
            }));
  }

  static constexpr std::size_t connections_max = 4;

  std::shared_ptr<observe::limit_meter> meter_ = std::make_shared<observe::limit_meter>();
  temporary_directory directory_;
  std::filesystem::path file_ = directory_.path() / "tokens";
  std::shared_ptr<security::token_source> tokens_;
  /// A second before the tokens with `-short` in their name expire.
  timestamp wall_ = base::parse_rfc3339("2026-05-20T09:59:59Z").value();
};

TEST_F(GuardedRegistrar, LetsNobodyInWithoutATokenThatFits) {
  hello("none", 1);
  hello("unknown", 2, "worker-c", "c");
  hello("producer", 3, "producer-a", "a");
  hello("other tenant", 4, "worker-a", "b");
  hello("good", 5, "worker-a", "a");

  EXPECT_THAT(take("none"), ElementsAre("closed unauthorized"));
  EXPECT_THAT(take("unknown"), ElementsAre("closed unauthorized"));
  EXPECT_THAT(take("producer"), ElementsAre("closed unauthorized"));
  EXPECT_THAT(take("other tenant"), ElementsAre("closed unauthorized"));
  EXPECT_THAT(take("good"), ElementsAre("accepted"));
}

TEST_F(GuardedRegistrar, OneTenantLeavesHalfOfTheConnectionsToOthers) {
  for (int i = 1; i <= 3; ++i)
    hello("a" + std::to_string(i), 1, "worker-a", "a", "w" + std::to_string(i));
  hello("b", 1, "worker-b", "b");

  EXPECT_THAT(take("a2"), ElementsAre("accepted"));
  EXPECT_THAT(take("a3"), ElementsAre("closed overloaded"));
  EXPECT_THAT(take("b"), ElementsAre("accepted"));
  EXPECT_EQ(1u, meter_->counts()["connections_max"]);
}

TEST_F(GuardedRegistrar, TenantWithMostLosesAnIdleConnectionToOneThatHasNone) {
  hello("a1", 1, "worker-a", "a", "w1");
  hello("a2", 1, "worker-a", "a", "w2");
  hello("b", 1, "worker-b", "b");
  hello("d", 1, "worker-d", "d");
  ASSERT_THAT(take("d"), ElementsAre("accepted")) << "all four are taken";
  caf::anon_send(caf::actor_cast<caf::actor>(owners_.at("a1")), a_claim());
  system_.run();
  take("a1");
  take("a2");

  hello("e", 1, "worker-e", "e");

  EXPECT_THAT(take("e"), ElementsAre("accepted"));
  EXPECT_THAT(take("a1"), ElementsAre());
  EXPECT_THAT(take("a2"), ElementsAre("closed overloaded"));
  EXPECT_EQ(1u, meter_->counts()["connections_max"]);
  hello("a3", 1, "worker-a", "a", "w3");
  EXPECT_THAT(take("a3"), ElementsAre("closed overloaded"));
}

TEST_F(GuardedRegistrar, LeavesTheNamesOfOtherTenantsAlone) {
  hello("a", 1, "worker-a", "a");
  hello("b", 2, "worker-b", "b");
  EXPECT_THAT(take("a"), ElementsAre("accepted"));
  EXPECT_THAT(take("b"), ElementsAre("accepted"));

  hello("a too", 3, "worker-a", "a");

  EXPECT_THAT(take("a"), ElementsAre("probed"));
  EXPECT_THAT(take("b"), ElementsAre());
}

TEST_F(GuardedRegistrar, EndsSessionsOfRevokedTokensOnly) {
  hello("a", 1, "worker-a", "a");
  hello("b", 2, "worker-b", "b");
  write("worker-b producer-a");
  reload();

  EXPECT_THAT(take("a"), ElementsAre("accepted", "closed unauthorized"));
  EXPECT_THAT(take("b"), ElementsAre("accepted"));
  hello("a again", 3, "worker-a", "a");
  EXPECT_THAT(take("a again"), ElementsAre("closed unauthorized"));
}

TEST_F(GuardedRegistrar, EndsStreamsOfCoordinatorsWhoseTokensExpireOrAreRevoked) {
  write("admin-a admin-b-short");
  reload();
  hello_of_coordinator("a", "admin-a");
  hello_of_coordinator("b", "admin-b-short");
  EXPECT_THAT(take("a"), ElementsAre("accepted"));
  EXPECT_THAT(take("b"), ElementsAre("accepted"));

  wall_ += std::chrono::seconds(1);
  system_.advance(std::chrono::seconds(1));
  EXPECT_THAT(take("b"), ElementsAre("closed going_away")) << "it may have a newer token";
  EXPECT_THAT(take("a"), ElementsAre());
  write("worker-a");
  reload();

  EXPECT_THAT(take("a"), ElementsAre("closed unauthorized"));
  EXPECT_THAT(take("b"), ElementsAre());
}

TEST_F(GuardedRegistrar, EndsSessionsWhoseTokensExpire) {
  write("worker-a worker-b-short");
  reload();
  hello("a", 1, "worker-a", "a");
  hello("b", 2, "worker-b-short", "b-short");

  system_.advance(std::chrono::seconds(1));
  EXPECT_THAT(take("b"), ElementsAre("accepted"));
  wall_ += std::chrono::seconds(1);
  system_.advance(std::chrono::seconds(1));

  EXPECT_THAT(take("a"), ElementsAre("accepted"));
  EXPECT_THAT(take("b"), ElementsAre("closed going_away")) << "it may have a newer token";
  hello("b again", 3, "worker-b-short", "b-short");
  EXPECT_THAT(take("b again"), ElementsAre("closed unauthorized"));
}

} // namespace
} // namespace codeq::test
