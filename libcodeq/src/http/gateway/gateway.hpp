// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"

#include "http/gateway/gateway_actor.hpp"
#include "http/server/server.hpp"

#include <caf/actor_system.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace codeq::http {

class server_unit;

struct gateway_options {
  /// `address:port`; port 0 lets the system choose.
  std::string listen;
  /// Another address that serves only `GET /metrics`, without a token; empty for none.
  std::string metrics_listen{};
  /// Secures `listen`; null without TLS.
  std::shared_ptr<security::tls_source> tls{};
  gateway_actor_options actor;
  std::size_t connections_max = limits::http_connections_max;
  std::shared_ptr<server_meter> meter = std::make_shared<server_meter>();
};

/// The HTTP gateway of a coordinator: a server on its own thread, and the actor that asks the
/// shards, on the same thread.
class gateway_node {
public:
  /// Starts the gateway. Errors: `invalid_argument` for a malformed address, `unavailable`.
  [[nodiscard]] static result<std::unique_ptr<gateway_node>>
  start(caf::actor_system& system, gateway_options options);

  ~gateway_node();
  gateway_node(const gateway_node&) = delete;
  gateway_node& operator=(const gateway_node&) = delete;

  [[nodiscard]] std::uint16_t port() const noexcept { return server_ ? server_->port() : 0; }

  /// The port of `metrics_listen`; 0 when that is empty.
  [[nodiscard]] std::uint16_t metrics_port() const noexcept {
    return metrics_server_ ? metrics_server_->port() : 0;
  }

  /// Answers the open requests, then closes all connections; takes at most about a second. Call it
  /// before the shards stop.
  void stop();

private:
  gateway_node(
    caf::actor_system& system,
    gateway_actor actor,
    std::shared_ptr<server_loop> loop,
    std::shared_ptr<server_unit> unit)
    : system_(system),
      actor_(std::move(actor)),
      loop_(std::move(loop)),
      unit_(std::move(unit)) {}

  /// Lets the actors of the server's thread end. @pre the thread has ended
  void wait_for_rest();

  /// Starts a server at `address` that tells the actor when a client goes away.
  [[nodiscard]] result<std::unique_ptr<server>>
  listen(const std::string& address, server_options options);

  caf::actor_system& system_;
  gateway_actor actor_;
  std::shared_ptr<server_loop> loop_;
  std::shared_ptr<server_unit> unit_;
  std::unique_ptr<server> server_;
  std::unique_ptr<server> metrics_server_;
};

} // namespace codeq::http
