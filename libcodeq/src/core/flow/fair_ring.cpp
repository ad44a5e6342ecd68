// SPDX-License-Identifier: Apache-2.0
#include "core/flow/fair_ring.hpp"

#include "base/assert.hpp"

#include <algorithm>
#include <utility>

namespace codeq::core {

namespace {

/// The time for which a member waits: until its credit is that of a margin, on a shard that may be
/// behind the one which gave it by another one; and one more, so that no credit is lost meanwhile.
constexpr std::int64_t waited_max = 3 * rival_age_margin.count();

} // namespace

void fair_ring::add(
  places& all, member who, std::uint32_t weight, std::shared_ptr<shared_credit> shared) {
  if (who >= all.size())
    all.resize(who + 1);
  auto& p = all[who];
  CODEQ_ASSERT(!p.is_member() && weight > 0);
  auto credit = shared ? shared->read() : fair_credit{0, time_};
  // Another shard may have given for a time of which nothing was used.
  auto used_until = credit.given - std::max<std::int64_t>(credit.credit, 0) / weight;
  if (size_ == 0)
    time_ = used_until;
  least_reach_ = std::min(least_reach_, used_until);
  p = {credit, who, who, weight, lap_ - 2, false, false, std::move(shared)};
  weights_ += weight;
  heaviest_ = std::max(heaviest_, weight);
  if (size_++ == 0) {
    first_ = who;
    return;
  }
  auto last = all[first_].previous;
  p.next = first_;
  p.previous = last;
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
  if (--size_ == 0)
    begin_round();
}

void fair_ring::begin_turn(place& p, std::int64_t cost) {
  CODEQ_ASSERT(cost > 0);
  if (p.lap == lap_)
    begin_round();
  bool had_turn = p.lap == lap_ - 1;
  p.lap = lap_;
  seen_ = std::max(seen_, cost);
  largest_ = std::max(largest_, cost);
  largest_ever_ = std::max(largest_ever_, largest_);
  // The time may have gone on without a member that waits.
  auto owed_max = p.has_waited ? largest_ : none_reached;
  auto owed = had_turn ? std::clamp<std::int64_t>(time_ - p.own.given, 0, owed_max) : 0;
  auto waited = p.shared ? waited_max : 0;
  fair_allowance allowance{time_ + largest_, p.weight, largest_, owed, waited};
  // The largest cost may have been greater when the cost of its next task ended its last turn with
  // credit left.
  auto left = std::min(p.own.credit, largest_);
  p.own = p.shared ? p.shared->add(allowance) : add_allowance({left, p.own.given}, allowance);
  p.has_turn = true;
}

void fair_ring::begin_round() {
  ++lap_;
  time_ += largest_;
  largest_ = std::exchange(seen_, 1);
  // Other shards may have given all members their allowances for later rounds.
  if (least_reach_ != none_reached)
    time_ = std::max(time_, least_reach_ - largest_);
  least_reach_ = none_reached;
}

void fair_ring::charge(places& all, std::int64_t cost) const {
  auto& p = all[first_];
  p.own.credit -= cost;
  if (!p.shared)
    return;
  p.shared->change(-cost);
  p.shared->note_round(time_, largest_);
}

void fair_ring::settle(places& all, member who, std::int64_t difference) const {
  auto& p = all[who];
  auto before = p.credit().credit;
  auto most = std::max(before, p.has_turn ? allowance_of(p) : largest_);
  // A debt of a shard with longer tasks is not forgiven.
  auto least = p.shared ? std::min(before, -allowance_of(p)) : -allowance_of(p);
  auto after = std::clamp(before + difference, least, most);
  p.own.credit = after;
  if (p.shared)
    p.shared->change(after - before);
}

} // namespace codeq::core
