// SPDX-License-Identifier: Apache-2.0
#include "storage/recovery/task_reader.hpp"

#include "storage/keys/keyspace.hpp"
#include "storage/records/record_codec.hpp"
#include "storage/records/retention_codec.hpp"

#include <string>
#include <utility>
#include <vector>

namespace codeq::storage {

namespace {

std::string key_of(shard_id shard, sequence segment, bool aside) {
  return aside ? aside_key{shard, segment}.encode() : segment_key{shard, segment}.encode();
}

} // namespace

result<void> read_bodies(
  const task_store& store,
  shard_id shard,
  std::span<const sequence> segments,
  bool aside,
  const std::function<void(sequence, core::encoded_tasks)>& visit) {
  std::vector<std::string> keys;
  keys.reserve(segments.size());
  for (auto segment : segments)
    keys.push_back(key_of(shard, segment, aside));
  result<void> decoded;
  auto take = [&](std::size_t place, std::string_view value) {
    auto bodies = decode_bodies(value);
    if (bodies)
      visit(segments[place], std::move(*bodies));
    else
      decoded = bodies.error();
    return decoded.has_value();
  };
  auto read = store.read_many(keys, take);
  return read ? decoded : read;
}

result<std::optional<core::encoded_tasks>>
read_bodies(const task_store& store, shard_id shard, sequence segment, bool aside) {
  auto value = store.read(key_of(shard, segment, aside));
  if (!value)
    return value.error();
  if (!*value)
    return std::optional<core::encoded_tasks>{};
  auto bodies = decode_bodies(**value);
  if (!bodies)
    return bodies.error();
  return std::optional{std::move(*bodies)};
}

result<std::optional<core::encoded_tasks>>
read_replaced_body(const task_store& store, shard_id shard, sequence seq) {
  auto value = store.read(body_key{shard, seq}.encode());
  if (!value)
    return value.error();
  if (!*value)
    return std::optional<core::encoded_tasks>{};
  auto size = static_cast<std::uint32_t>((*value)->size());
  return std::optional{core::encoded_tasks{bytes(std::move(**value)), {size}}};
}

result<void> read_checkpoints(const task_store& store, shard_id shard, core::granted_run& run) {
  std::vector<core::lease_checkpoint> found;
  for (const auto& wanted : run.checkpoints) {
    auto value = store.read(checkpoint_key{shard, wanted.seq}.encode());
    if (!value)
      return value.error();
    if (!*value)
      continue;
    auto record = decode_checkpoint(**value, wanted.seq);
    if (!record)
      return record.error();
    found.push_back(std::move(record->checkpoint));
  }
  run.checkpoints = std::move(found);
  return {};
}

namespace {

result<std::optional<bytes>> read_death(const task_store& store, shard_id shard, sequence seq) {
  auto value = store.read(dead_key{shard, seq}.encode());
  if (!value)
    return value.error();
  // The task was redriven after the view was taken.
  if (!*value)
    return std::optional{bytes{}};
  auto record = decode_death(**value);
  if (!record)
    return record.error();
  return std::optional{std::move(record->text)};
}

} // namespace

result<std::optional<bytes>>
read_text(const task_store& store, shard_id shard, const core::task_view& view, timestamp now) {
  const auto& entry = view.entry;
  if (entry.state == task_state::dead)
    return read_death(store, shard, view.seq);
  if (entry.outcome == 0)
    return std::optional{bytes{}};
  auto value = store.read(outcome_key{shard, entry.outcome}.encode());
  if (!value)
    return value.error();
  bool is_past = !*value;
  if (*value && is_terminal(entry.state)) {
    auto lifetime = decode_outcome_lifetime(**value);
    if (!lifetime)
      return lifetime.error();
    is_past = lifetime->is_past(now);
  }
  // The error of an attempt before a cancellation or a retry is not a result.
  if (is_past)
    return entry.state == task_state::completed ? std::nullopt : std::optional{bytes{}};
  auto text = decode_outcome_text(**value, entry.outcome_index);
  if (!text)
    return text.error();
  return std::optional{std::move(*text)};
}

namespace {

/// True when the task was purged, although its fate record exists.
bool is_purged(const core::segment_fate& fate, sequence seq, const core::purge_marks* purged) {
  if (fate.entries[seq - fate.first].gone)
    return true;
  if (!purged)
    return false;
  auto mark = purged->find(fate.queue);
  return mark != purged->end() && seq < mark->second;
}

/// Finds the fate record of a task that was copied out of its segment.
result<std::optional<core::segment_fate>>
load_copied_fate(const task_store& store, shard_id shard, sequence seq) {
  auto value = store.read(copied_fate_key{shard, seq}.encode());
  if (!value)
    return value.error();
  if (!*value)
    return std::optional<core::segment_fate>{};
  auto fate = decode_fate(**value, seq);
  if (!fate)
    return fate.error();
  return std::optional{std::move(*fate)};
}

/// Finds the last fate record of a segment that begins at or before the task.
result<std::optional<core::segment_fate>>
load_fate(const task_store& store, shard_id shard, sequence seq) {
  auto range = fates_up_to(shard, seq);
  auto found = store.read_last(range.begin, range.end);
  if (!found)
    return found.error();
  auto key = *found ? fate_key::decode((*found)->first) : std::nullopt;
  if (!key)
    return std::optional<core::segment_fate>{};
  auto fate = decode_fate((*found)->second, key->number);
  if (!fate)
    return fate.error();
  return std::optional{std::move(*fate)};
}

} // namespace

bool is_known(const core::segment_fate& fate, sequence seq, const fate_filter& as_of) {
  return !record_lifetime{0, fate.closed_at, fate.retention}.is_past(as_of.now)
         && !is_purged(fate, seq, as_of.purged);
}

core::task_view view_of(const core::segment_fate& fate, sequence seq) {
  core::task_view view;
  view.seq = seq;
  view.queue = fate.queue;
  view.priority = fate.priority;
  view.max_attempts = fate.max_attempts;
  view.enqueued_at = fate.enqueued_at;
  view.entry = fate.entries[seq - fate.first];
  view.group = fate.group;
  view.key = fate.key;
  view.fairness = fate.fairness;
  view.limits = fate.limits;
  return view;
}

result<std::optional<core::task_view>>
read_fate(const task_store& store, shard_id shard, sequence seq, const fate_filter& as_of) {
  return fate_reader{store}.read(shard, seq, as_of);
}

result<std::optional<core::retained_key>>
read_key(const task_store& store, shard_id shard, const task_key& name, const fate_filter& as_of) {
  auto value = store.read(key_key{shard, name}.encode());
  if (!value)
    return value.error();
  if (!*value)
    return std::optional<core::retained_key>{};
  auto record = decode_key(**value);
  if (!record)
    return record.error();
  auto fate = read_fate(store, shard, record->seq, as_of);
  if (!fate)
    return fate.error();
  bool is_known = record->expires_at > as_of.now && *fate;
  return is_known ? std::optional{*record} : std::nullopt;
}

bool fate_reader::has(shard_id shard, sequence seq) const {
  return fate_ && shard_ == shard && seq >= fate_->first
         && seq - fate_->first < fate_->entries.size();
}

result<std::optional<core::task_view>>
fate_reader::read(shard_id shard, sequence seq, const fate_filter& as_of) {
  if (!has(shard, seq)) {
    auto found = load_fate(store_, shard, seq);
    if (!found)
      return found.error();
    fate_ = std::move(*found);
    shard_ = shard;
  }
  if (has(shard, seq) && is_known(*fate_, seq, as_of))
    return std::optional{view_of(*fate_, seq)};
  auto copied = load_copied_fate(store_, shard, seq);
  if (!copied)
    return copied.error();
  bool is_found = *copied && is_known(**copied, seq, as_of);
  return is_found ? std::optional{view_of(**copied, seq)} : std::nullopt;
}

} // namespace codeq::storage
