// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/limits.hpp"

#include "base/fair_share.hpp"
#include "base/random.hpp"
#include "base/tuning.hpp"
#include "http/server/gateway_limits.hpp"
#include "http/server/request_ids.hpp"
#include "http/server/server.hpp"

#include <cstddef>
#include <functional>
#include <list>
#include <map>
#include <string>
#include <unordered_set>

namespace codeq::http {

class connection;

/// The state that the connections of one server share: places and bytes, which remote addresses and
/// tenants share fairly. Used on the server's thread.
struct connection_hall {
  explicit connection_hall(server_options opts)
    : options(std::move(opts)),
      remotes(options.connections_max),
      tenants(options.connections_max) {}

  /// True when the address may have one more connection; counts the refused ones.
  [[nodiscard]] bool admit(const std::string& remote);

  /// Adds an open connection that is not authenticated. When there are too many of these, the
  /// oldest one of the address that has most of them is closed.
  void enter(connection& fresh, const std::string& remote);

  /// Removes a connection that was authenticated, or has ended, from the unauthenticated ones.
  void leave_strangers(connection& one, const std::string& remote);

  /// Counts and logs a limit that was reached.
  void note(std::string_view limit, std::uint64_t max, std::string_view kind, std::string_view who);

  server_options options;
  request_ids ids{base::random_bits()};
  std::unordered_set<connection*> connections;
  base::fair_share remotes;
  /// The connections, counted for the tenant of their latest token.
  base::fair_share tenants;
  /// The bytes of request bodies that are being read or answered, counted for the tenant or else
  /// for the remote address.
  base::fair_share body_bytes{tuning::http_bodies_bytes_max};
  bool is_stopping = false;
  /// Called when the last connection ends while the server stops; may be empty.
  std::function<void()> on_empty;

private:
  /// The connections that are not authenticated, keyed by remote address, the oldest first.
  std::map<std::string, std::list<connection*>> strangers_;
  std::size_t strangers_count_ = 0;
};

} // namespace codeq::http
