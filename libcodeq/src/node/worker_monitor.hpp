// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"

#include "actors/actors.hpp"
#include "http/server/server.hpp"
#include "security/principal.hpp"
#include "security/tls_context.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace codeq::node {

struct worker_monitor_options {
  /// `address:port`; port 0 lets the system choose.
  std::string listen;
  /// The token that requests for metrics have to show; empty: none.
  std::string token{};
  /// Null without TLS.
  std::shared_ptr<security::tls_source> tls{};
  actors::dispatcher_actor dispatcher;
};

/// Serves `/metrics` and `/healthz` of a worker over HTTP, on a thread of its own. The dispatcher
/// answers, so that a dispatcher that hangs is noticed.
class worker_monitor {
public:
  /// Errors: `invalid_argument` for a malformed address, or for one that is not loopback without a
  /// token and TLS; `unavailable`.
  [[nodiscard]] static result<std::unique_ptr<worker_monitor>>
  start(worker_monitor_options options);

  [[nodiscard]] std::uint16_t port() const noexcept { return server_->port(); }

private:
  explicit worker_monitor(std::unique_ptr<http::server> server) : server_(std::move(server)) {}

  std::unique_ptr<http::server> server_;
};

} // namespace codeq::node
