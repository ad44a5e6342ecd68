// SPDX-License-Identifier: Apache-2.0
#include "storage/retention/retention_keeper.hpp"

#include "storage/keys/keyspace.hpp"
#include "storage/records/retention_codec.hpp"

#include <algorithm>
#include <initializer_list>
#include <utility>

namespace codeq::storage {

namespace {

/// Eighths of the limit that are kept when it is exceeded, so that it is not exceeded again at
/// once.
constexpr std::uint64_t eighths_kept = 7;

/// Compares by identity: a horizon is never changed, only replaced.
bool is_same(const retention_view& a, const retention_view& b) {
  return a.evicted_before == b.evicted_before
         && a.audits_evicted_before == b.audits_evicted_before && a.horizons == b.horizons;
}

timestamp latest_of(const retention_view& view) {
  timestamp now{};
  for (const auto& [shard, horizon] : view.horizons)
    now = std::max(now, horizon->at);
  return now;
}

/// The time before which records are dropped so that the rest is within its limit. Assumes that
/// they arrived evenly since `from`; otherwise the next look drops more.
timestamp
time_to_evict(timestamp from, timestamp now, std::uint64_t bytes, std::uint64_t bytes_max) {
  if (from >= now)
    return {};
  auto surplus = bytes - bytes_max / 8 * eighths_kept;
  auto share = static_cast<duration::rep>(surplus * 1024 / bytes);
  return from + (now - from) * share / 1024;
}

result<std::uint64_t> bytes_of(const task_store& store, std::initializer_list<key_range> ranges) {
  std::uint64_t bytes = 0;
  for (const auto& range : ranges) {
    auto size = store.approximate_bytes(range.begin, range.end);
    if (!size)
      return size;
    bytes += *size;
  }
  return bytes;
}

} // namespace

result<void> retention_keeper::look(std::atomic<bool>& cancelled) {
  auto found = measure();
  if (!found)
    return found.error();
  bool is_too_much = found->droppable_ends > options_.bytes_max;
  bool is_log_too_long = found->droppable_audits > options_.audit_bytes_max;
  bool is_due = is_too_much || is_log_too_long || has_grown(found->ends, kept_.ends)
                || has_grown(found->histories, kept_.histories)
                || has_grown(found->audits, kept_.audits);
  if (!is_due)
    return {};
  if (is_too_much)
    if (auto ok = choose_victims(found->droppable_ends, cancelled); !ok)
      return ok;
  if (is_log_too_long)
    if (auto ok = choose_audit_victims(found->droppable_audits); !ok)
      return ok;
  return rewrite(cancelled);
}

result<void> retention_keeper::rewrite(std::atomic<bool>& cancelled) {
  auto view = options_.horizons->view();
  // The same records would be kept as last time.
  if (is_same(view, judged_by_))
    return {};
  // The others come last, since they depend on the fates.
  for (const auto& range :
       {all_outcomes(),
        all_fates(),
        all_copied_fates(),
        all_histories(),
        all_headers(),
        all_keys(),
        all_audits()})
    if (auto ok = options_.store->compact(range.begin, range.end, cancelled); !ok)
      return ok;
  if (cancelled)
    return {};
  auto left = measure();
  if (!left)
    return left.error();
  kept_ = *left;
  judged_by_ = std::move(view);
  return {};
}

bool retention_keeper::has_grown(std::uint64_t bytes, std::uint64_t kept) const {
  return bytes > kept + kept / 2 + options_.slack_bytes;
}

result<retention_keeper::sizes> retention_keeper::measure() const {
  auto ends =
    bytes_of(*options_.store, {all_outcomes(), all_fates(), all_copied_fates(), all_keys()});
  if (!ends)
    return ends.error();
  auto histories = bytes_of(*options_.store, {all_histories(), all_headers()});
  if (!histories)
    return histories.error();
  auto audits = bytes_of(*options_.store, {all_audits()});
  if (!audits)
    return audits.error();
  sizes found{*ends, *histories, *audits};
  for (const auto& [shard, horizon] : options_.horizons->view().horizons) {
    auto droppable = bytes_of(
      *options_.store,
      {outcomes_of(shard), fates_of(shard), copied_fates_of(shard), keys_of(shard)});
    if (!droppable)
      return droppable.error();
    found.droppable_ends += *droppable;
    auto droppable_audits = bytes_of(*options_.store, {audits_of(shard)});
    if (!droppable_audits)
      return droppable_audits.error();
    found.droppable_audits += *droppable_audits;
  }
  return found;
}

result<void>
retention_keeper::choose_victims(std::uint64_t bytes, const std::atomic<bool>& cancelled) {
  auto view = options_.horizons->view();
  auto now = latest_of(view);
  auto first = oldest(cancelled);
  if (!first)
    return first.error();
  // The scan was not complete.
  if (cancelled)
    return {};
  auto from = std::max(*first, view.evicted_before);
  options_.horizons->evict_before(time_to_evict(from, now, bytes, options_.bytes_max));
  return {};
}

result<void> retention_keeper::choose_audit_victims(std::uint64_t bytes) {
  auto view = options_.horizons->view();
  auto first = timestamp::max();
  auto note = [&](std::string_view key, std::string_view) {
    if (auto entry = audit_key::decode(key))
      first = std::min(first, timestamp{duration{static_cast<duration::rep>(entry->at_ms)}});
    return false;
  };
  for (const auto& [shard, horizon] : view.horizons) {
    auto entries = audits_of(shard);
    if (auto ok = options_.store->scan(entries.begin, entries.end, note); !ok)
      return ok.error();
  }
  auto from = std::max(first, view.audits_evicted_before);
  options_.horizons->evict_audits_before(
    time_to_evict(from, latest_of(view), bytes, options_.audit_bytes_max));
  return {};
}

result<timestamp> retention_keeper::oldest(const std::atomic<bool>& cancelled) const {
  auto first = timestamp::max();
  auto note = [&](const result<record_lifetime>& lifetime) {
    if (lifetime)
      first = std::min(first, lifetime->since);
  };
  // Outcomes are in the order of their times. Fates are in the order of their tasks, of which an
  // early one may have ended late; so all fates are read, and once more when they are rewritten.
  auto note_outcome = [&](std::string_view, std::string_view value) {
    note(decode_outcome_lifetime(value));
    return false;
  };
  auto note_fate = [&](std::string_view, std::string_view value) {
    note(decode_fate_lifetime(value));
    return !cancelled;
  };
  auto view = options_.horizons->view();
  for (const auto& [shard, horizon] : view.horizons) {
    auto outcomes = outcomes_of(shard);
    auto fates = fates_of(shard);
    if (auto ok = options_.store->scan(outcomes.begin, outcomes.end, note_outcome); !ok)
      return ok.error();
    if (auto ok = options_.store->scan(fates.begin, fates.end, note_fate); !ok)
      return ok.error();
    auto copied = copied_fates_of(shard);
    if (auto ok = options_.store->scan(copied.begin, copied.end, note_fate); !ok)
      return ok.error();
  }
  return first;
}

} // namespace codeq::storage
