// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace codeq::worker {

/// Identifies a lease within this node. A shard never reuses a token, so a task that is delivered
/// again under a new lease, while its old handler still runs, has another key.
struct lease_key {
  /// The store that granted it: the number of the link to a coordinator that is alone. The shards
  /// of a cluster, which move between its coordinators, have that of its first link.
  std::size_t store = 0;
  shard_id shard{};
  fencing_token token{};

  friend auto operator<=>(const lease_key&, const lease_key&) = default;
};

struct lease_key_hash {
  std::size_t operator()(const lease_key& key) const noexcept {
    // Leases end in about the order of their tokens: neighbours share a cache line of buckets.
    auto place = (key.store << 16 ^ value(key.shard)) * 0x9E3779B97F4A7C15ull;
    return static_cast<std::size_t>(value(key.token) + place);
  }
};

} // namespace codeq::worker
