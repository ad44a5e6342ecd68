// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"

#include "core/state/shard_state.hpp"
#include "core/turn/turn.hpp"
#include "sim/world.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace codeq::sim {

/// Checks that no task is leased while its queue has as many leases over all shards as
/// `max_leased` allows. It counts the leases after each turn, and knows nothing of slots.
///
/// While a maximum changes, shards may have slots of the one before: there nothing is checked.
///
/// Likewise no task is added to a queue that has as many live ones as `max_depth` allows; those
/// that are added whatever the depth count apart.
class maximum_audit {
public:
  using breach_function = std::function<void(const std::string& rule, const std::string& what)>;

  maximum_audit(const world& all, breach_function breach)
    : world_(all), breach_(std::move(breach)) {}

  void turn_sealed(core::shard_state& state, const std::vector<core::event>& events);

  /// The coordinator ended. Its leases are counted again from its next turns.
  void forget();

private:
  struct queue_view {
    std::uint64_t max_leased = 0;
    virtual_time since{};
    std::uint64_t leased = 0;
    std::uint64_t max_depth = 0;
    virtual_time depth_since{};
    std::uint64_t depth = 0;
  };

  void look_at(const core::shard_state& state);
  void check(const queue_address& queue) const;
  void note_exempt(core::shard_state& state, const core::event& e);
  void check_depth(const queue_address& queue);

  const world& world_;
  breach_function breach_;
  std::map<queue_address, std::map<shard_id, queue_view>> queues_;
  /// Number of tasks that were added whatever the depth since the queue had none.
  std::map<queue_address, std::uint64_t> exempt_;
};

} // namespace codeq::sim
