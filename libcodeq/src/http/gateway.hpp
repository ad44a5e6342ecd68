// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"

#include "http/gateway_actor.hpp"
#include "http/server.hpp"

#include <caf/actor_system.hpp>

#include <cstdint>
#include <memory>
#include <string>

namespace codeq::http {

struct gateway_options {
  /// `address:port`; port 0 lets the system choose.
  std::string listen;
  gateway_actor_options actor;
  std::shared_ptr<server_meter> meter = std::make_shared<server_meter>();
};

/// The HTTP gateway of a coordinator: a server on a thread of its own, and the actor that asks the
/// shards.
class gateway_node {
public:
  /// Listens. Errors: `invalid_argument` for an address that is none, `unavailable`.
  [[nodiscard]] static result<std::unique_ptr<gateway_node>>
  start(caf::actor_system& system, gateway_options options);

  ~gateway_node();
  gateway_node(const gateway_node&) = delete;
  gateway_node& operator=(const gateway_node&) = delete;

  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }

  /// Answers what is open, then closes everything; at most about a second. Call before the shards
  /// stop.
  void stop();

private:
  gateway_node(caf::actor_system& system, gateway_actor actor)
    : system_(system), actor_(std::move(actor)) {}

  caf::actor_system& system_;
  gateway_actor actor_;
  std::unique_ptr<server> server_;
  std::uint16_t port_ = 0;
};

} // namespace codeq::http
