// SPDX-License-Identifier: Apache-2.0
#include "storage/retention_keeper.hpp"

#include "storage/keyspace.hpp"
#include "storage/retention_codec.hpp"

#include <algorithm>

namespace codeq::storage {

namespace {

/// Of its limit, what is kept when there is too much; so that it does not begin anew at once.
constexpr std::uint64_t eighths_kept = 7;

} // namespace

result<void> retention_keeper::look(std::atomic<bool>& cancelled) {
  auto bytes = measure();
  bool is_too_much = bytes > options_.bytes_max;
  bool is_due = is_too_much || has_grown(bytes, kept_bytes_)
                || has_grown(measure_histories(), kept_history_bytes_);
  if (!is_due)
    return {};
  if (is_too_much)
    if (auto ok = choose_victims(bytes); !ok)
      return ok;
  // Histories last: they go with the fates.
  for (const auto& range : {all_outcomes(), all_fates(), all_histories()})
    if (auto ok = options_.store->compact(range.begin, range.end, cancelled); !ok)
      return ok;
  kept_bytes_ = measure();
  kept_history_bytes_ = measure_histories();
  return {};
}

bool retention_keeper::has_grown(std::uint64_t bytes, std::uint64_t kept) const {
  return bytes > kept + kept / 2 + options_.slack_bytes;
}

std::uint64_t retention_keeper::measure_histories() const {
  auto range = all_histories();
  return options_.store->approximate_bytes(range.begin, range.end);
}

std::uint64_t retention_keeper::measure() const {
  std::uint64_t bytes = 0;
  for (const auto& range : {all_outcomes(), all_fates()})
    bytes += options_.store->approximate_bytes(range.begin, range.end);
  return bytes;
}

result<void> retention_keeper::choose_victims(std::uint64_t bytes) {
  auto view = options_.horizons->view();
  timestamp now{};
  for (const auto& [shard, horizon] : view.horizons)
    now = std::max(now, horizon->at);
  auto first = oldest();
  if (!first)
    return first.error();
  // As if they had come evenly; where that is not so, the next look takes more.
  auto from = std::max(*first, view.evicted_before);
  auto surplus = bytes - options_.bytes_max / 8 * eighths_kept;
  auto share = static_cast<duration::rep>(surplus * 1024 / bytes);
  if (from < now)
    options_.horizons->evict_before(from + (now - from) * share / 1024);
  return {};
}

result<timestamp> retention_keeper::oldest() const {
  auto view = options_.horizons->view();
  auto first = timestamp::max();
  for (const auto& [shard, horizon] : view.horizons) {
    auto range = outcomes_of(shard);
    auto scanned = options_.store->scan(range.begin, range.end, [&](auto, std::string_view value) {
      if (auto lifetime = decode_outcome_lifetime(value))
        first = std::min(first, lifetime->since);
      return false;
    });
    if (!scanned)
      return scanned.error();
  }
  return first;
}

} // namespace codeq::storage
