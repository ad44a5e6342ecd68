// SPDX-License-Identifier: Apache-2.0
#include "worker/node/lease_book.hpp"

#include <algorithm>
#include <utility>

namespace codeq::worker {

namespace {

/// Its coordinator has had time to answer and has not: a look that comes late is no reason to end a
/// lease.
bool is_unanswered(const held_lease& lease, monotonic_time now) {
  return lease.awaits_answer() && now >= lease.beaten_at + lease.lease / 4;
}

} // namespace

held_lease& lease_book::add(const lease_key& key, held_lease lease) {
  auto due = lease.counted_from + lease.lease / 4;
  if (!next_look_ || due < *next_look_)
    next_look_ = due;
  return leases_.insert_or_assign(key, std::move(lease)).first->second;
}

held_lease* lease_book::find(const lease_key& key) {
  auto found = leases_.find(key);
  return found == leases_.end() ? nullptr : &found->second;
}

std::optional<held_lease> lease_book::take(const lease_key& key) {
  auto taken = leases_.extract(key);
  return taken ? std::optional(std::move(taken.mapped())) : std::nullopt;
}

lease_book::look_result lease_book::look(monotonic_time now, const lease_test& is_reached) {
  look_result seen;
  auto shortest = duration::max();
  auto next_end = monotonic_time::max();
  for (auto& [key, lease] : leases_) {
    shortest = std::min(shortest, lease.lease);
    const bool reached = is_reached(key);
    if (now >= lease.valid_until() && (!reached || is_unanswered(lease, now))) {
      if (lease.stop == stop_cause::none)
        seen.over.push_back(key);
      continue;
    }
    if (reached && now >= lease.counted_from + lease.lease / 4) {
      seen.beats.push_back({key, lease.seq, lease.phase});
      lease.beat(now);
    }
    if (lease.awaits_answer() && lease.valid_until() > now)
      next_end = std::min(next_end, lease.valid_until());
  }
  std::sort(seen.over.begin(), seen.over.end());
  next_look_ =
    leases_.empty() ? std::nullopt : std::optional{std::min(now + shortest / 4, next_end)};
  return seen;
}

std::vector<beat> lease_book::beat_all(monotonic_time now, const lease_test& is_meant) {
  std::vector<beat> beats;
  for (const auto& key : keys()) {
    if (!is_meant(key))
      continue;
    auto& lease = leases_.at(key);
    beats.push_back({key, lease.seq, lease.phase});
    lease.beaten_at = {};
    lease.beat(now);
  }
  return beats;
}

std::vector<lease_key> lease_book::keys() const {
  std::vector<lease_key> held;
  for (const auto& [key, lease] : leases_)
    held.push_back(key);
  std::sort(held.begin(), held.end());
  return held;
}

} // namespace codeq::worker
