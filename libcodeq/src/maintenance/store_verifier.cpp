// SPDX-License-Identifier: Apache-2.0
#include "maintenance/store_verifier.hpp"

#include "core/checks/invariants.hpp"
#include "maintenance/common_checks.hpp"
#include "maintenance/finding_list.hpp"
#include "maintenance/key_text.hpp"
#include "maintenance/record_checks.hpp"
#include "maintenance/recovery_trial.hpp"
#include "maintenance/shard_facts.hpp"
#include "storage/records/record_codec.hpp"
#include "storage/recovery/recovery.hpp"
#include "storage/replica/replica_store.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace codeq::maintenance {

namespace {

/// Greater than the keys of every kind.
constexpr std::string_view keys_end = "\xff";

/// The shard as the next start would recover it; null when that is not possible.
std::unique_ptr<core::shard_state> recover_shard(
  const storage::task_store& store, shard_id shard, std::uint32_t epoch, finding_list& found) {
  auto where = "shard " + std::to_string(value(shard));
  if (auto reason = try_recovery(store, shard, epoch); !reason.empty()) {
    found.add(where, "cannot be recovered: " + reason);
    return nullptr;
  }
  auto state = storage::recover(store, shard, epoch, monotonic_time{});
  if (state)
    return std::move(*state);
  found.add(where, "cannot be recovered: " + to_string(state.error()));
  return nullptr;
}

/// Looks at the store's replica of the shard, if there is one, whose epochs are not those of the
/// store. False when its data are only a part of the shard.
bool look_at_replica(
  const storage::task_store& store,
  shard_facts& facts,
  std::uint32_t& epoch,
  store_report& report,
  finding_list& found) {
  auto where = "shard " + std::to_string(value(facts.id));
  auto replica = storage::read_replica(store, facts.id);
  if (!replica)
    found.add(where, "has a replica that cannot be read: " + to_string(replica.error()));
  if (!replica || !*replica)
    return true;
  const auto& [record, log] = **replica;
  facts.replica_last = log.last();
  epoch = std::max({epoch, record.promised, log.last().epoch});
  if (record.is_doubtful)
    report.notes.push_back(
      where + ": lost power; its last writes may be gone until it is compared with others");
  if (record.is_incomplete)
    report.notes.push_back(where + ": is a part of a copy that was not finished");
  return !record.is_incomplete;
}

std::vector<shard_facts> recover_all(
  const storage::task_store& store,
  const storage::store_record& identity,
  store_report& report,
  finding_list& found) {
  std::vector<shard_facts> shards;
  for (std::uint16_t i = 0; i < identity.shard_count; ++i) {
    auto& facts = shards.emplace_back();
    facts.id = shard_id{i};
    facts.store = &store;
    auto epoch = identity.epoch;
    auto is_whole = look_at_replica(store, facts, epoch, report, found);
    facts.given_below = core::first_of_epoch(epoch + 1);
    facts.is_partial = !is_whole;
    if (!is_whole)
      continue;
    facts.state = recover_shard(store, facts.id, epoch + 1, found);
    auto value = store.read(storage::shard_key{facts.id}.encode());
    if (!value || !*value)
      continue;
    if (auto snapshot = storage::decode_snapshot(**value))
      facts.snapshot = snapshot->position;
  }
  return shards;
}

void check_record(
  std::vector<shard_facts>& shards,
  const std::pair<std::string_view, std::string_view>& record,
  store_report& report,
  finding_list& found) {
  const auto& [key, value] = record;
  if (storage::store_key::decode(key) || storage::boot_key::decode(key))
    return;
  for (const auto& kind : record_kinds()) {
    auto shard = kind.shard_of(key);
    if (!shard)
      continue;
    if (codeq::value(*shard) >= shards.size())
      return found.add(bytes_in_words(key), "belongs to a shard that the store does not have");
    ++report.records[*shard][std::string(kind.name)];
    auto& facts = shards[codeq::value(*shard)];
    if (!facts.is_partial)
      kind.check(facts, key, value, found);
    return;
  }
  found.add(bytes_in_words(key), "is of no kind that is known");
}

void check_tokens(shard_facts& facts, finding_list& found) {
  std::sort(facts.granted.begin(), facts.granted.end());
  for (std::size_t i = 1; i < facts.granted.size(); ++i) {
    const auto& [first, count] = facts.granted[i - 1];
    if (first + count > facts.granted[i].first)
      found.add(
        "shard " + std::to_string(value(facts.id)),
        "I3: token " + number_in_words(facts.granted[i].first) + " was given twice");
  }
}

/// Checks the records that a task in memory needs on disk.
void check_needs(shard_facts& facts, const core::segment& s, sequence seq, finding_list& found) {
  auto entry = s.view(seq);
  auto where = "task " + to_string(task_id{facts.id, seq});
  if (entry.state == task_state::dead && !facts.has(storage::dead_key{facts.id, seq}.encode()))
    found.add(where, "is dead, and nothing says why");
  bool is_told = check_end_of(facts, where, {seq, entry}, !is_terminal(entry.state), found);
  // The reason of a dead task was copied into a record of its own.
  facts.results_gone += is_told || entry.state == task_state::dead ? 0 : 1;
  facts.count_end(facts.state->queues[s.queue]->address, entry);
}

/// Records of ended tasks are removed, so there may be fewer tasks than were counted, but never
/// more.
void check_totals(const shard_facts& facts, finding_list& found) {
  for (const auto& [queue, counts] : facts.ended) {
    const auto* known = facts.state->find_queue(queue);
    auto totals = known ? known->totals : core::queue_totals{};
    bool agrees = counts.completed <= totals.completed && counts.dead <= totals.dead
                  && counts.cancelled <= totals.cancelled;
    if (!agrees)
      found.add(
        "shard " + std::to_string(value(facts.id)) + " queue " + queue.tenant + "/" + queue.queue,
        "I9: fewer ends are counted than tasks have ended");
  }
}

void check_shard(shard_facts& facts, finding_list& found) {
  check_tokens(facts, found);
  if (!facts.state)
    return;
  for (const auto& violation : core::find_violations(*facts.state))
    found.add("shard " + std::to_string(value(facts.id)), violation);
  facts.state->segments.for_each([&](const core::segment& s) {
    if (s.replaced && !facts.has(storage::body_key{facts.id, s.first}.encode()))
      found.add(
        "task " + to_string(task_id{facts.id, s.first}),
        "was given another body, which is missing");
    // Tasks that were never leased or changed need nothing.
    for (std::size_t i = 0; i < s.entries.size(); ++i)
      check_needs(facts, s, s.first + i, found);
  });
  check_totals(facts, found);
}

void add_notes(const shard_facts& facts, store_report& report) {
  auto shard = "shard " + std::to_string(value(facts.id)) + ": ";
  if (facts.results_gone > 0)
    report.notes.push_back(
      shard + "the results or errors of " + std::to_string(facts.results_gone)
      + " ended tasks are gone; they have passed their retention or made room");
  if (facts.histories_left > 0)
    report.notes.push_back(
      shard + std::to_string(facts.histories_left)
      + " entries of histories are of forgotten tasks; they go when their files are rewritten");
}

} // namespace

result<void>
verify_records(const storage::task_store& store, std::size_t findings_max, store_report& report) {
  auto identity = storage::read_identity(store);
  if (!identity)
    return identity.error();
  report.store_id = identity->store_id;
  report.format = identity->version;
  report.epoch = identity->epoch;
  finding_list found(report, findings_max);
  auto shards = recover_all(store, *identity, report, found);
  auto scanned = store.scan({}, keys_end, [&](std::string_view key, std::string_view value) {
    check_record(shards, {key, value}, report, found);
    return true;
  });
  if (!scanned)
    found.add("store", "cannot be read to its end: " + to_string(scanned.error()));
  for (auto& facts : shards) {
    check_shard(facts, found);
    add_notes(facts, report);
  }
  return {};
}

} // namespace codeq::maintenance
