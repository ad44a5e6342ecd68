// SPDX-License-Identifier: Apache-2.0
#include "maintenance/record_checks.hpp"

#include "codeq/limits.hpp"

#include "core/blocks/segment_block.hpp"
#include "core/tables/history.hpp"
#include "maintenance/common_checks.hpp"
#include "maintenance/key_text.hpp"
#include "storage/records/headers_codec.hpp"
#include "storage/records/record_codec.hpp"
#include "storage/records/replica_codec.hpp"
#include "storage/records/retention_codec.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace codeq::maintenance {

namespace {

void check_segment_record(
  shard_facts& facts,
  const std::string& where,
  const core::segment_appended& e,
  std::string_view value,
  finding_list& found) {
  check_given(facts, where, {"position", e.position}, found);
  check_run(facts, where, {e.first, e.count}, found);
  if (e.count == 0)
    found.add(where, "has no tasks");
  auto bodies = storage::decode_bodies(value);
  if (!bodies)
    found.add(where, "has bodies that cannot be read: " + to_string(bodies.error()));
  else if (bodies->count() != e.count)
    found.add(where, "has another number of bodies than of tasks");
  bool is_copied = facts.state && facts.is_copied(e.first);
  bool is_closed = is_copied ? facts.has(storage::copied_fate_key{facts.id, e.first}.encode())
                             : facts.has(storage::fate_key{facts.id, e.first}.encode());
  if (is_closed && facts.state)
    found.add(where, "is there although it was closed");
  else if (facts.state && !facts.known(e.first))
    found.add(where, "is older than the snapshot, which does not know it");
}

void check(
  shard_facts& facts,
  const storage::segment_key& key,
  std::string_view value,
  finding_list& found) {
  auto e = storage::decode_segment(value, key.number);
  if (!is_read(key, e, found))
    return;
  auto where = in_words(key);
  check_segment_record(facts, where, *e, value, found);
  if (e->is_aside())
    found.add(where, "has what only an aside may have: a deferral, a group or a key");
  if (key.number < facts.next_segment)
    found.add(where, "overlaps the one before it");
  facts.next_segment = key.number + e->count;
  // The scan is past all asides, since their keys are smaller.
  auto aside = std::lower_bound(facts.asides.begin(), facts.asides.end(), key.number);
  for (; aside != facts.asides.end() && *aside < facts.next_segment; ++aside)
    found.add(in_words(storage::aside_key{facts.id, *aside}), "lies within a segment");
}

void check(
  shard_facts& facts, const storage::aside_key& key, std::string_view value, finding_list& found) {
  auto e = storage::decode_segment(value, key.number);
  if (!is_read(key, e, found))
    return;
  auto where = in_words(key);
  check_segment_record(facts, where, *e, value, found);
  bool may_be_aside = e->is_aside() || !facts.state || facts.is_copied(key.number);
  if (!may_be_aside || e->count != 1)
    found.add(where, "is not one task that is deferred, of a group, has a key or was copied");
  facts.asides.push_back(key.number);
}

void check(
  shard_facts& facts, const storage::shard_key& key, std::string_view value, finding_list& found) {
  auto snapshot = storage::decode_snapshot(value);
  if (is_read(key, snapshot, found))
    check_given(facts, in_words(key), {"position", snapshot->position}, found);
}

void check(
  shard_facts& facts, const storage::grant_key& key, std::string_view value, finding_list& found) {
  auto e = storage::decode_grant(value);
  if (!is_read(key, e, found))
    return;
  auto where = in_words(key);
  check_position(facts, where, {key.number, e->position}, found);
  check_time(where, e->at, facts.latest_grant, found);
  std::uint64_t count = 0;
  for (const auto& run : e->runs) {
    check_run(facts, where, run, found);
    count += run.count;
  }
  if (count == 0)
    return found.add(where, "leases nothing");
  auto first = codeq::value(e->first_token);
  check_given(facts, where, {"token", first}, found);
  check_given(facts, where, {"token", first + count - 1}, found);
  facts.granted.emplace_back(first, count);
}

void check(
  shard_facts& facts,
  const storage::outcome_key& key,
  std::string_view value,
  finding_list& found) {
  auto e = storage::decode_outcome(value);
  if (!is_read(key, e, found))
    return;
  auto where = in_words(key);
  check_position(facts, where, {key.number, e->position}, found);
  check_time(where, e->at, facts.latest_outcome[e->retention], found);
  for (const auto& end : e->ends) {
    check_given(facts, where, {"sequence", end.seq}, found);
    if (end.token != fencing_token{})
      check_given(facts, where, {"token", codeq::value(end.token)}, found);
  }
  if (e->ends.empty())
    return found.add(where, "ends nothing");
  auto last = static_cast<std::uint32_t>(e->ends.size() - 1);
  if (auto text = storage::decode_outcome_text(value, last); !text)
    found.add(where, "has texts that cannot be read: " + to_string(text.error()));
}

void check(
  shard_facts& facts, const storage::change_key& key, std::string_view value, finding_list& found) {
  auto e = storage::decode_change(value);
  if (!is_read(key, e, found))
    return;
  auto where = in_words(key);
  check_position(facts, where, {key.number, e->position}, found);
  for (const auto& change : e->changes)
    check_given(facts, where, {"sequence", change.seq}, found);
  if (key.number <= facts.snapshot)
    found.add(where, "is there although a snapshot holds what it came to");
}

void check(
  shard_facts& facts,
  const storage::follow_up_key& key,
  std::string_view value,
  finding_list& found) {
  auto e = storage::decode_follow_ups(value);
  if (!is_read(key, e, found))
    return;
  check_position(facts, in_words(key), {key.number, e->position}, found);
  if (e->tasks.empty())
    found.add(in_words(key), "adds nothing");
}

/// Checks one segment of a block; its queue's number is an index into `queues`.
void check_packed(
  shard_facts& facts,
  const std::string& where,
  const core::segment& s,
  const std::vector<queue_address>& queues,
  finding_list& found) {
  auto record = facts.record_of(s.first);
  if (!record)
    return found.add(where, "is not there");
  if (record->count != s.count)
    found.add(where, "is said to have another number of tasks than it has");
  if (record->queue != queues[s.queue] || record->priority != s.priority)
    found.add(where, "is said to be in another lane than it is");
  if (s.kept == 0)
    found.add(where, "should be closed");
  for (std::size_t i = 0; i < s.entries.size(); ++i)
    static_cast<void>(check_entry(facts, where, {s.first + i, s.entries[i]}, found));
}

void check(
  shard_facts& facts, const storage::block_key& key, std::string_view value, finding_list& found) {
  auto block = storage::decode_block(value, key.number);
  if (!is_read(key, block, found))
    return;
  auto where = in_words(key);
  auto queues = core::block_reader::queues_of(block->packed.view());
  if (!queues)
    return found.add(where, "cannot be read: these are not the bytes of a block");
  std::vector<std::uint32_t> places(queues->size());
  std::iota(places.begin(), places.end(), 0);
  core::block_reader reader(block->packed.view(), places);
  auto left = reader.segments();
  if (left == 0)
    found.add(where, "has no segments");
  if (key.number < facts.next_in_block)
    found.add(where, "overlaps the one before it");
  for (auto s = reader.next(); s && !reader.failed(); s = reader.next(), --left) {
    check_packed(facts, where + " segment " + number_in_words(s->first), *s, *queues, found);
    facts.next_in_block = s->first + s->count;
  }
  if (reader.failed() || left != 0)
    found.add(where, "does not hold what its header says");
}

/// False when the record has expired, or the task was purged: its queue may have been removed
/// since.
bool is_in_force(const core::shard_state& state, const core::segment_fate& fate, std::size_t i) {
  storage::record_lifetime lifetime{0, fate.closed_at, fate.retention};
  if (fate.entries[i].gone || lifetime.is_past(state.at))
    return false;
  if (!state.purged)
    return true;
  auto mark = state.purged->find(fate.queue);
  return mark == state.purged->end() || fate.first + i >= mark->second;
}

void check_fate(
  shard_facts& facts,
  const std::string& where,
  const core::segment_fate& fate,
  finding_list& found) {
  for (std::size_t i = 0; i < fate.entries.size(); ++i) {
    const auto& entry = fate.entries[i];
    if (core::is_kept(entry))
      found.add(where, "has a task that has not ended, or is dead");
    if (entry.attempt > fate.max_attempts)
      found.add(where, "has a task that was charged more than max_attempts");
    bool is_told = check_entry(facts, where, {fate.first + i, entry}, found);
    facts.results_gone += is_told ? 0 : 1;
    if (!facts.state || !is_in_force(*facts.state, fate, i))
      continue;
    facts.count_end(fate.queue, entry);
    if (!facts.state->find_queue(fate.queue))
      found.add(where, "is of a queue that does not exist");
  }
}

void check(
  shard_facts& facts, const storage::fate_key& key, std::string_view value, finding_list& found) {
  auto fate = storage::decode_fate(value, key.number);
  if (!is_read(key, fate, found))
    return;
  if (key.number < facts.next_fate)
    found.add(in_words(key), "overlaps the one before it");
  facts.next_fate = key.number + fate->entries.size();
  check_fate(facts, in_words(key), *fate, found);
}

void check(
  shard_facts& facts,
  const storage::copied_fate_key& key,
  std::string_view value,
  finding_list& found) {
  auto fate = storage::decode_fate(value, key.number);
  if (!is_read(key, fate, found))
    return;
  if (fate->entries.size() != 1)
    found.add(in_words(key), "is not of one task");
  check_fate(facts, in_words(key), *fate, found);
}

void check(
  shard_facts& facts, const storage::dead_key& key, std::string_view value, finding_list& found) {
  auto death = storage::decode_death(value);
  if (!is_read(key, death, found) || !facts.state)
    return;
  auto entry = facts.known(key.number);
  if (!entry || entry->state != task_state::dead)
    found.add(in_words(key), "is of a task that is not dead");
}

void check(
  shard_facts& facts, const storage::body_key& key, std::string_view, finding_list& found) {
  if (!facts.state)
    return;
  bool is_replaced = false;
  facts.state->segments.walk(key.number, key.number + 1, [&](const core::segment& s) {
    is_replaced = s.aside && s.replaced;
    return false;
  });
  if (!is_replaced)
    found.add(in_words(key), "is of a task whose body was not replaced");
}

void check(
  shard_facts& facts,
  const storage::checkpoint_key& key,
  std::string_view value,
  finding_list& found) {
  auto record = storage::decode_checkpoint(value, key.number);
  if (!is_read(key, record, found) || !facts.state)
    return;
  auto token = codeq::value(record->checkpoint.mark.token);
  check_given(facts, in_words(key), {"token", token}, found);
  const auto* s = core::find_segment(facts.state->segments, key.number);
  if (!s || is_terminal(s->view(key.number).state))
    found.add(in_words(key), "is of a task that is not live");
}

void check(
  shard_facts& facts,
  const storage::schedule_key& key,
  std::string_view value,
  finding_list& found) {
  auto definition = storage::decode_schedule(value);
  if (is_read(key, definition, found) && facts.state && !facts.state->schedules.find(key.schedule))
    found.add(in_words(key), "has no progress");
}

void check(
  shard_facts& facts,
  const storage::progress_key& key,
  std::string_view value,
  finding_list& found) {
  auto record = storage::decode_progress(value);
  if (!is_read(key, record, found) || !facts.state)
    return;
  auto where = in_words(key);
  check_given(facts, where, {"position", record->position}, found);
  for (const auto& open : record->progress.open) {
    if (open.sent != 0)
      check_given(facts, where, {"position", open.sent}, found);
    if (open.sent != 0 || open.entry.shard != facts.id)
      continue;
    auto task = open.entry.task;
    check_given(facts, where, {"sequence", task}, found);
    const auto* s = core::find_segment(facts.state->segments, task);
    if (!s || is_terminal(s->view(task).state))
      found.add(where, "counts task " + number_in_words(task) + " as running, which has ended");
  }
}

void check(
  shard_facts& facts,
  const storage::occurrence_key& key,
  std::string_view value,
  finding_list& found) {
  auto entry = storage::decode_occurrence(value);
  if (!is_read(key, entry, found) || !facts.state)
    return;
  if (entry->shard == facts.id && entry->task != 0)
    check_given(facts, in_words(key), {"sequence", entry->task}, found);
  const auto* schedule = facts.state->schedules.find(key.schedule);
  if (!schedule || entry->number >= schedule->progress.occurrences)
    found.add(in_words(key), "is of no entry of a schedule's history");
  else if (entry->number % limits::schedule_history_max != key.slot)
    found.add(in_words(key), "is not in its place");
}

void check(
  shard_facts&, const storage::limit_name_key& key, std::string_view value, finding_list& found) {
  static_cast<void>(is_read(key, storage::decode_limit(value, key.limit), found));
}

void check(
  shard_facts&, const storage::limit_key_key& key, std::string_view value, finding_list& found) {
  auto record = storage::decode_limit_key(value);
  if (!is_read(key, record, found))
    return;
  bool is_of_all = key.limit.name.empty();
  bool is_of_one = record->paid_at != 0 || record->closed_until != timestamp{};
  if (is_of_all ? is_of_one : record->used_up_at != timestamp{})
    found.add(in_words(key), "says something about other keys than its own");
}

void check(
  shard_facts&, const storage::permit_key& key, std::string_view value, finding_list& found) {
  auto record = storage::decode_permit(value, key.number);
  if (is_read(key, record, found) && key.asker == key.shard)
    found.add(in_words(key), "is of the shard that owns its keys");
}

void check(
  shard_facts& facts, const storage::queue_key& key, std::string_view value, finding_list& found) {
  auto e = storage::decode_queue(value, key.queue);
  if (is_read(key, e, found))
    check_given(facts, in_words(key), {"position", e->position}, found);
}

void check(
  shard_facts& facts, const storage::totals_key& key, std::string_view value, finding_list& found) {
  auto totals = storage::decode_totals(value, key.queue);
  if (is_read(key, totals, found) && totals->totals.purged_below > facts.given_below)
    found.add(in_words(key), "says that tasks were purged that there never were");
}

void check(
  shard_facts& facts, const storage::key_key& key, std::string_view value, finding_list& found) {
  auto record = storage::decode_key(value);
  if (!is_read(key, record, found))
    return;
  check_given(facts, in_words(key), {"sequence", record->seq}, found);
  check_given(facts, in_words(key), {"position", record->since}, found);
  if (facts.has(storage::aside_key{facts.id, record->seq}.encode()))
    found.add(in_words(key), "is kept for a task that is not closed");
}

void check(
  shard_facts& facts,
  const storage::producer_key& key,
  std::string_view value,
  finding_list& found) {
  auto session = storage::decode_producer(value, key.producer);
  if (!is_read(key, session, found))
    return;
  for (const auto& answer : session->answers)
    for (const auto& run : answer.answer.tasks)
      check_run(facts, in_words(key), run, found);
}

void check(
  shard_facts& facts,
  const storage::history_key& key,
  std::string_view value,
  finding_list& found) {
  auto note = storage::decode_note(value, key.seq);
  if (!is_read(key, note, found))
    return;
  auto last = key.seq + note->tasks - 1;
  check_given(facts, in_words(key), {"sequence", last}, found);
  if (note->tasks > core::shared_note_tasks_max)
    found.add(in_words(key), "is the entry of " + std::to_string(note->tasks) + " tasks");
  auto slot = note->tasks > 1 ? storage::history_key::shared_slot
                              : note->number % limits::history_events_max;
  if (slot != key.slot || (note->tasks > 1 && note->number > 0))
    found.add(in_words(key), "is entry " + std::to_string(note->number) + " in a wrong place");
  auto segment = note->aside ? storage::aside_key{facts.id, note->segment}.encode()
                             : storage::segment_key{facts.id, note->segment}.encode();
  bool is_known = facts.has(segment)
                  || facts.has(storage::fate_key{facts.id, note->segment}.encode());
  for (auto seq = key.seq; !is_known && seq <= last; ++seq)
    is_known = facts.has(storage::aside_key{facts.id, seq}.encode())
               || facts.has(storage::copied_fate_key{facts.id, seq}.encode());
  facts.histories_left += is_known ? 0 : 1;
}

void check(
  shard_facts& facts,
  const storage::headers_key& key,
  std::string_view value,
  finding_list& found) {
  auto at = storage::decode_headers_time(value);
  if (is_read(key, at, found))
    check_given(facts, in_words(key), {"sequence", key.number}, found);
}

void check(
  shard_facts& facts, const storage::audit_key& key, std::string_view value, finding_list& found) {
  timestamp at{duration{static_cast<duration::rep>(key.at_ms)}};
  auto entry = storage::decode_audit(value, at, key.operation);
  if (!is_read(key, entry, found))
    return;
  check_given(facts, in_words(key), {"position", key.position}, found);
  if (entry->task != 0)
    check_given(facts, in_words(key), {"sequence", entry->task}, found);
  if (to_string(entry->action) == "unknown")
    found.add(in_words(key), "is of an unknown kind of command");
  else if (entry->tenant.empty() && !entry->queue.empty())
    found.add(in_words(key), "is of a queue without a tenant");
}

void check(
  shard_facts&, const storage::replica_key& key, std::string_view value, finding_list& found) {
  static_cast<void>(is_read(key, storage::decode_replica(value), found));
}

void check(
  shard_facts& facts,
  const storage::replica_position_key& key,
  std::string_view value,
  finding_list& found) {
  auto at = storage::decode_position(value);
  if (!is_read(key, at, found))
    return;
  auto start = storage::epoch_start_key{key.shard, at->epoch}.encode();
  if (!facts.has(storage::replica_key{key.shard}.encode()))
    found.add(in_words(key), "is there without a replica");
  if (at->number != 0 && !facts.has(start))
    found.add(in_words(key), "is in an epoch that never began");
}

void check(
  shard_facts& facts,
  const storage::epoch_start_key& key,
  std::string_view value,
  finding_list& found) {
  auto number = storage::decode_epoch_start(value);
  if (!is_read(key, number, found))
    return;
  if (key.epoch > facts.replica_last.epoch || *number > facts.replica_last.number)
    found.add(in_words(key), "begins after the last delta of the replica");
}

template <class Key>
constexpr record_kind kind_of(std::string_view name) {
  return {
    name,
    [](std::string_view bytes) -> std::optional<shard_id> {
      auto key = Key::decode(bytes);
      return key ? std::optional{key->shard} : std::nullopt;
    },
    [](shard_facts& facts, std::string_view key, std::string_view value, finding_list& found) {
      check(facts, *Key::decode(key), value, found);
    }};
}

constexpr std::array kinds{
  kind_of<storage::shard_key>("snapshot"),
  kind_of<storage::segment_key>("segment"),
  kind_of<storage::aside_key>("aside"),
  kind_of<storage::grant_key>("grant"),
  kind_of<storage::outcome_key>("outcome"),
  kind_of<storage::block_key>("block"),
  kind_of<storage::queue_key>("queue"),
  kind_of<storage::totals_key>("totals"),
  kind_of<storage::change_key>("change"),
  kind_of<storage::follow_up_key>("follow-up"),
  kind_of<storage::fate_key>("fate"),
  kind_of<storage::copied_fate_key>("copied-fate"),
  kind_of<storage::key_key>("key"),
  kind_of<storage::producer_key>("producer"),
  kind_of<storage::body_key>("body"),
  kind_of<storage::checkpoint_key>("task-checkpoint"),
  kind_of<storage::dead_key>("dead"),
  kind_of<storage::headers_key>("headers"),
  kind_of<storage::history_key>("history"),
  kind_of<storage::audit_key>("audit"),
  kind_of<storage::schedule_key>("schedule"),
  kind_of<storage::progress_key>("schedule-progress"),
  kind_of<storage::occurrence_key>("occurrence"),
  kind_of<storage::limit_name_key>("limit"),
  kind_of<storage::limit_key_key>("limit-key"),
  kind_of<storage::permit_key>("permit"),
  kind_of<storage::replica_key>("replica"),
  kind_of<storage::replica_position_key>("replica-position"),
  kind_of<storage::epoch_start_key>("epoch-start"),
};

} // namespace

std::span<const record_kind> record_kinds() {
  return kinds;
}

} // namespace codeq::maintenance
