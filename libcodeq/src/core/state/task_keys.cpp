// SPDX-License-Identifier: Apache-2.0
#include "core/state/task_keys.hpp"

#include "base/assert.hpp"
#include "core/state/apply.hpp"
#include "core/state/producer_sessions.hpp"

namespace codeq::core {

namespace {

std::optional<key_id> find_id(const shard_state& state, const task_key& name) {
  auto queue = state.queue_index.find(name.queue);
  if (queue == state.queue_index.end())
    return std::nullopt;
  return make_key_id(queue->second, name.group, name.key);
}

key_horizon horizon_of(const shard_state& state, const key_id& id, timestamp now) {
  return {now, state.queues[parts_of(id).queue]->totals.purged_below};
}

} // namespace

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
  auto id = find_id(state, name);
  return id ? state.keys.owner_of(*id, horizon_of(state, *id, now)) : std::nullopt;
}

std::optional<key_holder> owner_of(const shard_state& state, const segment& s, timestamp now) {
  auto id = key_id_of(s);
  return state.keys.owner_of(id, horizon_of(state, id, now));
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

void retain_key(shard_state& state, const task_key& name, const retained_key& record) {
  state.keys.retain(key_id_of(state, name), record);
}

void recall(shard_state& state, const recall_keys& c) {
  for (const auto& key : c.keys) {
    auto id = find_id(state, key.name);
    if (id && key.record)
      state.keys.recall(*id, *key.record);
    else if (id)
      state.keys.forget(*id);
  }
}

bool has_live_owner(shard_state& state, const task_key& name) {
  auto id = find_id(state, name);
  if (!id)
    return false;
  auto at = state.keys.holders().find(*id);
  if (at == state.keys.holders().end())
    return false;
  auto seq = at->second.back().seq;
  return !is_terminal(find_segment(state.segments, seq)->view(seq).state);
}

bool is_retained(const shard_state& state, const task_key& name) {
  auto id = find_id(state, name);
  if (!id)
    return false;
  auto at = state.keys.retained().find(*id);
  return at != state.keys.retained().end() && horizon_of(state, *id, state.at).counts(at->second);
}

void note_closed_key(shard_state& state, const segment& s, snapshot_taken& c) {
  if (!s.key)
    return;
  auto owner = owner_of(state, s, c.at);
  if (!owner || owner->seq != s.first)
    return;
  task_key name{state.queue_of(s).address, s.group, s.key->name};
  c.closed_keys.push_back({std::move(name), {s.first, owner->since, c.at + s.settings.retention}});
}

void apply_key_records(shard_state& state, const snapshot_taken& c) {
  for (const auto& closed : c.closed_keys)
    retain_key(state, closed.name, closed.record);
}

void remember_answer(shard_state& state, const answered_request& answered, timestamp at) {
  const auto& request = answered.request;
  auto& session = touch_session(state, request, answered.tenant, at);
  if (request.number >= session.answered_below)
    session.answers[request.number] = answered.answer;
}

} // namespace codeq::core
