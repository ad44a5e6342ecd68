// SPDX-License-Identifier: Apache-2.0
#include "core/state/task_keys.hpp"

#include "base/assert.hpp"
#include "core/state/apply.hpp"
#include "core/state/producer_sessions.hpp"

#include <algorithm>

namespace codeq::core {

namespace {

/// Empty when the shard does not know the queue. The views refer to `name`.
std::optional<key_parts> find_key(const shard_state& state, const task_key& name) {
  auto queue = state.queue_index.find(name.queue);
  if (queue == state.queue_index.end())
    return std::nullopt;
  return key_parts{queue->second, name.group, name.key};
}

name_hash hash_of(const shard_state& state, const key_parts& key) {
  return state.names.of_key(key.queue, key.group, key.name);
}

key_holder holder_of(const retained_key& record) {
  return {record.since, record.seq};
}

bool counts(
  const shard_state& state, const key_parts& key, const retained_key& record, timestamp now) {
  return record.expires_at > now && record.seq >= state.queues[key.queue]->totals.purged_below;
}

/// Forgets a closed holder that has no earlier one in memory.
void drop_if_alone(shard_state& state, const key_parts& key) {
  if (state.keys.retained.empty())
    return;
  auto closed = state.keys.retained.find(make_key_id(key));
  if (closed == state.keys.retained.end())
    return;
  auto holders = holders_of(state, key);
  if (holders.empty() || holder_of(closed->second) < holders.front())
    state.keys.retained.erase(closed);
}

std::optional<key_holder> owner_of(const shard_state& state, const key_parts& key, timestamp now) {
  std::optional<key_holder> owner;
  if (auto holders = holders_of(state, key); !holders.empty())
    owner = holders.back();
  for (const auto* closed : {&state.keys.retained, &state.keys.recalled}) {
    if (closed->empty())
      continue;
    auto at = closed->find(make_key_id(key));
    if (at != closed->end() && counts(state, key, at->second, now))
      owner = owner ? std::max(*owner, holder_of(at->second)) : holder_of(at->second);
  }
  return owner;
}

} // namespace

key_parts key_of(const segment& s) {
  CODEQ_ASSERT(s.key);
  return {s.queue, s.group, s.key->name};
}

task_key name_of(const shard_state& state, const key_parts& key) {
  return {state.queues[key.queue]->address, std::string(key.group), std::string(key.name)};
}

std::vector<key_holder> holders_of(const shard_state& state, const key_parts& key) {
  std::vector<key_holder> found;
  auto name = hash_of(state, key);
  const auto& tasks = state.keys.holders;
  for (auto seq = tasks.next(name, 0); seq; seq = tasks.next(name, *seq + 1))
    state.segments.peek(*seq, [&](const segment& s) {
      if (s.key && key_of(s) == key)
        found.push_back({s.key->since, *seq});
    });
  std::sort(found.begin(), found.end());
  return found;
}

std::optional<key_holder> owner_of(const shard_state& state, const task_key& name, timestamp now) {
  auto key = find_key(state, name);
  return key ? owner_of(state, *key, now) : std::nullopt;
}

std::optional<key_holder> owner_of(const shard_state& state, const segment& s, timestamp now) {
  return owner_of(state, key_of(s), now);
}

void hold_key(shard_state& state, segment& s, log_position since) {
  if (!s.key)
    return;
  s.key->since = since;
  auto key = key_of(s);
  state.keys.holders.insert(hash_of(state, key), s.first);
  drop_if_alone(state, key);
}

void release_key(shard_state& state, const segment& s) {
  if (!s.key)
    return;
  auto key = key_of(s);
  state.keys.holders.erase(hash_of(state, key), s.first);
  drop_if_alone(state, key);
}

void retain_key(shard_state& state, const task_key& name, const retained_key& record) {
  key_parts key{state.intern(name.queue), name.group, name.key};
  state.keys.retained.insert_or_assign(make_key_id(key), record);
  drop_if_alone(state, key);
}

void recall(shard_state& state, const recall_keys& c) {
  for (const auto& found : c.keys) {
    auto key = find_key(state, found.name);
    if (key && found.record)
      state.keys.recalled.insert_or_assign(make_key_id(*key), *found.record);
    else if (key)
      state.keys.retained.erase(make_key_id(*key));
  }
}

bool has_live_owner(const shard_state& state, const task_key& name) {
  auto key = find_key(state, name);
  auto holders = key ? holders_of(state, *key) : std::vector<key_holder>();
  bool is_live = false;
  if (!holders.empty())
    state.segments.peek(
      holders.back().seq, [&](const segment& s) { is_live = !is_terminal(s.view(s.first).state); });
  return is_live;
}

bool is_retained(const shard_state& state, const task_key& name) {
  auto key = find_key(state, name);
  if (!key)
    return false;
  auto at = state.keys.retained.find(make_key_id(*key));
  return at != state.keys.retained.end() && counts(state, *key, at->second, state.at);
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
