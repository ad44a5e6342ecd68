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

/// The key's holders, if it has several; else null.
const std::set<key_holder>* find_shared(const shard_state& state, const key_parts& key) {
  if (state.keys.shared.empty())
    return nullptr;
  auto at = state.keys.shared.find(make_key_id(key));
  return at == state.keys.shared.end() ? nullptr : &at->second;
}

/// The key's only holder. @pre it does not have several
std::optional<key_holder> find_only(const shard_state& state, const key_parts& key) {
  auto holders = holders_of(state, key);
  return holders.empty() ? std::nullopt : std::optional(holders.front());
}

std::optional<key_holder> earliest_of(const shard_state& state, const key_parts& key) {
  const auto* several = find_shared(state, key);
  return several ? *several->begin() : find_only(state, key);
}

std::optional<key_holder> latest_of(const shard_state& state, const key_parts& key) {
  const auto* several = find_shared(state, key);
  return several ? *several->rbegin() : find_only(state, key);
}

void add_holder(shard_state& state, const key_parts& key, const key_holder& added) {
  if (find_shared(state, key))
    state.keys.shared.at(make_key_id(key)).insert(added);
  else if (auto other = find_only(state, key); other && other->seq != added.seq)
    state.keys.shared.emplace(make_key_id(key), std::set{*other, added});
  state.keys.holders.insert(hash_of(state, key), added.seq);
}

void remove_holder(shard_state& state, const key_parts& key, const key_holder& removed) {
  state.keys.holders.erase(hash_of(state, key), removed.seq);
  if (!find_shared(state, key))
    return;
  auto at = state.keys.shared.find(make_key_id(key));
  at->second.erase(removed);
  if (at->second.size() == 1)
    state.keys.shared.erase(at);
}

/// Forgets a closed holder that has no earlier one in memory.
void drop_if_alone(shard_state& state, const key_parts& key) {
  if (state.keys.retained.empty())
    return;
  auto closed = state.keys.retained.find(make_key_id(key));
  if (closed == state.keys.retained.end())
    return;
  auto earliest = earliest_of(state, key);
  if (!earliest || holder_of(closed->second) < *earliest)
    state.keys.retained.erase(closed);
}

std::optional<key_holder> owner_of_parts(
  const shard_state& state, const key_parts& key, timestamp now) {
  auto owner = latest_of(state, key);
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
  return key ? owner_of_parts(state, *key, now) : std::nullopt;
}

std::optional<key_holder> owner_of(const shard_state& state, const segment& s, timestamp now) {
  return owner_of_parts(state, key_of(s), now);
}

void hold_key(shard_state& state, segment& s, log_position since) {
  if (!s.key)
    return;
  auto key = key_of(s);
  bool is_held = s.key->since != 0;
  if (is_held && s.key->since != since)
    remove_holder(state, key, {s.key->since, s.first});
  s.key->since = since;
  add_holder(state, key, {since, s.first});
  drop_if_alone(state, key);
}

void release_key(shard_state& state, const segment& s) {
  if (!s.key)
    return;
  auto key = key_of(s);
  remove_holder(state, key, {s.key->since, s.first});
  drop_if_alone(state, key);
}

void retain_key(shard_state& state, const task_key& name, const retained_key& record) {
  key_parts key{state.intern(name.queue), name.group, name.key};
  state.keys.retained.insert_or_assign(make_key_id(key), record);
  drop_if_alone(state, key);
}

void fill_keys(shard_state& state, std::vector<number_pair> holders) {
  std::sort(holders.begin(), holders.end());
  state.keys.holders.assign(holders);
  for (auto at = holders.begin(); at != holders.end();) {
    auto end = std::find_if(
      at, holders.end(), [&](const number_pair& holder) { return holder.first != at->first; });
    std::unordered_map<key_id, std::set<key_holder>> keys;
    for (auto one = at; end - at > 1 && one != end; ++one)
      state.segments.peek(one->second, [&](const segment& s) {
        keys[make_key_id(key_of(s))].insert({s.key->since, s.first});
      });
    for (auto& [id, of_key] : keys)
      if (of_key.size() > 1)
        state.keys.shared.emplace(id, std::move(of_key));
    at = end;
  }
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

std::vector<std::pair<key_id, retained_key>>
recalled_for(const shard_state& state, const std::vector<enqueue_run>& runs) {
  std::vector<std::pair<key_id, retained_key>> kept;
  if (state.keys.recalled.empty())
    return kept;
  for (const auto& run : runs) {
    const task_key name{run.queue, run.group, run.key};
    auto key = run.key.empty() ? std::nullopt : find_key(state, name);
    auto at = key ? state.keys.recalled.find(make_key_id(*key)) : state.keys.recalled.end();
    if (at != state.keys.recalled.end())
      kept.emplace_back(*at);
  }
  return kept;
}

void recall_again(
  shard_state& state, const std::vector<std::pair<key_id, retained_key>>& recalled) {
  for (const auto& [id, record] : recalled)
    state.keys.recalled.insert_or_assign(id, record);
}

bool has_live_owner(const shard_state& state, const task_key& name) {
  auto key = find_key(state, name);
  auto latest = key ? latest_of(state, *key) : std::nullopt;
  bool is_live = false;
  if (latest)
    state.segments.peek(
      latest->seq, [&](const segment& s) { is_live = !is_terminal(s.view(s.first).state); });
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
