// SPDX-License-Identifier: Apache-2.0
#include "core/flow/fair_order.hpp"

#include <algorithm>

namespace codeq::core {

void fair_order::add(
  fair_key who,
  std::uint32_t key_weight,
  std::uint32_t group_weight,
  const key_credits& credits) {
  if (who.group >= rings_.size())
    rings_.resize(who.group + 1);
  auto& ring = rings_[who.group];
  if (ring.empty())
    groups_in_turn_.add(groups_, who.group, group_weight, credits.group);
  ring.add(keys_, who.key, key_weight, credits.key);
  if (credits.here)
    here_ = credits.here;
}

void fair_order::remove(fair_key who) {
  auto& ring = rings_[who.group];
  auto shared = keys_[who.key].shared;
  ring.remove(keys_, who.key);
  if (!ring.empty())
    return;
  if (shared)
    shared->withdraw(*here_);
  groups_in_turn_.remove(groups_, who.group);
  // The next keys with this number of a group are others.
  ring = {};
}

std::optional<shard_id> fair_order::show_ring(std::uint32_t group) const {
  const auto& ring = rings_[group];
  const auto& shared = keys_[ring.first()].shared;
  return shared ? shared->show(here_, ring.time()) : std::nullopt;
}

std::optional<shard_id> fair_order::shard_behind(std::uint32_t group) const {
  const auto& ring = rings_[group];
  const auto& shared = keys_[ring.first()].shared;
  return shared ? shared->shard_behind(*here_, ring.time()) : std::nullopt;
}

void fair_order::set_key_weight(fair_key who, std::uint32_t weight) {
  if (contains(who))
    rings_[who.group].set_weight(keys_, who.key, weight);
}

void fair_order::set_group_weight(std::uint32_t group, std::uint32_t weight) {
  if (group < groups_.size() && groups_[group].is_member())
    groups_in_turn_.set_weight(groups_, group, weight);
}

fair_order::standing fair_order::standing_of(fair_key who) const {
  standing found;
  found.largest_cost = groups_in_turn_.largest_cost();
  found.other_groups = groups_in_turn_.round_max();
  bool has_group = who.group < groups_.size() && groups_[who.group].is_member();
  if (!has_group)
    return found;
  const auto& ring = rings_[who.group];
  found.largest_cost = std::max(found.largest_cost, ring.largest_cost());
  found.other_groups -= groups_[who.group].weight + 1;
  found.other_keys = ring.round_max();
  found.is_group_in_debt = groups_[who.group].credit().credit < 0;
  if (!contains(who))
    return found;
  found.other_keys -= keys_[who.key].weight + 1;
  found.is_key_in_debt = keys_[who.key].credit().credit < 0;
  return found;
}

void fair_order::charge(fair_key who, std::int64_t cost) {
  groups_in_turn_.charge(groups_, cost);
  rings_[who.group].charge(keys_, cost);
}

void fair_order::settle(fair_key who, std::int64_t difference) {
  // The debt of a key is also its group's, even when the key itself has left.
  if (who.group < groups_.size() && groups_[who.group].is_member())
    groups_in_turn_.settle(groups_, who.group, difference);
  if (contains(who))
    rings_[who.group].settle(keys_, who.key, difference);
}

duration longest_fair_wait(
  const fair_order::standing& at, std::uint64_t group_weight, const fair_slots& slots) {
  const auto in_group = at.other_keys * (at.is_key_in_debt ? 2 : 1);
  // A round of the group's keys takes as many rounds of the groups.
  const auto rounds =
    1 + (in_group + group_weight - 1) / group_weight + (at.is_group_in_debt ? 1 : 0);
  const auto at_once = std::max<std::uint64_t>(slots.leased, 1);
  // The tasks that have the slots now may have begun just now.
  const auto running = slots.are_taken ? at_once : 0;
  const auto ahead = at.other_groups * rounds + in_group + running;
  const auto largest = static_cast<std::uint64_t>(at.largest_cost);
  constexpr auto most = static_cast<std::uint64_t>(duration::max().count());
  if (ahead > most / largest)
    return duration::max();
  return duration{static_cast<duration::rep>(ahead * largest / at_once)};
}

} // namespace codeq::core
