// SPDX-License-Identifier: Apache-2.0
#include "base/queue_maximum.hpp"
#include "core/state/apply.hpp"
#include "core/turn/turn.hpp"

#include <map>
#include <optional>
#include <utility>
#include <vector>

/// Takes over the settings of queues and limits that another shard carries here.
namespace codeq::core {

namespace {

std::map<queue_address, queue_settings>
wanted_queues(const shard_state& state, const adopt_settings& c) {
  std::map<queue_address, queue_settings> wanted;
  for (const auto& [arrival, index] : state.queues_by_arrival)
    if (state.queues[index]->settings != queue_settings{})
      wanted[state.queues[index]->address] = {};
  for (const auto& one : c.queues)
    wanted[one.queue] = one.settings;
  return wanted;
}

std::map<limit_address, std::optional<limit_definition>>
wanted_limits(const shard_state& state, const adopt_settings& c) {
  std::map<limit_address, std::optional<limit_definition>> wanted;
  state.limits.for_each(
    [&](const limit_address& limit, const limit_definition&) { wanted[limit] = std::nullopt; });
  for (const auto& one : c.limits)
    wanted[one.limit] = one.definition;
  return wanted;
}

} // namespace

void turn::run(const adopt_settings& c) {
  auto& carried = state_.carried;
  // Words of an earlier connection may come after those of a later one.
  if (c.version < carried.version)
    return;
  if (c.part == 0)
    carried = {c.from, c.version};
  else if (c.version != carried.version || c.part != carried.part + 1)
    return;
  carried.part = c.part;
  carried.queues.insert(carried.queues.end(), c.queues.begin(), c.queues.end());
  carried.limits.insert(carried.limits.end(), c.limits.begin(), c.limits.end());
  if (!c.is_last)
    return;
  const auto is_complete = adopt(carried);
  std::vector<carried_queue>().swap(carried.queues);
  std::vector<carried_limit>().swap(carried.limits);
  if (is_complete)
    effects_.emplace_back(shard_told{c.from, settings_adopted{state_.id, c.version}});
}

bool turn::adopt(const adopt_settings& all) {
  bool is_complete = true;
  for (auto& [queue, settings] : wanted_queues(state_, all)) {
    auto* known = state_.find_queue(queue);
    base::complete_maxima(
      settings.config,
      state_.permits.shard_count(),
      known ? known->settings.config : queue_config{});
    if (known)
      keep_untold_pause(*known, settings);
    if ((known ? known->settings : queue_settings{}) == settings)
      continue;
    // A queue that has no room here gets its settings when they are carried again.
    const auto has_room = state_.has_room_for(queue);
    is_complete = is_complete && has_room;
    if (has_room)
      write_settings(queue, settings);
  }
  for (const auto& [limit, definition] : wanted_limits(state_, all)) {
    const auto* known = state_.limits.find(limit);
    if ((known ? std::optional(*known) : std::nullopt) != definition)
      write_limit(limit, definition);
  }
  return is_complete;
}

void turn::keep_untold_pause(queue_state& known, queue_settings& carried) {
  if (!known.has_untold_pause)
    return;
  // A breaker that was turned off meanwhile pauses nothing any more.
  known.has_untold_pause = !carried.paused && carried.config.pause_when_failing.percent != 0;
  if (!known.has_untold_pause)
    return;
  carried.paused = true;
  carried.pause_reason = known.settings.pause_reason;
  effects_.emplace_back(breaker_tripped{known.address, carried.pause_reason});
}

void turn::tell_carrier() {
  if (state_.carried.version != 0)
    effects_.emplace_back(shard_told{state_.carried.from, settings_adopted{state_.id, 0}});
}

void turn::write_settings(const queue_address& queue, const queue_settings& settings) {
  const auto* known = state_.find_queue(queue);
  const auto before = known ? known->settings.config.max_depth : 0;
  set_queue(state_, queue, settings);
  if (settings.config.max_depth != before)
    state_.depths.drop(queue);
  configured_.push_back({state_.positions.take(1), now_.shard, queue, settings});
  ++state_.settings_version;
}

void turn::write_limit(
  const limit_address& limit, const std::optional<limit_definition>& definition) {
  state_.limits.define(limit, definition, now_.shard);
  if (definition && definition->rate)
    state_.permits.keep_none_longer(now_.steady);
  // A removal leaves no record that would keep the time.
  const auto at = definition ? now_.shard : timestamp{};
  limits_.push_back({state_.positions.take(1), at, limit, definition});
  ++state_.settings_version;
}

} // namespace codeq::core
