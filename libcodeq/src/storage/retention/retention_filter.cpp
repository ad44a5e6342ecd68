// SPDX-License-Identifier: Apache-2.0
#include "storage/retention/retention_filter.hpp"

#include "codeq/limits.hpp"

#include "storage/keys/keyspace.hpp"
#include "storage/records/headers_codec.hpp"
#include "storage/records/record_codec.hpp"
#include "storage/records/retention_codec.hpp"

#include <algorithm>
#include <utility>

namespace codeq::storage {

namespace {

bool is_of_kind(key_tag kind, std::string_view key) {
  return !key.empty() && key.front() == static_cast<char>(kind);
}

/// The shard of a fate, copied or not, or nothing when the key is of another kind.
std::optional<shard_id> find_fate(std::string_view key) {
  if (auto fate = fate_key::decode(key))
    return fate->shard;
  auto copied = copied_fate_key::decode(key);
  return copied ? std::optional{copied->shard} : std::nullopt;
}

const shard_horizon* find_horizon(const horizon_map& horizons, shard_id shard) {
  auto at = horizons.find(shard);
  return at == horizons.end() ? nullptr : at->second.get();
}

/// True when recovery or a live task needs the outcome.
bool is_needed(const shard_horizon& horizon, core::log_position outcome) {
  return outcome > horizon.through || !horizon.is_held_known || horizon.held.contains(outcome);
}

verdict
judge_lifetime(const shard_horizon& horizon, timestamp evicted_before, const record_lifetime& of) {
  if (of.position > horizon.through)
    return verdict::keep;
  if (of.is_past(horizon.at))
    return verdict::past;
  return of.since < evicted_before ? verdict::evicted : verdict::keep;
}

verdict judge_history(
  const shard_horizon& horizon,
  const history_key& key,
  std::string_view value,
  const record_lookup& is_there) {
  auto note = decode_note(value, key.seq);
  if (!note || !is_there)
    return verdict::keep;
  // Fates are kept at least that long unless space runs out, so new files need no look-ups.
  if (horizon.at - note->event.at < limits::retention_classes.front())
    return verdict::keep;
  auto segment = note->aside ? aside_key{key.shard, note->segment}.encode()
                             : segment_key{key.shard, note->segment}.encode();
  // The order matters: see the header.
  bool is_needed = is_there(segment) || is_there(fate_key{key.shard, note->segment}.encode());
  for (auto seq = key.seq; !is_needed && seq < key.seq + note->tasks; ++seq)
    is_needed = is_there(aside_key{key.shard, seq}.encode())
                || is_there(copied_fate_key{key.shard, seq}.encode());
  return is_needed ? verdict::keep : verdict::past;
}

verdict judge_headers(
  const shard_horizon& horizon,
  const headers_key& key,
  std::string_view value,
  const record_lookup& is_there) {
  auto at = decode_headers_time(value);
  if (!at || !is_there || horizon.at - *at < limits::retention_classes.front())
    return verdict::keep;
  // As for a history.
  bool is_needed = is_there(segment_key{key.shard, key.number}.encode())
                   || is_there(fate_key{key.shard, key.number}.encode())
                   || is_there(aside_key{key.shard, key.number}.encode())
                   || is_there(copied_fate_key{key.shard, key.number}.encode());
  return is_needed ? verdict::keep : verdict::past;
}

verdict judge_key(
  const retention_view& view,
  const shard_horizon& horizon,
  std::string_view value,
  const record_lookup& is_there) {
  auto record = decode_key(value);
  if (!record)
    return verdict::keep;
  if (record->expires_at <= horizon.at)
    return verdict::past;
  bool any_evicted = view.evicted_before != timestamp{} && is_there;
  if (!any_evicted || is_there(fate_key{horizon.shard, record->seq}.encode()))
    return verdict::keep;
  return verdict::evicted;
}

verdict judge_audit(const retention_view& view, const audit_key& key) {
  const auto* horizon = find_horizon(view.horizons, key.shard);
  if (!horizon)
    return verdict::keep;
  timestamp at{duration{static_cast<duration::rep>(key.at_ms)}};
  if (at + limits::audit_retention <= horizon->at)
    return verdict::past;
  return at < view.audits_evicted_before ? verdict::evicted : verdict::keep;
}

verdict judge_end(
  const retention_view& view,
  const shard_horizon& horizon,
  const std::optional<outcome_key>& outcome,
  std::string_view value) {
  // Checked first, since the value then need not be parsed.
  if (outcome && is_needed(horizon, outcome->number))
    return verdict::keep;
  auto lifetime = outcome ? decode_outcome_lifetime(value) : decode_fate_lifetime(value);
  return lifetime ? judge_lifetime(horizon, view.evicted_before, *lifetime) : verdict::keep;
}

} // namespace

shard_horizon horizon_of(const core::shard_state& state, const core::snapshot_taken& snapshot) {
  return {state.id, snapshot.position, snapshot.at, state.held_at_snapshot};
}

verdict judge(
  const retention_view& view,
  std::string_view key,
  std::string_view value,
  const record_lookup& is_there) {
  if (auto audit = audit_key::decode(key))
    return judge_audit(view, *audit);
  auto outcome = outcome_key::decode(key);
  auto fate = find_fate(key);
  auto history = history_key::decode(key);
  auto headers = headers_key::decode(key);
  auto name = is_of_kind(key_tag::key, key) ? key_key::decode(key) : std::nullopt;
  if (!outcome && !fate && !history && !headers && !name)
    return verdict::keep;
  const auto* horizon = find_horizon(
    view.horizons,
    outcome   ? outcome->shard
    : fate    ? *fate
    : history ? history->shard
    : headers ? headers->shard
              : name->shard);
  if (!horizon)
    return verdict::keep;
  if (history)
    return judge_history(*horizon, *history, value, is_there);
  if (headers)
    return judge_headers(*horizon, *headers, value, is_there);
  if (name)
    return judge_key(view, *horizon, value, is_there);
  return judge_end(view, *horizon, outcome, value);
}

bool may_hide_older(std::string_view key) {
  return is_of_kind(key_tag::key, key) || is_of_kind(key_tag::audit, key);
}

void retention_horizons::publish(std::shared_ptr<const shard_horizon> horizon) {
  std::lock_guard lock{mutex_};
  auto shard = horizon->shard;
  view_.horizons.insert_or_assign(shard, std::move(horizon));
}

void retention_horizons::forget(shard_id shard) {
  std::lock_guard lock{mutex_};
  view_.horizons.erase(shard);
}

void retention_horizons::evict_before(timestamp time) {
  std::lock_guard lock{mutex_};
  view_.evicted_before = std::max(view_.evicted_before, time);
}

void retention_horizons::evict_audits_before(timestamp time) {
  std::lock_guard lock{mutex_};
  view_.audits_evicted_before = std::max(view_.audits_evicted_before, time);
}

retention_view retention_horizons::view() const {
  std::lock_guard lock{mutex_};
  return view_;
}

} // namespace codeq::storage
