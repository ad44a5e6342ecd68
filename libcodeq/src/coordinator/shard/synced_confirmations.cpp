// SPDX-License-Identifier: Apache-2.0
#include "coordinator/shard/synced_confirmations.hpp"

#include <utility>

namespace codeq::coordinator {

bool synced_confirmations::submit(std::uint64_t number, monotonic_time now) {
  const auto has_uncovered = !held_.empty() && held_.back().commit > asked_;
  if (!(is_wanted_ || has_uncovered) || now < next_sync_)
    return false;
  is_wanted_ = false;
  asked_ = number;
  syncs_.push_back(number);
  next_sync_ = now + pace_;
  return true;
}

void synced_confirmations::add(core::follow_ups_taken taken, std::uint64_t committed) {
  held_.push_back({std::move(taken), pace_ > duration{0} ? committed : 0});
}

std::vector<core::follow_ups_taken> synced_confirmations::take(std::uint64_t committed) {
  for (; !syncs_.empty() && syncs_.front() <= committed; syncs_.pop_front())
    synced_ = syncs_.front();
  std::vector<core::follow_ups_taken> synced;
  for (; !held_.empty() && held_.front().commit <= synced_; held_.pop_front())
    synced.push_back(std::move(held_.front().taken));
  return synced;
}

std::optional<monotonic_time> synced_confirmations::next_look() const {
  const auto has_uncovered = !held_.empty() && held_.back().commit > asked_;
  return has_uncovered ? std::optional(next_sync_) : std::nullopt;
}

} // namespace codeq::coordinator
