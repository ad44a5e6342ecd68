// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "coordinator/actors/frame_sinks.hpp"
#include "coordinator/actors/session_driver.hpp"
#include "support/deterministic_system.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace codeq::test {

/// The session of worker `w` with one shard.
class CoordinatorSession : public testing::Test {
protected:
  CoordinatorSession() { start(nullptr); }

  void start(std::shared_ptr<const security::principal> bearer);

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

  /// The connection of the peer, which is of the tenant `t`, reads a frame.
  template <class S>
  void read(const protocol::frame<S>& frame, schema::Role role = schema::Role::PRODUCER) {
    auto sink = coordinator::session_sink(role, {session_}, {"t", shares_});
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

/// The bearer of a token with one limit, 10 per second.
std::shared_ptr<const security::principal>
limited(security::role role, security::rate_scope scope, std::uint32_t burst = 10);

protocol::enqueue_request enqueue_of(std::uint64_t number, std::uint32_t tasks);

} // namespace codeq::test
