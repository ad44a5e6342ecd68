// SPDX-License-Identifier: Apache-2.0
#include "http/desk/claim_turns.hpp"

#include <utility>
#include <vector>

namespace codeq::http {

void claim_turns::begin(step next) {
  waiting_[next.tenant].push_back(std::move(next));
  start_all();
}

void claim_turns::end(const std::string& tenant) {
  auto at = started_.find(tenant);
  if (--at->second == 0)
    started_.erase(at);
  start_all();
}

bool claim_turns::may_wait(const step& next) const {
  return started_.contains(next.tenant)
         || (!started_.empty() && shares_->used_by(next.tenant) < next.bytes);
}

bool claim_turns::start_first(const std::string& tenant) {
  auto at = waiting_.find(tenant);
  auto& first = at->second.front();
  bool has_room = shares_->has_room(tenant, first.bytes);
  if (!has_room && may_wait(first))
    return false;
  auto next = std::move(first);
  at->second.pop_front();
  if (at->second.empty())
    waiting_.erase(at);
  auto taken = next.share->resize(next.share->size() + next.bytes);
  if (taken)
    ++started_[tenant];
  next.start(taken);
  return true;
}

void claim_turns::start_all() {
  // A step that ends at once calls this function again from within the loop.
  if (std::exchange(is_starting_, true))
    return;
  for (bool any = true; any;) {
    any = false;
    std::vector<std::string> tenants;
    for (const auto& [tenant, steps] : waiting_)
      tenants.push_back(tenant);
    for (const auto& tenant : tenants)
      any = start_first(tenant) || any;
  }
  is_starting_ = false;
}

} // namespace codeq::http
