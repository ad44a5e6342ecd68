// SPDX-License-Identifier: Apache-2.0
#include "storage/retention_filter.hpp"

#include "storage/keyspace.hpp"
#include "storage/retention_codec.hpp"

#include <algorithm>
#include <utility>

namespace codeq::storage {

namespace {

const shard_horizon* find_horizon(const horizon_map& horizons, shard_id shard) {
  auto at = horizons.find(shard);
  return at == horizons.end() ? nullptr : at->second.get();
}

bool is_behind(const shard_horizon& horizon, const result<record_lifetime>& lifetime) {
  return lifetime && lifetime->position <= horizon.through && lifetime->is_past(horizon.at);
}

bool may_drop_outcome(
  const shard_horizon& horizon, core::log_position position, std::string_view value) {
  // In this order: the value need not be read for most.
  return position <= horizon.through
         && !std::binary_search(horizon.held.begin(), horizon.held.end(), position)
         && is_behind(horizon, decode_outcome_lifetime(value));
}

} // namespace

shard_horizon horizon_of(const core::shard_state& state, const core::checkpoint_taken& checkpoint) {
  shard_horizon horizon{checkpoint.position, checkpoint.at, {}};
  horizon.held.reserve(state.held_outcomes.size());
  for (const auto& [position, tasks] : state.held_outcomes)
    horizon.held.push_back(position);
  return horizon;
}

bool may_drop(const horizon_map& horizons, std::string_view key, std::string_view value) {
  if (auto outcome = outcome_key::decode(key)) {
    const auto* horizon = find_horizon(horizons, outcome->shard);
    return horizon && may_drop_outcome(*horizon, outcome->position, value);
  }
  if (auto fate = fate_key::decode(key)) {
    const auto* horizon = find_horizon(horizons, fate->shard);
    return horizon && is_behind(*horizon, decode_fate_lifetime(value));
  }
  return false;
}

void retention_horizons::publish(shard_id shard, std::shared_ptr<const shard_horizon> horizon) {
  std::lock_guard lock{mutex_};
  horizons_.insert_or_assign(shard, std::move(horizon));
}

horizon_map retention_horizons::all() const {
  std::lock_guard lock{mutex_};
  return horizons_;
}

} // namespace codeq::storage
