// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"

#include <cstdint>
#include <functional>

namespace codeq::client {

/// Identifies the store that a coordinator serves; requests may be repeated within one store only.
struct store_identity {
  std::uint64_t store = 0;
  std::uint16_t shard_count = 0;

  friend bool operator==(const store_identity&, const store_identity&) = default;
};

/// How requests of one kind reach the shards of a cluster. Empty without a connection.
template <class Request>
struct shard_way {
  /// Sends a request to the coordinator of the shard. @pre reaches(shard)
  std::function<void(shard_id, const Request&)> send{};
  /// Whether the coordinator of the shard is connected.
  std::function<bool(shard_id)> reaches{};

  /// The way to a coordinator that serves all shards.
  template <class Send>
  [[nodiscard]] static shard_way to_all(Send send) {
    return {
      [send = std::move(send)](shard_id, const Request& request) { send(request); },
      [](shard_id) { return true; }};
  }

  explicit operator bool() const { return static_cast<bool>(send); }
};

} // namespace codeq::client
