// SPDX-License-Identifier: Apache-2.0
#include "core/flow/fair_keys.hpp"

#include "base/assert.hpp"

#include <algorithm>
#include <utility>

namespace codeq::core {

void fair_keys::average::add(std::int64_t ms) {
  eighths_ = is_known() ? eighths_ + ms - eighths_ / 8 : 8 * ms;
}

std::string_view fair_keys::group_of(std::string_view name) {
  return name.substr(0, name.find('/'));
}

fair_key fair_keys::take(std::string_view name, std::uint64_t tasks) {
  auto known = number_of(name);
  auto key = known ? *known : add(name);
  auto& e = keys_[key];
  const bool was_live = e.live > 0;
  if (known && !was_live)
    --idle_size_;
  e.live += tasks;
  if (!was_live)
    count_cost(e);
  return {e.group, key};
}

std::optional<std::uint32_t> fair_keys::number_of(std::string_view name) const {
  bool is_latest =
    latest_ < keys_.size() && keys_[latest_].name != nullptr && *keys_[latest_].name == name;
  if (is_latest)
    return latest_;
  auto known = numbers_.find(name);
  if (known == numbers_.end())
    return std::nullopt;
  latest_ = known->second;
  return latest_;
}

std::optional<fair_key> fair_keys::find(std::string_view name) const {
  auto known = number_of(name);
  if (!known)
    return std::nullopt;
  return fair_key{keys_[*known].group, *known};
}

std::uint32_t fair_keys::add(std::string_view name) {
  auto key = static_cast<std::uint32_t>(keys_.size());
  if (free_keys_.empty()) {
    keys_.emplace_back();
  } else {
    key = free_keys_.back();
    free_keys_.pop_back();
  }
  auto [group, is_new] = groups_.try_emplace(std::string(group_of(name)));
  if (is_new && free_groups_.empty()) {
    group->second.number = static_cast<std::uint32_t>(group_weights_.size());
    group_weights_.emplace_back();
  } else if (is_new) {
    group->second.number = free_groups_.back();
    free_groups_.pop_back();
  }
  if (is_new)
    group_weights_[group->second.number] = first_weight(group->first);
  ++group->second.keys;
  auto& e = keys_[key];
  e.name = &numbers_.emplace(name, key).first->first;
  e.group = group->second.number;
  if (group->first.size() < name.size())
    e.weight = first_weight(name);
  return key;
}

void fair_keys::drop(fair_key who, std::size_t idle_max) {
  auto& e = keys_[who.key];
  CODEQ_ASSERT(e.live > 0);
  if (e.live == 1)
    discount_cost(e);
  if (--e.live > 0)
    return;
  idle_.push_back({who.key, ++e.idle_count});
  ++idle_size_;
  // Entries of keys that are in use again are passed over, so that the list stays short.
  while (idle_size_ > idle_max || idle_.size() > 2 * idle_keys_max) {
    auto oldest = idle_.front();
    idle_.pop_front();
    const auto& found = keys_[oldest.key];
    if (found.name && found.live == 0 && found.idle_count == oldest.idle_count)
      forget(oldest.key);
  }
}

fair_key fair_keys::adopt(const fair_keys& from, fair_key who) {
  const auto& old = from.keys_[who.key];
  auto now = take(*old.name, old.live);
  keys_[now.key].ran = old.ran;
  keys_[now.key].weight = old.weight;
  group_weights_[now.group] = from.group_weights_[who.group];
  all_ = from.all_;
  count_cost(keys_[now.key]);
  return now;
}

void fair_keys::forget(std::uint32_t key) {
  auto& e = keys_[key];
  auto group = groups_.find(group_of(*e.name));
  if (--group->second.keys == 0) {
    free_groups_.push_back(group->second.number);
    groups_.erase(group);
  }
  numbers_.erase(numbers_.find(*e.name));
  auto count = e.idle_count;
  e = {};
  // An entry of the list must not match the number's next key.
  e.idle_count = count;
  free_keys_.push_back(key);
  --idle_size_;
}

void fair_keys::fix_weights(const std::map<std::string, std::uint32_t>& weights) {
  for (const auto& [name, weight] : fixed_)
    if (!weights.contains(name))
      release_group(name);
  fixed_ = weights;
  for (const auto& [name, weight] : fixed_) {
    if (group_of(name).size() < name.size()) {
      if (auto key = number_of(name))
        keys_[*key].weight = weight;
    } else if (auto group = groups_.find(name); group != groups_.end()) {
      group_weights_[group->second.number] = weight;
    }
  }
}

void fair_keys::release_group(std::string_view name) {
  auto group = groups_.find(name);
  auto own = number_of(name);
  bool has_own_tasks = own && keys_[*own].live > 0;
  if (group != groups_.end() && !has_own_tasks)
    group_weights_[group->second.number] = 1;
}

std::uint32_t fair_keys::first_weight(std::string_view name) const {
  if (fixed_.empty())
    return 1;
  auto fixed = fixed_.find(std::string(name));
  return fixed == fixed_.end() ? 1 : fixed->second;
}

void fair_keys::set_weight(fair_key who, std::uint32_t weight) {
  if (!fixed_.empty() && fixed_.contains(name_of(who)))
    return;
  bool is_group = group_of(name_of(who)).size() == name_of(who).size();
  (is_group ? group_weights_[who.group] : keys_[who.key].weight) = weight;
}

std::uint32_t fair_keys::own_weight(fair_key who) const {
  bool is_group = group_of(name_of(who)).size() == name_of(who).size();
  return is_group ? group_weights_[who.group] : keys_[who.key].weight;
}

void fair_keys::note(fair_key who, duration ran) {
  auto ms = std::max<std::int64_t>(ran.count(), 0);
  auto& e = keys_[who.key];
  discount_cost(e);
  e.ran.add(ms);
  count_cost(e);
  all_.add(ms);
}

std::int64_t fair_keys::cost_of(fair_key who) const {
  const auto& own = keys_[who.key].ran;
  return own.is_known() ? own.cost() : all_.cost();
}

std::int64_t fair_keys::largest_cost() const {
  const bool has_unknown = costs_.size() < active();
  return std::max(costs_.largest(), has_unknown ? all_.cost() : 1);
}

void fair_keys::count_cost(const entry& e) {
  if (e.live > 0 && e.ran.is_known())
    costs_.add(e.ran.cost());
}

void fair_keys::discount_cost(const entry& e) {
  if (e.live > 0 && e.ran.is_known())
    costs_.remove(e.ran.cost());
}

} // namespace codeq::core
