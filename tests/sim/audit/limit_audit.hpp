// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/state/shard_state.hpp"
#include "core/turn/turn.hpp"
#include "sim/audit/slot_audit.hpp"
#include "sim/world.hpp"

#include <deque>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace codeq::sim {

/// Checks what limits allow, from the tasks and grants of the shards alone: how many leases a key
/// has at once, how many of its tasks start within a time, over crashes of the coordinator as well,
/// that nothing of a closed key starts, that new tasks have the limits of their queue, and that no
/// slot idles.
class limit_audit {
public:
  using breach_function = std::function<void(const std::string& rule, const std::string& what)>;

  limit_audit(const world& all, const breach_function& breach)
    : breach_(breach), slots_(all, breach) {}

  void turn_sealed(core::shard_state& state, const std::vector<core::event>& events);

  /// The lease was told to a worker; one that is not may be undone by a crash, and then was no
  /// start.
  void grant_left(shard_id shard, fencing_token token);

  /// The coordinator ended; what was closed is read again from the shards.
  void forget() {
    leased_.clear();
    closed_.clear();
    decided_.clear();
    slots_.forget();
  }

private:
  /// A start that counts against a rate.
  struct start {
    limit_key key;
    start_rate rate;
    std::uint32_t cost = 1;
    timestamp at;
  };

  void check_new_tasks(const core::shard_state& state, const std::vector<core::event>& events);
  void check_leases(core::shard_state& state);
  void check_starts(core::shard_state& state, const core::batch_granted& grant);
  void note(const start& one);

  breach_function breach_;
  /// The leases of each key, by shard.
  std::map<shard_id, leases_of_keys> leased_;
  /// The latest starts of keys whose rate is limited, in shard time, and their costs.
  std::map<limit_key, std::deque<std::pair<timestamp, std::uint32_t>>> starts_;
  /// By shard: each has its own time, and closes what it is told to.
  std::map<std::pair<shard_id, limit_key>, timestamp> closed_;
  /// Starts that no worker was told of.
  std::multimap<std::pair<shard_id, fencing_token>, start> decided_;
  slot_audit slots_;
};

} // namespace codeq::sim
