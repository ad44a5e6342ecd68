// SPDX-License-Identifier: Apache-2.0
#include "core/state/task_keys.hpp"

#include "base/assert.hpp"
#include "core/state/apply.hpp"
#include "core/state/producer_sessions.hpp"

namespace codeq::core {

key_id key_id_of(const segment& s) {
  CODEQ_ASSERT(s.key);
  return make_key_id(s.queue, s.group, s.key->name);
}

key_id key_id_of(shard_state& state, const task_key& name) {
  return make_key_id(state.intern(name.queue), name.group, name.key);
}

task_key name_of(const shard_state& state, const key_id& id) {
  auto parts = parts_of(id);
  return {state.queues[parts.queue]->address, std::string(parts.group), std::string(parts.name)};
}

std::optional<key_holder> owner_of(const shard_state& state, const task_key& name, timestamp now) {
  auto queue = state.queue_index.find(name.queue);
  if (queue == state.queue_index.end())
    return std::nullopt;
  return state.keys.owner_of(make_key_id(queue->second, name.group, name.key), now);
}

void hold_key(shard_state& state, segment& s, log_position since) {
  if (!s.key)
    return;
  s.key->since = since;
  state.keys.hold(key_id_of(s), {since, s.first});
}

void release_key(shard_state& state, const segment& s) {
  if (s.key)
    state.keys.release(key_id_of(s), s.first);
}

void retain_key(shard_state& state, const task_key& name, retained_key record) {
  auto id = key_id_of(state, name);
  if (record.seq < state.queues[parts_of(id).queue]->totals.purged_below)
    record.expires_at = {};
  state.keys.retain(id, record);
}

void end_purged_keys(shard_state& state, const queue_address& queue) {
  std::vector<std::pair<task_key, retained_key>> purged;
  auto index = state.intern(queue);
  for (const auto& [id, record] : state.keys.retained()) {
    if (parts_of(id).queue == index && record.seq < state.queues[index]->totals.purged_below)
      purged.emplace_back(name_of(state, id), record);
  }
  for (const auto& [name, record] : purged)
    retain_key(state, name, record);
}

void note_closed_key(shard_state& state, const segment& s, snapshot_taken& c) {
  if (!s.key)
    return;
  auto owner = state.keys.owner_of(key_id_of(s), c.at);
  if (!owner || owner->seq != s.first)
    return;
  task_key name{state.queue_of(s).address, s.group, s.key->name};
  c.closed_keys.push_back({std::move(name), {s.first, owner->since, c.at + s.settings.retention}});
}

void note_expired_keys(const shard_state& state, snapshot_taken& c) {
  for (const auto& id : state.keys.expired(c.at, limits::expired_keys_per_snapshot_max))
    c.expired_keys.push_back(name_of(state, id));
}

void apply_key_records(shard_state& state, const snapshot_taken& c) {
  for (const auto& name : c.expired_keys)
    state.keys.forget(key_id_of(state, name));
  for (const auto& closed : c.closed_keys)
    retain_key(state, closed.name, closed.record);
}

void remember_answer(shard_state& state, const answered_request& answered, timestamp at) {
  const auto& request = answered.request;
  auto& session = touch_session(state, request, at);
  if (request.number >= session.answered_below)
    session.answers[request.number] = answered.answer;
}

} // namespace codeq::core
