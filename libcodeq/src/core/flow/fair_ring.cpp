// SPDX-License-Identifier: Apache-2.0
#include "core/flow/fair_ring.hpp"

#include "base/assert.hpp"

#include <algorithm>
#include <iterator>

namespace codeq::core {

void fair_ring::add(member who, std::uint32_t weight) {
  CODEQ_ASSERT(!contains(who) && weight > 0);
  order_.push_back({who, weight});
  places_.emplace(who, std::prev(order_.end()));
}

void fair_ring::remove(member who) {
  auto at = places_.find(who);
  CODEQ_ASSERT(at != places_.end());
  order_.erase(at->second);
  places_.erase(at);
  turns_left_ = std::min(turns_left_, order_.size());
}

void fair_ring::begin_turn(place& p, std::int64_t cost) {
  CODEQ_ASSERT(cost > 0);
  if (turns_left_ == 0) {
    turns_left_ = order_.size();
    largest_ = seen_;
    seen_ = 1;
  }
  --turns_left_;
  seen_ = std::max(seen_, cost);
  largest_ = std::max(largest_, cost);
  // The largest cost may have been greater when the member came into debt.
  p.credit = std::max(p.credit, -allowance_of(p)) + allowance_of(p);
  p.has_turn = true;
}

void fair_ring::end_turn() {
  order_.front().has_turn = false;
  order_.splice(order_.end(), order_, order_.begin());
}

void fair_ring::settle(member who, std::int64_t difference) {
  auto at = places_.find(who);
  if (at == places_.end())
    return;
  auto& p = *at->second;
  auto most = std::max(p.credit, p.has_turn ? allowance_of(p) : largest_);
  p.credit = std::clamp(p.credit + difference, -allowance_of(p), most);
}

} // namespace codeq::core
