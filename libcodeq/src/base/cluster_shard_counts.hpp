// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/time.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace codeq::base {

/// The role of a coordinator for a shard of its cluster.
enum class shard_role : std::uint8_t {
  /// It has no copy.
  none,
  /// Its copy is not in sync, or not whole.
  learner,
  in_sync,
  /// It is the primary, and does not serve yet.
  starting,
  primary,
};

/// How far a copy is behind the primary.
struct copy_lag {
  std::string node;
  /// Number of changes that it has not confirmed.
  std::uint64_t changes = 0;
  /// For how long it has lacked the oldest of them.
  duration lasts{0};
};

/// A shard of a cluster as one coordinator knows it; for the metrics and the readiness.
struct cluster_shard_counts {
  std::uint16_t shard = 0;
  shard_role role = shard_role::none;
  std::uint32_t epoch = 0;
  std::uint32_t copies = 0;
  std::uint32_t copies_in_sync = 0;
  /// New tasks are refused while fewer copies are in sync.
  std::uint32_t copies_needed = 0;
  /// Time without a primary: the one that lasts, and all since the copy is here. Zero without a
  /// copy, since it is not known then.
  duration without_primary{0};
  duration without_primary_total{0};
  /// How late the other copies are that have confirmed something; only of a primary.
  std::vector<copy_lag> lags{};
};

} // namespace codeq::base
