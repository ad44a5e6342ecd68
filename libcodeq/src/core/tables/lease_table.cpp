// SPDX-License-Identifier: Apache-2.0
#include "core/tables/lease_table.hpp"

#include "base/assert.hpp"
#include "base/tuning.hpp"

#include <algorithm>

namespace codeq::core {

namespace {

/// Age at which a lease gets a timer: an eighth of its duration, at most 1 s. Never longer than the
/// shortest lease, so no lease expires without a timer, whatever is before it in the queue.
duration timer_delay_of(duration lease) {
  return std::min(tuning::lease_timer_delay_max, lease / 8);
}

} // namespace

void lease_table::add_grant(log_position position, live_grant grant) {
  grants_by_worker_[grant.worker->name].insert(position);
  grants_.emplace(position, std::move(grant));
}

void lease_table::insert(fencing_token token, const lease& l, monotonic_time now) {
  auto& grant = grants_.at(l.grant);
  if (grant.first == fencing_token{})
    grant.first = token;
  grant.last = token;
  ++grant.live;
  bool is_new = leases_.emplace(token, l).second;
  CODEQ_ASSERT(is_new);
  // A run timeout may be shorter than any lease: such an attempt gets its timer first.
  if (l.deadline - now < tuning::lease_timer_delay_max)
    untimed_.push_front({token, now});
  else
    untimed_.push_back({token, now + timer_delay_of(grant.lease)});
}

lease* lease_table::find(fencing_token token) {
  auto at = leases_.find(token);
  return at == leases_.end() ? nullptr : &at->second;
}

const lease* lease_table::find(fencing_token token) const {
  auto at = leases_.find(token);
  return at == leases_.end() ? nullptr : &at->second;
}

void lease_table::erase(fencing_token token) {
  auto at = leases_.find(token);
  CODEQ_ASSERT(at != leases_.end());
  auto grant = grants_.find(at->second.grant);
  if (--grant->second.live == 0) {
    ended_grants_.push_back(grant->first);
    auto own = grants_by_worker_.find(grant->second.worker->name);
    own->second.erase(grant->first);
    if (own->second.empty())
      grants_by_worker_.erase(own);
    grants_.erase(grant);
  }
  leases_.erase(at);
}

std::vector<fencing_token>
lease_table::tokens_of(const std::function<bool(const live_grant&)>& wanted) const {
  std::vector<fencing_token> tokens;
  for (const auto& [token, l] : leases_) {
    if (wanted(grants_.at(l.grant)))
      tokens.push_back(token);
  }
  std::sort(tokens.begin(), tokens.end());
  return tokens;
}

std::vector<fencing_token> lease_table::tokens_of_worker(
  const std::string& name, const std::function<bool(const live_grant&)>& wanted) const {
  std::vector<fencing_token> tokens;
  auto own = grants_by_worker_.find(name);
  if (own == grants_by_worker_.end())
    return tokens;
  for (auto position : own->second) {
    const auto& grant = grants_.at(position);
    if (!wanted(grant))
      continue;
    for (auto token = value(grant.first); token <= value(grant.last); ++token)
      if (leases_.contains(static_cast<fencing_token>(token)))
        tokens.push_back(static_cast<fencing_token>(token));
  }
  std::sort(tokens.begin(), tokens.end());
  return tokens;
}

std::vector<log_position> lease_table::take_ended_grants() {
  std::sort(ended_grants_.begin(), ended_grants_.end());
  return std::exchange(ended_grants_, {});
}

void lease_table::drop_ended_untimed() {
  while (!untimed_.empty() && !leases_.contains(untimed_.front().token))
    untimed_.pop_front();
}

std::optional<fencing_token> lease_table::take_due_for_timer(monotonic_time now) {
  drop_ended_untimed();
  if (untimed_.empty() || untimed_.front().timer_due > now)
    return std::nullopt;
  auto token = untimed_.front().token;
  untimed_.pop_front();
  return token;
}

std::optional<monotonic_time> lease_table::next_due_for_timer() {
  drop_ended_untimed();
  if (untimed_.empty())
    return std::nullopt;
  return untimed_.front().timer_due;
}

} // namespace codeq::core
