// SPDX-License-Identifier: Apache-2.0
#include "storage/recovery/note_reader.hpp"

#include "codeq/limits.hpp"

#include "core/tables/history.hpp"
#include "storage/keys/keyspace.hpp"
#include "storage/records/record_codec.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace codeq::storage {

namespace {

/// One task's note out of a note that tells of several. @pre it tells of that task
core::task_note note_of(core::task_note shared, sequence seq) {
  auto place = seq - shared.seq;
  shared.seq = seq;
  shared.tasks = 1;
  shared.event.token = static_cast<fencing_token>(value(shared.event.token) + place);
  return shared;
}

/// The notes of the range that tell of the task.
result<std::vector<core::task_note>>
read_notes_in(const task_store& store, const key_range& range, sequence seq) {
  std::vector<core::task_note> notes;
  result<void> decoded;
  auto take = [&](std::string_view key, std::string_view value) {
    auto named = history_key::decode(key);
    if (!named || (named->seq != seq && named->slot != history_key::shared_slot))
      return true;
    auto note = decode_note(value, named->seq);
    if (!note) {
      decoded = note.error();
      return false;
    }
    if (seq - named->seq < note->tasks)
      notes.push_back(note_of(std::move(*note), seq));
    return true;
  };
  auto scanned = store.scan(range.begin, range.end, take);
  if (!scanned)
    return scanned.error();
  if (!decoded)
    return decoded.error();
  return notes;
}

} // namespace

result<std::vector<core::task_note>>
read_notes(const task_store& store, shard_id shard, sequence seq) {
  auto notes = read_notes_in(store, history_of(shard, seq), seq);
  if (!notes)
    return notes;
  auto by_number = [](const auto& a, const auto& b) { return a.number < b.number; };
  std::sort(notes->begin(), notes->end(), by_number);
  if (notes->empty() || notes->front().number == 1) {
    auto first = seq - std::min<sequence>(seq, core::shared_note_tasks_max - 1);
    auto begin = history_of(shard, first).begin;
    auto shared = read_notes_in(store, {begin, history_of(shard, seq).begin}, seq);
    if (!shared)
      return shared;
    notes->insert(notes->begin(), shared->begin(), shared->end());
  }
  // The entries that followed a shared one do not overwrite it.
  bool is_apart = notes->size() > 1 && notes->front().number + 1 != (*notes)[1].number;
  if (is_apart || notes->size() > limits::history_events_max)
    notes->erase(notes->begin());
  return notes;
}

} // namespace codeq::storage
