// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"
#include "codeq/time.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace codeq::client {

/// A change of a client's connection.
struct connection_news {
  bool up = false;
  /// Number of shards of the connected store; 0 when not up.
  std::uint16_t shard_count = 0;
  /// All coordinators refuse this client; no further attempt is made.
  bool all_refuse = false;
  /// The reason when the connection is not up.
  error reason;
  /// No coordinator accepts connections at present.
  bool unreachable = false;
  /// When up: see `HelloAck.tenant`.
  std::string tenant{};
  /// When up: the coordinator belongs to a cluster.
  bool is_of_cluster = false;
};

/// Called on the client's thread whenever a connection was made, was lost or could not be made.
using connection_listener = std::function<void(const connection_news&)>;

/// There is no connection to these coordinators; with `waited`, so far.
[[nodiscard]] inline error no_connection(
  const std::vector<std::string>& addresses, const error& reason, std::optional<duration> waited) {
  std::string text = "no connection to ";
  for (std::size_t i = 0; i < addresses.size(); ++i)
    text += (i == 0 ? "" : ", ") + addresses[i];
  if (waited)
    text += " within " + std::to_string(waited->count()) + " ms";
  if (reason.code != errc::none)
    text += ": " + reason.context;
  return {waited ? errc::disconnected : reason.code, text};
}

} // namespace codeq::client
