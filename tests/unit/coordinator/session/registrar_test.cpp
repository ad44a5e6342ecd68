// SPDX-License-Identifier: Apache-2.0
#include "coordinator/session/registrar.hpp"

#include "protocol/version.hpp"

#include <gtest/gtest.h>

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

  void note_full(const std::string&) override {}

  void refuse(std::uint64_t hello, const error& reason) override {
    note(std::string(to_string(reason.code)), hello);
  }

  void probe(core::peer_id, std::uint64_t hello) override { note("probe", hello); }

  void end_session(core::peer_id, const error&) override {}

  [[nodiscard]] std::int64_t last_message(core::peer_id) const override { return 0; }

  void detach(core::peer_id) override {}

  void to_shards(core::command) override {}

  [[nodiscard]] result<std::shared_ptr<const security::principal>>
  authenticate(const std::string&) const override {
    return std::shared_ptr<const security::principal>();
  }

  [[nodiscard]] result<void> review(const security::principal&) const override { return {}; }

  [[nodiscard]] std::vector<std::string> take() { return std::exchange(lines_, {}); }

private:
  void note(const std::string& what, std::uint64_t hello) {
    lines_.push_back(std::to_string(hello) + " " + what);
  }

  std::vector<std::string> lines_;
};

protocol::hello coordinator_hello(const std::string& cluster) {
  return protocol::hello::build([&](schema::Hello::Builder root) {
    root.setMinVersion(protocol::version);
    root.setMaxVersion(protocol::version);
    root.setRole(schema::Role::COORDINATOR);
    root.setName("c2");
    root.setIncarnation(1);
    root.setCluster(cluster);
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

} // namespace
} // namespace codeq::coordinator
