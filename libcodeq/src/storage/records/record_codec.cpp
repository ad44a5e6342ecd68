// SPDX-License-Identifier: Apache-2.0
#include "storage/records/record_codec.hpp"

#include "encoding/limit_structs.hpp"
#include "encoding/schema_enums.hpp"
#include "encoding/shared_structs.hpp"
#include "record.capnp.h"
#include "storage/records/record_build.hpp"

#include <algorithm>

namespace codeq::storage {

namespace {

using encoding::read_producer;
using encoding::read_queue;
using encoding::read_runs;
using encoding::write_packed;
using encoding::write_producer;
using encoding::write_queue;
using encoding::write_runs;

/// Fills a list with one number per entry.
template <class List, class F>
void fill_list(List list, const std::vector<core::task_entry>& entries, F&& get) {
  for (capnp::uint i = 0; i < entries.size(); ++i)
    list.set(i, get(entries[i]));
}

template <class F>
void fill_data(capnp::Data::Builder data, const std::vector<core::task_entry>& entries, F&& get) {
  for (std::size_t i = 0; i < entries.size(); ++i)
    data[i] = static_cast<kj::byte>(get(entries[i]));
}

/// Writes the lists of a fate record.
template <class Builder>
void write_entries(Builder r, const std::vector<core::task_entry>& entries) {
  auto n = static_cast<capnp::uint>(entries.size());
  fill_data(r.initStates(n), entries, [](const auto& e) { return e.state; });
  fill_data(r.initLastEnds(n), entries, [](const auto& e) { return e.last_end; });
  fill_list(r.initAttempts(n), entries, [](const auto& e) { return e.attempt; });
  fill_list(r.initTokens(n), entries, [](const auto& e) { return value(e.token); });
  fill_list(r.initOutcomePositions(n), entries, [](const auto& e) { return e.outcome; });
  fill_list(r.initOutcomeIndexes(n), entries, [](const auto& e) { return e.outcome_index; });
  if (std::any_of(entries.begin(), entries.end(), [](const auto& e) { return e.gone; }))
    fill_data(r.initGone(n), entries, [](const auto& e) { return e.gone; });
}

template <class Reader>
result<std::vector<core::task_entry>> read_entries(Reader r) {
  auto n = r.getStates().size();
  bool agrees = r.getLastEnds().size() == n && r.getAttempts().size() == n
                && r.getTokens().size() == n && r.getOutcomePositions().size() == n
                && r.getOutcomeIndexes().size() == n
                && (r.getGone().size() == 0 || r.getGone().size() == n);
  if (!agrees)
    return mismatch("lists of different lengths");
  std::vector<core::task_entry> entries(n);
  for (capnp::uint i = 0; i < n; ++i) {
    auto& e = entries[i];
    e.state = static_cast<task_state>(r.getStates()[i]);
    e.last_end = static_cast<core::lease_end_kind>(r.getLastEnds()[i]);
    e.attempt = r.getAttempts()[i];
    e.token = static_cast<fencing_token>(r.getTokens()[i]);
    e.outcome = r.getOutcomePositions()[i];
    e.outcome_index = r.getOutcomeIndexes()[i];
    e.gone = r.getGone().size() != 0 && r.getGone()[i] != 0;
  }
  return entries;
}

std::size_t entry_words(std::size_t entries) {
  return entries * 5 + small_words;
}

void write_marks(schema::SegmentRecord::Builder r, const std::vector<core::request_mark>& marks) {
  auto list = r.initRequests(static_cast<capnp::uint>(marks.size()));
  for (capnp::uint i = 0; i < marks.size(); ++i) {
    write_producer(list[i].initProducer(), marks[i].request.producer);
    list[i].setNumber(marks[i].request.number);
    list[i].setAnsweredBelow(marks[i].request.answered_below);
    list[i].setOffset(marks[i].offset);
    list[i].setCount(marks[i].count);
  }
}

/// Reads totals from their own record, or from an entry in a snapshot's list.
template <class Reader>
core::queue_totals read_totals(Reader r, queue_address queue) {
  return {
    std::move(queue),
    r.getCompleted(),
    r.getDead(),
    r.getCancelled(),
    r.getLost(),
    r.getPurgedBelow(),
    {},
    0,
    {}};
}

} // namespace

std::string encode(const store_record& record) {
  return build<schema::StoreRecord>(small_words, [&](auto r) {
    r.setFormatVersion(record.version);
    r.setStoreId(record.store_id);
    r.setShardCount(record.shard_count);
    r.setEpoch(record.epoch);
  });
}

std::string encode(const core::segment_appended& e) {
  auto words = encoding::packed_words(e.body_bytes, e.count) + e.requests.size() * 8 + 128
               + encoding::limit_words(e.limits);
  return build<schema::SegmentRecord>(words, [&](auto r) {
    r.setPosition(e.position);
    r.setAtMs(ms_of(e.at));
    write_queue(r.initQueue(), e.queue);
    r.setPriority(e.priority);
    encoding::write_settings(r.initSettings(), e.settings);
    r.setNotBeforeMs(ms_of(e.not_before));
    r.setAllowPromotion(e.allow_promotion);
    r.setGroup({reinterpret_cast<const kj::byte*>(e.group.data()), e.group.size()});
    r.setKey({reinterpret_cast<const kj::byte*>(e.key.data()), e.key.size()});
    write_fairness(r, e.fairness);
    encoding::write_limits_of(r, e.limits);
    write_marks(r, e.requests);
    write_packed(r.initTasks(), std::span<const core::encoded_tasks>(e.pieces));
  });
}

std::string encode(const core::batch_granted& e) {
  return build<schema::GrantRecord>(small_words + e.runs.size() * 2, [&](auto r) {
    r.setPosition(e.position);
    r.setAtMs(ms_of(e.at));
    r.initWorker().setName({e.worker->name.data(), e.worker->name.size()});
    r.getWorker().setIncarnation(e.worker->incarnation);
    r.setLeaseMs(static_cast<std::uint64_t>(e.lease.count()));
    r.setFirstToken(value(e.first_token));
    write_runs(r.initRuns(static_cast<capnp::uint>(e.runs.size())), e.runs);
  });
}

std::string encode(const core::leases_ended& e) {
  std::size_t text_bytes = 0;
  std::vector<bytes> texts;
  for (const auto& end : e.ends) {
    texts.push_back(end.text);
    text_bytes += end.text.size();
  }
  auto words = encoding::packed_words(text_bytes, texts.size()) + e.ends.size() * 4
               + e.grants.size() * small_words + small_words;
  return build<schema::OutcomeRecord>(words, [&](auto r) {
    r.setPosition(e.position);
    r.setAtMs(ms_of(e.at));
    r.setRetentionMs(count_of(e.retention));
    auto ends = r.initEnds(static_cast<capnp::uint>(e.ends.size()));
    for (capnp::uint i = 0; i < e.ends.size(); ++i) {
      ends[i].setSeq(e.ends[i].seq);
      ends[i].setToken(value(e.ends[i].token));
      ends[i].setKind(encoding::to_schema(e.ends[i].kind));
      ends[i].setCharged(e.ends[i].charged);
      ends[i].setState(encoding::to_schema(e.ends[i].next));
      ends[i].setDueMs(ms_of(e.ends[i].due));
      ends[i].setGrant(e.ends[i].grant);
    }
    auto grants = r.initGrants(static_cast<capnp::uint>(e.grants.size()));
    for (capnp::uint i = 0; i < e.grants.size(); ++i) {
      grants[i].setAtMs(ms_of(e.grants[i].at));
      grants[i].setWorker(e.grants[i].worker);
    }
    write_packed(r.initTexts(), std::span<const bytes>(texts));
  });
}

std::string encode(const core::snapshot_taken& e) {
  return build<schema::ShardRecord>(small_words, [&](auto r) {
    r.setPosition(e.position);
    r.setAtMs(ms_of(e.at));
    r.setNextSequence(e.next_sequence);
    auto forgotten = r.initForgotten(static_cast<capnp::uint>(e.forgotten.size()));
    for (capnp::uint i = 0; i < e.forgotten.size(); ++i) {
      forgotten[i].setTenant(e.forgotten[i].tenant);
      forgotten[i].setCreatedUntilMs(ms_of(e.forgotten[i].created_until));
    }
  });
}

std::string encode(const core::segment_block& block, core::log_position position) {
  auto packed = block.packed.view();
  return build<schema::BlockRecord>(packed.size() / sizeof(capnp::word) + small_words, [&](auto r) {
    r.setPosition(position);
    r.setSegments({reinterpret_cast<const kj::byte*>(packed.data()), packed.size()});
  });
}

std::string encode(const core::segment_fate& fate, core::log_position position) {
  return build<schema::FateRecord>(entry_words(fate.entries.size()), [&](auto r) {
    r.setPosition(position);
    r.setClosedAtMs(ms_of(fate.closed_at));
    r.setEnqueuedAtMs(ms_of(fate.enqueued_at));
    write_queue(r.initQueue(), fate.queue);
    r.setPriority(fate.priority);
    r.setMaxAttempts(fate.max_attempts);
    r.setRetentionMs(count_of(fate.retention));
    if (!fate.group.empty())
      r.setGroup({reinterpret_cast<const kj::byte*>(fate.group.data()), fate.group.size()});
    if (!fate.key.empty())
      r.setKey({reinterpret_cast<const kj::byte*>(fate.key.data()), fate.key.size()});
    write_fairness(r, fate.fairness);
    encoding::write_limits_of(r, fate.limits);
    write_entries(r, fate.entries);
  });
}

result<store_record> decode_store(std::string_view value) {
  return parse<schema::StoreRecord>(value, [](auto r) -> result<store_record> {
    return store_record{r.getFormatVersion(), r.getStoreId(), r.getShardCount(), r.getEpoch()};
  });
}

result<core::segment_appended> decode_segment(std::string_view value, sequence first) {
  return parse<schema::SegmentRecord>(value, [&](auto r) -> result<core::segment_appended> {
    core::segment_appended e;
    e.position = r.getPosition();
    e.at = time_of(r.getAtMs());
    e.first = first;
    e.queue = read_queue(r.getQueue());
    e.priority = r.getPriority();
    e.settings = encoding::read_settings(r.getSettings());
    e.not_before = time_of(r.getNotBeforeMs());
    e.allow_promotion = r.getAllowPromotion();
    e.group.assign(r.getGroup().asChars().begin(), r.getGroup().size());
    e.key.assign(r.getKey().asChars().begin(), r.getKey().size());
    e.fairness = read_fairness(r);
    e.limits = encoding::read_limits(r.getLimits());
    e.count = r.getTasks().getEnds().size();
    e.body_bytes = r.getTasks().getBytes().size();
    for (auto mark : r.getRequests()) {
      core::request_id request{
        read_producer(mark.getProducer()), mark.getNumber(), mark.getAnsweredBelow()};
      e.requests.push_back({request, mark.getOffset(), mark.getCount()});
    }
    if (e.count == 0 || e.priority > limits::priority_max)
      return mismatch("a segment without tasks or of an unknown priority");
    if (!is_valid(e.fairness))
      return mismatch("a segment whose fairness key has no valid weight");
    if (!is_valid(e.limits) || (!e.limits.empty() && e.count != 1))
      return mismatch("a segment whose limits are not valid");
    return e;
  });
}

result<core::encoded_tasks> decode_bodies(std::string_view value) {
  aligned_record record(value);
  return parse<schema::SegmentRecord>(record, [&](auto r) -> result<core::encoded_tasks> {
    auto sizes = encoding::read_sizes(r.getTasks());
    if (!sizes)
      return mismatch("ends of bodies do not fit their bytes");
    auto data = r.getTasks().getBytes().asChars();
    return core::encoded_tasks{bytes(record.words, {data.begin(), data.size()}), std::move(*sizes)};
  });
}

result<core::batch_granted> decode_grant(std::string_view value) {
  return parse<schema::GrantRecord>(value, [](auto r) -> result<core::batch_granted> {
    core::batch_granted e;
    e.position = r.getPosition();
    e.at = time_of(r.getAtMs());
    worker_identity worker{
      encoding::read_text(r.getWorker().getName()), r.getWorker().getIncarnation()};
    e.worker = std::make_shared<const worker_identity>(std::move(worker));
    e.lease = duration{static_cast<duration::rep>(r.getLeaseMs())};
    e.first_token = static_cast<fencing_token>(r.getFirstToken());
    e.runs = read_runs(r.getRuns());
    return e;
  });
}

result<core::leases_ended> decode_outcome(std::string_view value) {
  return parse<schema::OutcomeRecord>(value, [](auto r) -> result<core::leases_ended> {
    core::leases_ended e;
    e.position = r.getPosition();
    e.at = time_of(r.getAtMs());
    e.retention = duration_of(r.getRetentionMs());
    for (auto grant : r.getGrants())
      e.grants.push_back({time_of(grant.getAtMs()), grant.getWorker()});
    for (auto end : r.getEnds()) {
      core::lease_end x;
      x.seq = end.getSeq();
      x.grant = end.getGrant();
      if (x.grant > e.grants.size())
        return mismatch("no grant with that index");
      x.token = static_cast<fencing_token>(end.getToken());
      x.kind = encoding::from_schema<core::lease_end_kind>(end.getKind());
      x.charged = end.getCharged();
      x.next = encoding::from_schema<task_state>(end.getState());
      x.due = time_of(end.getDueMs());
      e.ends.push_back(std::move(x));
    }
    return e;
  });
}

result<bytes> decode_outcome_text(std::string_view value, std::uint32_t index) {
  return parse<schema::OutcomeRecord>(value, [&](auto r) -> result<bytes> {
    auto sizes = encoding::read_sizes(r.getTexts());
    if (!sizes || index >= sizes->size())
      return mismatch("no text with that index");
    auto end = r.getTexts().getEnds()[index];
    auto data = r.getTexts().getBytes().asChars();
    return bytes(std::string(data.begin() + (end - (*sizes)[index]), (*sizes)[index]));
  });
}

result<core::snapshot_taken> decode_snapshot(std::string_view value) {
  return parse<schema::ShardRecord>(value, [](auto r) -> result<core::snapshot_taken> {
    core::snapshot_taken e;
    e.position = r.getPosition();
    e.at = time_of(r.getAtMs());
    e.next_sequence = r.getNextSequence();
    for (auto q : r.getQueues())
      e.queues.push_back(read_totals(q, read_queue(q.getQueue())));
    for (auto of : r.getForgotten())
      e.forgotten.push_back({of.getTenant(), time_of(of.getCreatedUntilMs())});
    return e;
  });
}

result<core::segment_block> decode_block(std::string_view value, sequence first) {
  return parse<schema::BlockRecord>(value, [&](auto r) -> result<core::segment_block> {
    auto packed = r.getSegments().asChars();
    return core::segment_block{first, bytes(std::string(packed.begin(), packed.size()))};
  });
}

result<core::segment_fate> decode_fate(std::string_view value, sequence first) {
  return parse<schema::FateRecord>(value, [&](auto r) -> result<core::segment_fate> {
    auto entries = read_entries(r);
    if (!entries)
      return entries.error();
    core::segment_fate fate;
    fate.first = first;
    fate.closed_at = time_of(r.getClosedAtMs());
    fate.enqueued_at = time_of(r.getEnqueuedAtMs());
    fate.queue = read_queue(r.getQueue());
    fate.priority = r.getPriority();
    fate.max_attempts = r.getMaxAttempts();
    fate.retention = duration_of(r.getRetentionMs());
    fate.group.assign(r.getGroup().asChars().begin(), r.getGroup().size());
    fate.key.assign(r.getKey().asChars().begin(), r.getKey().size());
    fate.fairness = read_fairness(r);
    fate.limits = encoding::read_limits(r.getLimits());
    if (!is_valid(fate.fairness))
      return mismatch("a fate whose fairness key has no valid weight");
    if (!is_valid(fate.limits))
      return mismatch("a fate whose limits are not valid");
    fate.entries = std::move(*entries);
    return fate;
  });
}

std::string encode(const core::queue_configured& e) {
  const auto& config = e.settings.config;
  auto words = small_words + encoding::limit_words(config.limits)
               + encoding::fairness_words(config);
  return build<schema::QueueRecord>(words, [&](auto r) {
    r.setPosition(e.position);
    r.setAtMs(ms_of(e.at));
    encoding::write_config(r, config);
    r.setPaused(e.settings.paused);
    r.setPauseReason({e.settings.pause_reason.data(), e.settings.pause_reason.size()});
  });
}

std::string encode(const core::queue_totals& totals) {
  return build<schema::TotalsRecord>(small_words, [&](auto r) {
    r.setCompleted(totals.completed);
    r.setDead(totals.dead);
    r.setCancelled(totals.cancelled);
    r.setLost(totals.lost);
    r.setPurgedBelow(totals.purged_below);
    r.setHasRecordTimes(true);
    r.setRecordsUntilMs(ms_of(totals.records_until));
    r.setRecordsBelow(totals.records_below);
    r.setPurgedUntilMs(ms_of(totals.purged_until));
  });
}

std::string encode(const core::purge_mark& mark) {
  return build<schema::TotalsRecord>(small_words, [&](auto r) {
    r.setPurgedBelow(mark.below);
    r.setHasRecordTimes(true);
    r.setPurgedUntilMs(ms_of(mark.until));
    r.setIsRemoved(true);
  });
}

result<totals_record> decode_totals(std::string_view value, const queue_address& queue) {
  return parse<schema::TotalsRecord>(value, [&](auto r) -> result<totals_record> {
    totals_record record{read_totals(r, queue), r.getIsRemoved(), r.getHasRecordTimes()};
    record.totals.records_until = time_of(r.getRecordsUntilMs());
    record.totals.records_below = r.getRecordsBelow();
    record.totals.purged_until = time_of(r.getPurgedUntilMs());
    return record;
  });
}

result<core::queue_configured> decode_queue(std::string_view value, const queue_address& queue) {
  return parse<schema::QueueRecord>(value, [&](auto r) -> result<core::queue_configured> {
    core::queue_configured e;
    e.position = r.getPosition();
    e.at = time_of(r.getAtMs());
    e.queue = queue;
    e.settings.config = encoding::read_config(r);
    e.settings.paused = r.getPaused();
    e.settings.pause_reason = encoding::read_text(r.getPauseReason());
    return e;
  });
}

} // namespace codeq::storage
