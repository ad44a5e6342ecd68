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
  };

  void look_at(const core::shard_state& state);
  void check(const queue_address& queue) const;

  const world& world_;
  breach_function breach_;
  std::map<queue_address, std::map<shard_id, queue_view>> queues_;
};

} // namespace codeq::sim
