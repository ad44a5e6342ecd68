// SPDX-License-Identifier: Apache-2.0
#include "storage/recovery/timeline_reader.hpp"

#include "core/tables/history.hpp"
#include "storage/keys/keyspace.hpp"
#include "storage/records/record_codec.hpp"
#include "storage/recovery/note_reader.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace codeq::storage {

namespace {

/// The end of a task's latest lease, from its record; empty when the record was removed.
result<std::optional<core::task_note>>
read_end(const task_store& store, shard_id shard, const core::task_entry& entry) {
  auto value = store.read(outcome_key{shard, entry.outcome}.encode());
  if (!value)
    return value.error();
  if (!*value)
    return std::optional<core::task_note>{};
  auto record = decode_outcome(**value);
  if (!record)
    return record.error();
  auto text = decode_outcome_text(**value, entry.outcome_index);
  if (!text)
    return text.error();
  const auto& end = record->ends[entry.outcome_index];
  core::task_note note;
  auto& event = note.event;
  event.at = record->at;
  event.what = core::event_of(end.kind, end.next);
  event.by = core::author_of(end.kind);
  event.state = end.next;
  event.until = end.due;
  event.attempt = entry.attempt;
  event.token = end.token;
  event.text = core::cut_for_history(text->view());
  if (end.grant > 0) {
    const auto& grant = record->grants[end.grant - 1];
    note.granted_at = grant.at;
    event.worker = grant.worker;
  }
  return std::optional{std::move(note)};
}

/// Builds a timeline event by event; inserts grants before the events that imply them.
class timeline_builder {
public:
  explicit timeline_builder(const core::task_view& view) {
    timeline_.state = view.entry.state;
    timeline_.until = view.eligible_at;
    task_event event;
    event.at = view.enqueued_at;
    event.by = task_event::author::producer;
    timeline_.events.push_back(std::move(event));
  }

  void add(core::task_note note) {
    add_grant(note.granted_at, note.event);
    timeline_.events.push_back(std::move(note.event));
  }

  /// Adds the grant of a lease that is not in the timeline yet.
  void add_grant(timestamp at, const task_event& of) {
    if (at == timestamp{} || of.token == latest_)
      return;
    latest_ = of.token;
    task_event event;
    event.at = at;
    event.what = task_event::kind::granted;
    event.state = task_state::leased;
    event.attempt = of.attempt;
    event.token = of.token;
    event.worker = of.worker;
    timeline_.events.push_back(std::move(event));
  }

  void set_dropped(std::uint64_t events) { timeline_.dropped = events; }

  [[nodiscard]] task_timeline take() { return std::move(timeline_); }

private:
  task_timeline timeline_;
  fencing_token latest_{};
};

} // namespace

result<std::optional<task_timeline>> read_timeline(
  const task_store& store, shard_id shard, const core::task_view& view, view_source source) {
  const auto& entry = view.entry;
  auto notes = read_notes(store, shard, view.seq);
  if (!notes)
    return notes.error();
  bool is_counted = source == view_source::memory;
  // The task was purged meanwhile, and its history with it.
  if (is_counted && entry.notes > 0 && notes->empty())
    return std::optional<task_timeline>{};
  if (is_counted)
    std::erase_if(*notes, [&](const auto& note) { return note.number >= entry.notes; });
  bool is_noted = !notes->empty() && notes->back().event.what == task_event::kind::completed;
  bool ends_plainly = entry.state == task_state::completed && !core::is_noted(entry.last_end);
  timeline_builder timeline(view);
  timeline.set_dropped(notes->empty() ? entry.notes : notes->front().number);
  // Older versions noted such an end after other notes.
  if (ends_plainly && !is_noted) {
    auto end = read_end(store, shard, entry);
    if (!end)
      return end.error();
    if (!*end && notes->empty())
      return std::optional<task_timeline>{};
    if (*end)
      notes->push_back(std::move(**end));
  }
  for (auto& note : *notes)
    timeline.add(std::move(note));
  if (entry.state == task_state::leased) {
    task_event held;
    held.attempt = entry.attempt;
    held.token = entry.token;
    held.worker = view.worker;
    timeline.add_grant(view.granted_at, held);
  }
  return std::optional{timeline.take()};
}

} // namespace codeq::storage
