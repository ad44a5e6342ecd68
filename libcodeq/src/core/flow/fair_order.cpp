// SPDX-License-Identifier: Apache-2.0
#include "core/flow/fair_order.hpp"

namespace codeq::core {

bool fair_order::contains(fair_key who) const {
  auto group = groups_.find(who.group);
  return group != groups_.end() && group->second.contains(who.key);
}

void fair_order::add(fair_key who, std::uint32_t key_weight, std::uint32_t group_weight) {
  auto [group, is_new] = groups_.try_emplace(who.group);
  if (is_new)
    groups_in_turn_.add(who.group, group_weight);
  group->second.add(who.key, key_weight);
}

void fair_order::remove(fair_key who) {
  auto group = groups_.find(who.group);
  group->second.remove(who.key);
  if (!group->second.empty())
    return;
  groups_in_turn_.remove(who.group);
  groups_.erase(group);
}

void fair_order::set_key_weight(fair_key who, std::uint32_t weight) {
  if (contains(who))
    groups_.at(who.group).set_weight(who.key, weight);
}

void fair_order::set_group_weight(std::uint32_t group, std::uint32_t weight) {
  if (groups_in_turn_.contains(group))
    groups_in_turn_.set_weight(group, weight);
}

void fair_order::charge(fair_key who, std::int64_t cost) {
  groups_in_turn_.charge(cost);
  groups_.at(who.group).charge(cost);
}

void fair_order::settle(fair_key who, std::int64_t difference) {
  auto group = groups_.find(who.group);
  if (group == groups_.end())
    return;
  groups_in_turn_.settle(who.group, difference);
  group->second.settle(who.key, difference);
}

} // namespace codeq::core
