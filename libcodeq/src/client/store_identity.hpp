// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace codeq::client {

/// Identifies the store that a coordinator serves; requests may be repeated within one store only.
struct store_identity {
  std::uint64_t store = 0;
  std::uint16_t shard_count = 0;

  friend bool operator==(const store_identity&, const store_identity&) = default;
};

} // namespace codeq::client
