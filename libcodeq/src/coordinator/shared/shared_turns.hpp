// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/flow/fair_credit.hpp"

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

namespace codeq::coordinator {

/// The credits of the fairness keys of one queue and priority, which the shards of a coordinator
/// share. Shards use a credit from their own threads under a lock of its own, for a few
/// instructions; a key that becomes ready at a shard takes the lock of all.
///
/// A key that no shard has ready begins without credit, at the latest time of a grant. It is
/// remembered for a while, so that one which comes back in the same round has had its turn.
///
/// It refuses no key: its keys are ready at a shard, where `limits::fairness_keys_max` limits those
/// of a tenant, and as many others and 64. About 300 bytes and twice the name for each.
class shared_turns {
public:
  /// The credits of a key for a shard at which it becomes ready. The shard keeps them until its
  /// last ready task of the key has gone; a key that leaves another shard meanwhile may count as
  /// ready there.
  [[nodiscard]] core::key_credits join(std::string_view key);

  /// Number of keys that are remembered.
  [[nodiscard]] std::size_t keys();

private:
  struct rounds;
  class cell;

  /// The first part of a key, or the whole key when it has one part.
  struct group {
    std::shared_ptr<cell> turns;
    /// The rounds of the rings that have the keys with this first part.
    std::shared_ptr<rounds> of_keys;
  };

  /// Forgets keys that no shard has ready. Only `join` hands credits out, under the same lock, so
  /// that none of them comes into use meanwhile.
  void sweep();

  std::mutex mutex_;
  std::shared_ptr<rounds> of_groups_;
  std::unordered_map<std::string, group> groups_;
  std::unordered_map<std::string, std::shared_ptr<cell>> keys_;
  /// Number of keys at which the next sweep is worth its time.
  std::size_t sweep_at_ = 64;
};

} // namespace codeq::coordinator
