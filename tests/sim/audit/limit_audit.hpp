// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/state/shard_state.hpp"
#include "core/turn/turn.hpp"
#include "sim/timeline.hpp"

#include <deque>
#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace codeq::sim {

/// Checks what limits allow, from the tasks and grants of the shards alone: how many leases a key
/// has at once, how many of its tasks start within a time, over crashes of the coordinator as well,
/// and that nothing of a closed key starts. Keys are of one shard each.
class limit_audit {
public:
  using breach_function = std::function<void(const std::string& rule, const std::string& what)>;

  explicit limit_audit(breach_function breach) : breach_(std::move(breach)) {}

  void turn_sealed(
    core::shard_state& state, const std::vector<core::event>& events, virtual_time now);

  /// The coordinator ended; what was closed is read again from the shards.
  void forget() { closed_.clear(); }

private:
  /// Tenant, limit and key.
  using key_name = std::tuple<std::string, std::string, std::string>;

  void check_leases(core::shard_state& state);
  void check_starts(core::shard_state& state, const core::batch_granted& grant, virtual_time now);
  void note_start(
    const key_name& key, const start_rate& rate, std::uint32_t cost, virtual_time now);

  breach_function breach_;
  /// The latest starts of keys whose rate is limited.
  std::map<key_name, std::deque<std::pair<virtual_time, std::uint32_t>>> starts_;
  std::map<key_name, timestamp> closed_;
};

} // namespace codeq::sim
