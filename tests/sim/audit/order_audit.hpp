// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/state/shard_state.hpp"
#include "core/turn/turn.hpp"
#include "sim/world.hpp"

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace codeq::sim {

/// Checks that priority and age hold over the shards of a coordinator. It looks at the tasks of
/// every shard after each of its turns, and compares each grant with what waited on other shards.
class order_audit {
public:
  using breach_function = std::function<void(const std::string& rule, const std::string& what)>;

  explicit order_audit(breach_function breach) : breach_(std::move(breach)) {}

  void turn_sealed(
    core::shard_state& state, const std::vector<core::event>& events, virtual_time now);

  /// The coordinator ended.
  void forget() { waiting_.clear(); }

private:
  /// The tasks of one priority of a queue that a shard could grant.
  struct waiting_tasks {
    virtual_time since{0};
    timestamp oldest = timestamp::max();
  };

  using place = std::pair<queue_address, std::uint8_t>;
  using waiting_map = std::map<place, waiting_tasks>;

  void check(core::shard_state& state, const core::batch_granted& grant, virtual_time now) const;
  void check(
    core::shard_state& state,
    const core::segment& granted,
    const place& at,
    virtual_time now) const;
  [[nodiscard]] static waiting_map waiting_on(core::shard_state& state, virtual_time now);

  breach_function breach_;
  std::map<shard_id, waiting_map> waiting_;
};

} // namespace codeq::sim
