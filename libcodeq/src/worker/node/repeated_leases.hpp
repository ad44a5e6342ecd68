// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "worker/node/lease_key.hpp"

#include <cstddef>
#include <unordered_set>
#include <utility>

namespace codeq::worker {

/// The latest leases that were delivered again, or whose shard may do so: one more copy of such a
/// lease may be on its way, held up by the network, when its task is over. Takes up to 10 MB.
class repeated_leases {
public:
  void add(const lease_key& key) {
    latest_.insert(key);
    if (latest_.size() >= latest_max)
      before_ = std::exchange(latest_, {});
  }

  [[nodiscard]] bool contains(const lease_key& key) const {
    return latest_.contains(key) || before_.contains(key);
  }

private:
  /// As many are remembered at least, and twice as many at most.
  static constexpr std::size_t latest_max = 65'536;

  std::unordered_set<lease_key, lease_key_hash> latest_;
  std::unordered_set<lease_key, lease_key_hash> before_;
};

} // namespace codeq::worker
