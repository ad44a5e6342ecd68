// SPDX-License-Identifier: Apache-2.0
#include "storage/records/projection.hpp"

#include "codeq/limits.hpp"

#include "storage/keys/keyspace.hpp"
#include "storage/records/headers_codec.hpp"
#include "storage/records/record_codec.hpp"
#include "storage/records/retention_codec.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace codeq::storage {

namespace {

std::uint8_t slot_of(std::uint32_t number) {
  return static_cast<std::uint8_t>(number % limits::history_events_max);
}

void add_notes(shard_id shard, const std::vector<core::task_note>& notes, write_set& writes) {
  for (const auto& note : notes) {
    auto slot = note.tasks > 1 ? history_key::shared_slot : slot_of(note.number);
    writes.put(history_key{shard, note.seq, slot}.encode(), encode(note));
  }
}

/// An entry that a purged task shares with its neighbours stays with them.

void remove_task_history(shard_id shard, const core::task_change& purged, write_set& writes) {
  auto slots = std::min(purged.notes, limits::history_events_max);
  for (std::uint32_t slot = 0; slot < slots; ++slot)
    writes.remove(history_key{shard, purged.seq, slot_of(slot)}.encode());
}

/// Adds the headers of the tasks from `first` on, if they have any; returns true if so.
bool put_headers(
  shard_id shard,
  sequence first,
  std::span<const core::encoded_tasks> tasks,
  timestamp at,
  write_set& writes) {
  auto record = encode_headers(tasks, at);
  if (record.empty())
    return false;
  writes.put(headers_key{shard, first}.encode(), std::move(record));
  return true;
}

void replace_body(
  shard_id shard, const core::task_change& change, timestamp at, write_set& writes) {
  writes.put(body_key{shard, change.seq}.encode(), std::string(change.body.view()));
  core::encoded_tasks task{change.body, {static_cast<std::uint32_t>(change.body.size())}};
  if (!put_headers(shard, change.seq, {&task, 1}, at, writes))
    writes.remove(headers_key{shard, change.seq}.encode());
}

void project_event(shard_id shard, const core::segment_appended& e, write_set& writes) {
  auto key =
    e.is_aside() ? aside_key{shard, e.first}.encode() : segment_key{shard, e.first}.encode();
  writes.put(std::move(key), encode(e));
  put_headers(shard, e.first, e.pieces, e.at, writes);
}

void project_event(shard_id shard, const core::batch_granted& e, write_set& writes) {
  writes.put(grant_key{shard, e.position}.encode(), encode(e));
}

void project_event(shard_id shard, const core::leases_ended& e, write_set& writes) {
  writes.put(outcome_key{shard, e.position}.encode(), encode(e));
  add_notes(shard, e.notes, writes);
  for (const auto& end : e.ends)
    if (end.next == task_state::dead)
      writes.put(dead_key{shard, end.seq}.encode(), encode_death(end, e.at));
}

void project_event(shard_id shard, const core::tasks_changed& e, write_set& writes) {
  writes.put(change_key{shard, e.position}.encode(), encode(e));
  add_notes(shard, e.notes, writes);
  for (const auto& change : e.changes) {
    if (change.kind == core::change_kind::body_replaced)
      replace_body(shard, change, e.at, writes);
    // A purged task may have been dead.
    if (change.kind == core::change_kind::redriven || change.kind == core::change_kind::purged)
      writes.remove(dead_key{shard, change.seq}.encode());
    if (change.kind == core::change_kind::purged)
      remove_task_history(shard, change, writes);
  }
}

void project_event(shard_id shard, const core::queue_configured& e, write_set& writes) {
  writes.put(queue_key{shard, e.queue}.encode(), encode(e));
}

void project_event(shard_id shard, const core::follow_ups_sent& e, write_set& writes) {
  writes.put(follow_up_key{shard, e.position}.encode(), encode(e));
}

void project_event(shard_id shard, const core::checkpoints_changed& e, write_set& writes) {
  for (const auto& checkpoint : e.saved)
    writes.put(checkpoint_key{shard, checkpoint.seq}.encode(), encode(checkpoint, e.at));
  for (auto seq : e.dropped)
    writes.remove(checkpoint_key{shard, seq}.encode());
}

void project_event(shard_id shard, const core::commands_audited& e, write_set& writes) {
  for (const auto& entry : e.entries) {
    auto at = static_cast<std::uint64_t>(entry.by->at.time_since_epoch().count());
    writes.put(
      audit_key{shard, at, entry.by->operation, entry.position}.encode(), encode(entry));
  }
}

std::uint8_t slot_of_occurrence(std::uint64_t number) {
  return static_cast<std::uint8_t>(number % limits::schedule_history_max);
}

void remove_schedule(shard_id shard, const core::schedule_changed& e, write_set& writes) {
  writes.remove(schedule_key{shard, e.name}.encode());
  writes.remove(progress_key{shard, e.name}.encode());
  auto slots = std::min(e.progress.occurrences, limits::schedule_history_max);
  for (std::uint64_t slot = 0; slot < slots; ++slot)
    writes.remove(occurrence_key{shard, e.name, slot_of_occurrence(slot)}.encode());
}

void project_event(shard_id shard, const core::schedule_changed& e, write_set& writes) {
  if (e.is_removed)
    return remove_schedule(shard, e, writes);
  if (e.definition)
    writes.put(schedule_key{shard, e.name}.encode(), encode(*e.definition));
  writes.put(progress_key{shard, e.name}.encode(), encode(e.progress, e.position, e.at));
  for (const auto& entry : e.entries)
    writes.put(
      occurrence_key{shard, e.name, slot_of_occurrence(entry.number)}.encode(), encode(entry));
}

void project_event(shard_id shard, const core::limit_defined& e, write_set& writes) {
  auto key = limit_name_key{shard, e.limit}.encode();
  if (e.definition)
    writes.put(std::move(key), encode(e));
  else
    writes.remove(std::move(key));
}

void project_event(shard_id shard, const core::limit_keys_changed& e, write_set& writes) {
  bool any_over = std::any_of(
    e.keys.begin(), e.keys.end(), [](const core::limit_key_mark& mark) { return mark.is_over; });
  if (any_over || e.used_up_at != timestamp{})
    writes.put(limit_key_key{shard}.encode(), encode(limit_key_record{e.at, 0, {}, e.used_up_at}));
  for (const auto& mark : e.keys) {
    auto key = limit_key_key{shard, mark.limit, mark.key}.encode();
    if (mark.is_over)
      writes.remove(std::move(key));
    else
      writes.put(
        std::move(key), encode(limit_key_record{e.at, mark.paid_at, mark.closed_until, {}}));
  }
}

void project_event(shard_id shard, const core::permits_changed& e, write_set& writes) {
  writes.put(
    permit_key{shard, e.asker}.encode(), encode(permit_record{e.at, {}, e.session, e.heard}));
  for (const auto& booked : e.booked)
    writes.put(
      permit_key{shard, e.asker, booked.number}.encode(), encode(permit_record{e.at, booked}));
  for (auto number : e.freed)
    writes.remove(permit_key{shard, e.asker, number}.encode());
}

/// The first tasks of the segments that the snapshot closes, ascending.
std::vector<sequence> closed_segments(const core::snapshot_taken& e) {
  std::vector<sequence> firsts;
  for (const auto& fate : e.closed)
    if (!fate.aside)
      firsts.push_back(fate.first);
  std::sort(firsts.begin(), firsts.end());
  return firsts;
}

void put_copies(shard_id shard, const core::snapshot_taken& e, write_set& writes) {
  std::optional<std::vector<sequence>> closed;
  for (const auto& copy : e.copied) {
    writes.put(aside_key{shard, copy.first}.encode(), encode(copy));
    if (!closed)
      closed = closed_segments(e);
    // The headers of a segment's first task are in the record of the whole segment, which has the
    // same key.
    if (!std::binary_search(closed->begin(), closed->end(), copy.first))
      put_headers(shard, copy.first, copy.pieces, e.at, writes);
  }
}

void project_event(shard_id shard, const core::snapshot_taken& e, write_set& writes) {
  writes.put(shard_key{shard}.encode(), encode(e));
  for (const auto& totals : e.queues)
    writes.put(totals_key{shard, totals.queue}.encode(), encode(totals));
  for (const auto& removed : e.removed_queues) {
    writes.remove(queue_key{shard, removed.queue}.encode());
    auto key = totals_key{shard, removed.queue}.encode();
    if (removed.mark.below > 0)
      writes.put(std::move(key), encode(removed.mark));
    else
      writes.remove(std::move(key));
  }
  for (const auto& queue : e.expired_marks)
    writes.remove(totals_key{shard, queue}.encode());
  for (const auto& session : e.producers)
    writes.put(producer_key{shard, session.producer}.encode(), encode(session));
  for (const auto& producer : e.ended_producers)
    writes.remove(producer_key{shard, producer}.encode());
  for (const auto& block : e.blocks) {
    auto key = block_key{shard, block.first}.encode();
    if (block.packed.empty())
      writes.remove(std::move(key));
    else
      writes.put(std::move(key), encode(block, e.position));
  }
  put_copies(shard, e, writes);
  for (const auto& fate : e.closed) {
    writes.put(
      fate.copied ? copied_fate_key{shard, fate.first}.encode()
                  : fate_key{shard, fate.first}.encode(),
      encode(fate, e.position));
    if (fate.replaced)
      writes.remove(body_key{shard, fate.first}.encode());
    if (fate.aside)
      writes.single_remove(aside_key{shard, fate.first}.encode());
    else
      writes.single_remove(segment_key{shard, fate.first}.encode());
  }
  for (const auto& closed : e.closed_keys)
    writes.put(key_key{shard, closed.name}.encode(), encode(closed.record));
  for (auto position : e.merged_changes)
    writes.single_remove(change_key{shard, position}.encode());
  for (auto position : e.delivered_follow_ups)
    writes.single_remove(follow_up_key{shard, position}.encode());
  for (auto position : e.ended_grants)
    writes.single_remove(grant_key{shard, position}.encode());
}

} // namespace

void project(shard_id shard, const core::event& e, write_set& writes) {
  std::visit([&](const auto& x) { project_event(shard, x, writes); }, e);
}

} // namespace codeq::storage
