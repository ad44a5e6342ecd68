// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/limits.hpp"

#include "base/fair_share.hpp"
#include "http/server/gateway_limits.hpp"
#include "http/server/server.hpp"

#include <cstddef>
#include <functional>
#include <list>
#include <map>
#include <string>
#include <unordered_set>

namespace codeq::http {

class connection;

/// What the connections of one server share: places and bytes, fairly between remote addresses and
/// tenants. Used on the server's thread.
struct connection_hall {
  explicit connection_hall(server_options opts)
    : options(std::move(opts)),
      remotes(options.connections_max),
      tenants(options.connections_max) {}

  /// Whether the address may have one more connection; counts those that may not.
  [[nodiscard]] bool admit(const std::string& remote);

  /// The connection is open and not authenticated: when too many are, the oldest one of the address
  /// that has most of them is closed.
  void enter(connection& fresh, const std::string& remote);

  /// The connection was authenticated, or is gone.
  void leave_strangers(connection& one, const std::string& remote);

  /// Counts and logs a limit that was met.
  void note(std::string_view limit, std::uint64_t max, std::string_view kind, std::string_view who);

  server_options options;
  std::unordered_set<connection*> connections;
  base::fair_share remotes;
  /// Connections by the tenant of their latest token.
  base::fair_share tenants;
  /// Bytes of bodies that are being read or answered, by tenant, or else by remote address.
  base::fair_share body_bytes{limits::http_bodies_bytes_max};
  /// Bytes of bodies that are being written, by the same.
  base::fair_share answer_bytes{limits::http_answers_bytes_max};
  bool is_stopping = false;
  /// Called when the last connection ends while the server stops; may be empty.
  std::function<void()> on_empty;

private:
  /// Connections that are not authenticated, by remote address, the oldest first.
  std::map<std::string, std::list<connection*>> strangers_;
  std::size_t strangers_count_ = 0;
};

} // namespace codeq::http
