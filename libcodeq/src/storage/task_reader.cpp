// SPDX-License-Identifier: Apache-2.0
#include "storage/task_reader.hpp"

#include "storage/keyspace.hpp"
#include "storage/record_codec.hpp"

namespace codeq::storage {

result<std::optional<core::encoded_tasks>>
read_bodies(const task_store& store, shard_id shard, sequence segment, bool aside) {
  auto key = aside ? aside_key{shard, segment}.encode() : segment_key{shard, segment}.encode();
  auto value = store.read(key);
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
  return std::optional{core::encoded_tasks{bytes::from(std::move(**value)), {size}}};
}

result<bytes> read_text(const task_store& store, shard_id shard, const core::task_entry& entry) {
  if (entry.outcome == 0)
    return bytes{};
  auto value = store.read(outcome_key{shard, entry.outcome}.encode());
  if (!value)
    return value.error();
  if (!*value)
    return error{
      errc::corruption, "outcome " + std::to_string(entry.outcome) + " is not in the store"};
  return decode_outcome_text(**value, entry.outcome_index);
}

namespace {

/// True when nobody knows the task any more, although it has a fate.
bool is_purged(const core::segment_fate& fate, sequence seq, const core::purge_marks* purged) {
  if (fate.entries[seq - fate.first].gone)
    return true;
  if (!purged)
    return false;
  auto mark = purged->find(fate.queue);
  return mark != purged->end() && seq < mark->second;
}

} // namespace

result<std::optional<core::task_view>>
read_fate(const task_store& store, shard_id shard, sequence seq, const core::purge_marks* purged) {
  auto range = fates_up_to(shard, seq);
  auto found = store.read_last(range.begin, range.end);
  if (!found)
    return found.error();
  auto key = *found ? fate_key::decode((*found)->first) : std::nullopt;
  if (!key)
    return std::optional<core::task_view>{};
  auto fate = decode_fate((*found)->second, key->first);
  if (!fate)
    return fate.error();
  if (seq - fate->first >= fate->entries.size() || is_purged(*fate, seq, purged))
    return std::optional<core::task_view>{};
  core::task_view view;
  view.seq = seq;
  view.queue = fate->queue;
  view.priority = fate->priority;
  view.max_attempts = fate->max_attempts;
  view.enqueued_at = fate->enqueued_at;
  view.entry = fate->entries[seq - fate->first];
  return std::optional{view};
}

} // namespace codeq::storage
