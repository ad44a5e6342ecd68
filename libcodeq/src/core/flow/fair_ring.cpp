// SPDX-License-Identifier: Apache-2.0
#include "core/flow/fair_ring.hpp"

#include "base/assert.hpp"

#include <algorithm>

namespace codeq::core {

void fair_ring::add(places& all, member who, std::uint32_t weight) {
  if (who >= all.size())
    all.resize(who + 1);
  CODEQ_ASSERT(!all[who].is_member() && weight > 0);
  all[who] = {0, who, who, weight, false};
  weights_ += weight;
  heaviest_ = std::max(heaviest_, weight);
  if (size_++ == 0) {
    first_ = who;
    return;
  }
  auto last = all[first_].previous;
  all[who].next = first_;
  all[who].previous = last;
  all[last].next = who;
  all[first_].previous = who;
}

void fair_ring::set_weight(places& all, member who, std::uint32_t weight) {
  weights_ += weight;
  weights_ -= all[who].weight;
  all[who].weight = weight;
  heaviest_ = std::max(heaviest_, weight);
}

void fair_ring::remove(places& all, member who) {
  auto gone = all[who];
  CODEQ_ASSERT(gone.is_member());
  all[gone.previous].next = gone.next;
  all[gone.next].previous = gone.previous;
  if (first_ == who)
    first_ = gone.next;
  all[who] = {};
  weights_ -= gone.weight;
  --size_;
  turns_left_ = std::min(turns_left_, size_);
}

void fair_ring::begin_turn(place& p, std::int64_t cost) {
  CODEQ_ASSERT(cost > 0);
  if (turns_left_ == 0) {
    turns_left_ = size_;
    largest_ = seen_;
    seen_ = 1;
  }
  --turns_left_;
  seen_ = std::max(seen_, cost);
  largest_ = std::max(largest_, cost);
  largest_ever_ = std::max(largest_ever_, largest_);
  // The largest cost may have been greater when the member came into debt, and when the cost of its
  // next task ended its last turn with credit left.
  p.credit = std::clamp(p.credit, -allowance_of(p), largest_) + allowance_of(p);
  p.has_turn = true;
}

void fair_ring::settle(places& all, member who, std::int64_t difference) const {
  auto& p = all[who];
  auto most = std::max(p.credit, p.has_turn ? allowance_of(p) : largest_);
  p.credit = std::clamp(p.credit + difference, -allowance_of(p), most);
}

} // namespace codeq::core
