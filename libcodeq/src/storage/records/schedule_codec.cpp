// SPDX-License-Identifier: Apache-2.0
#include "codeq/limits.hpp"

#include "record.capnp.h"
#include "storage/records/record_build.hpp"
#include "storage/records/record_codec.hpp"

namespace codeq::storage {

namespace {

constexpr std::size_t entry_words = 12;

std::int64_t seconds_of(schedule::local_seconds when) {
  return when.time_since_epoch().count();
}

schedule::local_seconds local_of(std::int64_t seconds) {
  return schedule::local_seconds{std::chrono::seconds{seconds}};
}

void write_entry(schema::OccurrenceRecord::Builder to, const core::occurrence& entry) {
  to.setNumber(entry.number);
  to.setOrder(seconds_of(entry.nominal.order));
  to.setLocal(seconds_of(entry.nominal.local));
  to.setAtMs(ms_of(entry.at));
  to.setDecidedAtMs(ms_of(entry.decided_at));
  to.setCause(static_cast<std::uint8_t>(entry.cause));
  to.setState(static_cast<std::uint8_t>(entry.state));
  to.setCount(entry.count);
  to.setShard(value(entry.shard));
  to.setTask(entry.task);
  to.setEndedAtMs(ms_of(entry.ended_at));
}

result<core::occurrence> read_entry(schema::OccurrenceRecord::Reader from) {
  bool is_known = from.getCause() <= static_cast<std::uint8_t>(occurrence_cause::backfill)
                  && from.getState() <= static_cast<std::uint8_t>(occurrence_state::waiting);
  if (!is_known)
    return mismatch("an occurrence with an unknown cause or state");
  core::occurrence entry;
  entry.number = from.getNumber();
  entry.nominal = {local_of(from.getOrder()), local_of(from.getLocal())};
  entry.at = time_of(from.getAtMs());
  entry.decided_at = time_of(from.getDecidedAtMs());
  entry.cause = static_cast<occurrence_cause>(from.getCause());
  entry.state = static_cast<occurrence_state>(from.getState());
  entry.count = from.getCount();
  entry.shard = static_cast<shard_id>(from.getShard());
  entry.task = from.getTask();
  entry.ended_at = time_of(from.getEndedAtMs());
  return entry;
}

result<void>
read_progress(schema::ScheduleProgressRecord::Reader from, core::schedule_progress& to) {
  to.paused = from.getPaused();
  to.mark = {local_of(from.getMarkOrder()), local_of(from.getMarkLocal())};
  to.occurrences = from.getOccurrences();
  if (from.hasWaiting()) {
    auto entry = read_entry(from.getWaiting());
    if (!entry)
      return entry.error();
    to.waiting = core::waiting_occurrence{entry->nominal, entry->at, entry->number};
  }
  if (from.hasLatest()) {
    auto entry = read_entry(from.getLatest());
    if (!entry)
      return entry.error();
    to.latest = *entry;
  }
  for (auto open : from.getOpen()) {
    auto entry = read_entry(open.getEntry());
    if (!entry)
      return entry.error();
    to.open.push_back({*entry, open.getSent(), open.getPlace(), open.getIsUnwanted()});
  }
  return {};
}

} // namespace

std::string encode(const core::schedule_definition& definition) {
  auto words = definition.spec.size() / sizeof(std::uint64_t) + small_words;
  return build<schema::ScheduleRecord>(words, [&](auto r) {
    r.setSpec(
      {reinterpret_cast<const kj::byte*>(definition.spec.data()), definition.spec.size()});
    r.setOverlap(static_cast<std::uint8_t>(definition.overlap));
  });
}

result<core::schedule_definition> decode_schedule(std::string_view value) {
  return parse<schema::ScheduleRecord>(value, [](auto r) -> result<core::schedule_definition> {
    if (r.getOverlap() > static_cast<std::uint8_t>(overlap_policy::cancel_previous))
      return mismatch("a schedule with an unknown overlap policy");
    core::schedule_definition definition;
    definition.spec = {r.getSpec().asChars().begin(), r.getSpec().size()};
    definition.overlap = static_cast<overlap_policy>(r.getOverlap());
    return definition;
  });
}

std::string
encode(const core::schedule_progress& progress, core::log_position position, timestamp at) {
  auto words = small_words + (progress.open.size() + 2) * entry_words;
  return build<schema::ScheduleProgressRecord>(words, [&](auto r) {
    r.setPosition(position);
    r.setAtMs(ms_of(at));
    r.setPaused(progress.paused);
    r.setMarkOrder(seconds_of(progress.mark.order));
    r.setMarkLocal(seconds_of(progress.mark.local));
    r.setOccurrences(progress.occurrences);
    if (progress.waiting) {
      core::occurrence entry;
      entry.number = progress.waiting->number;
      entry.nominal = progress.waiting->nominal;
      entry.at = progress.waiting->at;
      entry.state = occurrence_state::waiting;
      write_entry(r.initWaiting(), entry);
    }
    if (progress.latest)
      write_entry(r.initLatest(), *progress.latest);
    if (progress.open.empty())
      return;
    auto open = r.initOpen(static_cast<capnp::uint>(progress.open.size()));
    for (capnp::uint i = 0; i < open.size(); ++i) {
      const auto& from = progress.open[i];
      write_entry(open[i].initEntry(), from.entry);
      open[i].setSent(from.sent);
      open[i].setPlace(from.place);
      open[i].setIsUnwanted(from.is_unwanted);
    }
  });
}

result<progress_record> decode_progress(std::string_view value) {
  return parse<schema::ScheduleProgressRecord>(value, [](auto r) -> result<progress_record> {
    progress_record record{r.getPosition(), time_of(r.getAtMs()), {}};
    if (auto ok = read_progress(r, record.progress); !ok)
      return ok.error();
    return record;
  });
}

std::string encode(const core::occurrence& entry) {
  return build<schema::OccurrenceRecord>(
    entry_words + 2, [&](auto r) { write_entry(r, entry); });
}

result<core::occurrence> decode_occurrence(std::string_view value) {
  return parse<schema::OccurrenceRecord>(value, [](auto r) { return read_entry(r); });
}

} // namespace codeq::storage
