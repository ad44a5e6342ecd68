// SPDX-License-Identifier: Apache-2.0
#include "core/state/fair_lanes.hpp"

#include "base/assert.hpp"

#include <algorithm>

namespace codeq::core {

lane& fair_lanes::enter(fair_key who, weights of, std::uint64_t tasks) {
  auto [at, is_new] = lanes_.try_emplace(who.key);
  if (is_new)
    order_.add(who, of.key, of.group);
  at->second.ready += tasks;
  ready_ += tasks;
  return at->second.tasks;
}

void fair_lanes::leave(fair_key who, sequence seq, bool was_returned) {
  auto at = lanes_.find(who.key);
  CODEQ_ASSERT(at != lanes_.end());
  if (was_returned)
    at->second.tasks.remove(seq);
  --ready_;
  if (--at->second.ready > 0)
    return;
  lanes_.erase(at);
  order_.remove(who);
}

fair_lanes::turn
fair_lanes::front(segment_table& segments, const fair_keys& keys, std::uint32_t limit) {
  auto next = order_.next([&](fair_key who) { return keys.cost_of(who); });
  auto most = static_cast<std::uint32_t>(std::min<std::uint64_t>(next.tasks, limit));
  return {next.who, lanes_.at(next.who.key).tasks.front(segments, most)};
}

void fair_lanes::set_weights(fair_key who, weights of) {
  order_.set_key_weight(who, of.key);
  order_.set_group_weight(who.group, of.group);
}

} // namespace codeq::core
