// SPDX-License-Identifier: Apache-2.0
#include "core/flow/limit_keys.hpp"

#include "base/assert.hpp"

#include <algorithm>
#include <iterator>
#include <limits>

namespace codeq::core {

limit_keys::held_place limit_keys::place_of(const limited_task& task) {
  return {static_cast<std::uint8_t>(std::numeric_limits<std::uint8_t>::max() - task.priority),
          task.seq};
}

bool limit_keys::is_used(const key_state& key) {
  return key.leased > 0 || !key.held.empty() || !key.released.empty();
}

void limit_keys::set(std::uint32_t limit, const limit_rule& rule) {
  rules_.insert_or_assign(limit, rule);
  look_again_at_all(limit);
}

void limit_keys::remove(std::uint32_t limit) {
  rules_.erase(limit);
  look_again_at_all(limit);
}

void limit_keys::look_again_at_all(std::uint32_t limit) {
  auto at = keys_.lower_bound({limit, {}});
  for (; at != keys_.end() && at->first.limit == limit; ++at)
    changed_.insert(at->first);
}

const limit_rule* limit_keys::find(std::uint32_t limit) const {
  auto at = rules_.find(limit);
  return at == rules_.end() ? nullptr : &at->second;
}

std::optional<timestamp>
limit_keys::next_start(std::uint32_t limit, const key_state& key, std::uint32_t cost) const {
  const auto* rule = find(limit);
  if (!rule)
    return key.closed_until;
  if (rule->concurrency && key.leased >= *rule->concurrency)
    return std::nullopt;
  auto next = key.closed_until;
  return rule->rate ? std::max(next, key.meter.next_start(*rule->rate, cost)) : next;
}

std::optional<limit_refusal>
limit_keys::check(const std::vector<limit_use>& uses, timestamp now) const {
  for (std::size_t i = 0; i < uses.size(); ++i) {
    auto at = keys_.find(uses[i].at);
    auto next = next_start(
      uses[i].at.limit, at == keys_.end() ? key_state{} : at->second, uses[i].cost);
    if (!next || *next > now)
      return limit_refusal{i, next};
  }
  return std::nullopt;
}

void limit_keys::leave(const limit_use& use, const limited_task& task) {
  auto at = keys_.find(use.at);
  if (at == keys_.end())
    return;
  auto& key = at->second;
  key.held.erase(place_of(task));
  if (auto found = key.released.find(task.seq); found != key.released.end()) {
    key.released_cost -= found->second;
    key.released.erase(found);
  }
  // It may be another task's turn now.
  changed_.insert(use.at);
}

void limit_keys::take(const limited_task& task, timestamp now) {
  for (const auto& use : task.uses) {
    leave(use, task);
    auto& key = keys_[use.at];
    ++key.leased;
    if (const auto* rule = find(use.at.limit); rule && rule->rate)
      key.meter.take(*rule->rate, use.cost, now);
  }
}

void limit_keys::free(const std::vector<limit_use>& uses, timestamp now) {
  for (const auto& use : uses) {
    auto at = keys_.find(use.at);
    CODEQ_ASSERT(at != keys_.end() && at->second.leased > 0);
    auto& key = at->second;
    --key.leased;
    bool is_over = !is_used(key) && key.closed_until <= now && key.meter.is_idle(now);
    if (is_over && !key.due)
      keys_.erase(at);
    else
      changed_.insert(use.at);
  }
}

void limit_keys::settle(const limit_use& use, std::uint32_t actual, timestamp now) {
  const auto* rule = find(use.at.limit);
  if (!rule || !rule->rate || actual == use.cost)
    return;
  auto difference = static_cast<std::int64_t>(actual) - static_cast<std::int64_t>(use.cost);
  keys_[use.at].meter.settle(*rule->rate, difference, now);
  changed_.insert(use.at);
}

void limit_keys::close(const limit_place& at, timestamp until) {
  keys_[at].closed_until = until;
  changed_.insert(at);
}

void limit_keys::use_up(const limit_place& at, timestamp now) {
  const auto* rule = find(at.limit);
  if (!rule || !rule->rate)
    return;
  keys_[at].meter.use_up(*rule->rate, now);
  changed_.insert(at);
}

void limit_keys::hold(const limited_task& task, const limit_refusal& why) {
  for (const auto& use : task.uses)
    leave(use, task);
  const auto& use = task.uses[why.use];
  keys_[use.at].held.emplace(place_of(task), use.cost);
  changed_.insert(use.at);
}

void limit_keys::drop(const limited_task& task) {
  for (const auto& use : task.uses)
    leave(use, task);
}

bool limit_keys::is_held(const limited_task& task) const {
  return std::any_of(task.uses.begin(), task.uses.end(), [&](const limit_use& use) {
    auto at = keys_.find(use.at);
    return at != keys_.end() && at->second.held.contains(place_of(task));
  });
}

void limit_keys::schedule(
  const limit_place& at, key_state& key, const std::optional<timestamp>& when) {
  if (key.due)
    due_.erase({*key.due, at});
  key.due = when;
  if (when)
    due_.emplace(*when, at);
}

std::optional<timestamp>
limit_keys::next_release_of(std::uint32_t limit, key_state& key) const {
  auto cost = key.held.begin()->second + key.released_cost;
  const auto* rule = find(limit);
  if (rule && rule->concurrency && key.leased + key.released.size() >= *rule->concurrency)
    return std::nullopt;
  // Beyond the burst the rate is known only when the released tasks have started.
  if (rule && rule->rate && !key.released.empty() && cost > rule->rate->burst)
    return std::nullopt;
  return next_start(limit, key, static_cast<std::uint32_t>(cost));
}

void limit_keys::release_of(
  const limit_place& at, timestamp now, std::vector<sequence>& released) {
  auto found = keys_.find(at);
  if (found == keys_.end())
    return;
  auto& key = found->second;
  std::optional<timestamp> next;
  while (!key.held.empty()) {
    next = next_release_of(at.limit, key);
    if (!next || *next > now)
      break;
    auto first = key.held.extract(key.held.begin());
    key.released.emplace(first.key().second, first.mapped());
    key.released_cost += first.mapped();
    released.push_back(first.key().second);
    next.reset();
  }
  if (!is_used(key)) {
    // It is kept until its past starts do not matter any more.
    auto idle_at = std::max(key.closed_until, key.meter.idle_at());
    if (idle_at <= now) {
      schedule(at, key, std::nullopt);
      keys_.erase(found);
      return;
    }
    next = idle_at;
  }
  schedule(at, key, next);
}

std::vector<sequence> limit_keys::release(timestamp now) {
  for (; !due_.empty() && due_.begin()->first <= now; due_.erase(due_.begin())) {
    const auto& at = due_.begin()->second;
    changed_.insert(at);
    keys_.at(at).due.reset();
  }
  std::vector<sequence> released;
  for (const auto& at : std::exchange(changed_, {}))
    release_of(at, now, released);
  return released;
}

std::optional<timestamp> limit_keys::next_release() const {
  if (!changed_.empty())
    return timestamp{};
  return due_.empty() ? std::nullopt : std::optional(due_.begin()->first);
}

limit_keys::key_counts limit_keys::counts_of(const limit_place& at) const {
  auto found = keys_.find(at);
  if (found == keys_.end())
    return {};
  const auto& key = found->second;
  return {key.leased, key.held.size(), key.closed_until};
}

std::size_t
limit_keys::held_before(const limit_place& at, const limited_task& task) const {
  auto found = keys_.find(at);
  if (found == keys_.end())
    return 0;
  const auto& held = found->second.held;
  return static_cast<std::size_t>(
    std::distance(held.begin(), held.lower_bound(place_of(task))));
}

} // namespace codeq::core
