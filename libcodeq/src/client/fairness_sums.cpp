// SPDX-License-Identifier: Apache-2.0
#include "client/fairness_sums.hpp"

#include "codeq/limits.hpp"

#include "core/flow/fair_order.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace codeq::client {

namespace {

constexpr std::uint64_t millionths = 1'000'000;

using key_shares = std::map<std::string, fairness_share>;

/// Adds what another shard says of a key.
void add_share(fairness_share& to, const fairness_share& from) {
  to.key = from.key;
  to.weight = std::max(to.weight, from.weight);
  to.ready += from.ready;
  to.share_ppm += from.share_ppm;
  to.expected_run = std::max(to.expected_run, from.expected_run);
  to.wait = std::max(to.wait, from.wait);
}

bool is_ready(task_reason reason) {
  return reason != task_reason::deferred && reason != task_reason::retry_waiting
         && reason != task_reason::gated;
}

bool has_live_tasks(const queue_part& part) {
  return part.fairness.active_keys > 0 || part.explanation.leased > 0
         || !part.explanation.waiting.empty();
}

/// The ready tasks of a shard on which no task has a key: they have the empty one.
fairness_share tasks_without_keys(const queue_part& part) {
  fairness_share share;
  const auto& weights = part.settings.config.fairness_weights;
  if (auto set = weights.find(share.key); set != weights.end())
    share.weight = set->second;
  for (const auto& [reason, tasks] : part.explanation.waiting)
    share.ready += is_ready(reason) ? tasks : 0;
  return share;
}

/// The answers of all shards, added by key; empty when no task has a key.
key_shares add_shares(const std::vector<queue_part>& parts) {
  key_shares all;
  for (const auto& part : parts)
    for (const auto& share : part.fairness.keys)
      add_share(all[share.key], share);
  if (all.empty())
    return all;
  for (const auto& part : parts)
    if (auto rest = tasks_without_keys(part); part.fairness.active_keys == 0 && rest.ready > 0)
      add_share(all[rest.key], rest);
  return all;
}

/// How the slots of the workers are used that claim from the queue.
struct slot_use {
  core::fair_slots slots;
  /// Each shard said it, and more than one has live tasks.
  bool is_known = true;
};

slot_use use_of(const std::vector<queue_part>& parts) {
  slot_use use;
  for (const auto& part : parts) {
    const auto& why = part.explanation;
    use.is_known = use.is_known && (why.exists || !part.is_known);
    use.slots.leased += why.leased;
    for (auto reason :
         {task_reason::no_free_slots, task_reason::queue_at_max_leased, task_reason::fairness})
      use.slots.are_taken = use.slots.are_taken || why.waiting.contains(reason);
  }
  use.is_known =
    use.is_known && std::count_if(parts.begin(), parts.end(), has_live_tasks) > 1;
  return use;
}

/// The turns of all keys with ready tasks.
class all_turns {
public:
  all_turns(const key_shares& all, const std::map<std::string, std::uint32_t>& fixed) {
    for (const auto& [key, share] : all) {
      if (share.ready == 0)
        continue;
      const auto name = group_of(key);
      auto [at, is_first] = groups_.try_emplace(name);
      auto& group = at->second;
      if (is_first) {
        group.weight = weight_of_group(name, all, fixed);
        group_weights_ += group.weight;
      }
      group.key_weights += weight_in_group(share);
      ++group.keys;
      largest_ = std::max(largest_, std::int64_t{share.expected_run.count()});
    }
  }

  /// @pre the key has ready tasks
  [[nodiscard]] std::uint32_t share_ppm(const fairness_share& of) const {
    const auto& group = groups_.at(group_of(of.key));
    return static_cast<std::uint32_t>(
      millionths * group.weight / group_weights_ * weight_in_group(of) / group.key_weights);
  }

  /// As a shard works it out, for a key without debts. @pre the key has ready tasks
  [[nodiscard]] duration wait(const fairness_share& of, const core::fair_slots& slots) const {
    const auto& group = groups_.at(group_of(of.key));
    core::fair_order::standing at;
    at.largest_cost = largest_;
    at.other_groups = group_weights_ + groups_.size() - (group.weight + 1);
    at.other_keys = group.key_weights + group.keys - (weight_in_group(of) + 1);
    return core::longest_fair_wait(at, group.weight, slots);
  }

private:
  struct key_group {
    std::uint64_t weight = 1;
    std::uint64_t key_weights = 0;
    std::uint64_t keys = 0;
  };

  [[nodiscard]] static std::string group_of(const std::string& key) {
    return key.substr(0, key.find('/'));
  }

  /// The weight of a key without a `/` is its group's.
  [[nodiscard]] static std::uint64_t weight_in_group(const fairness_share& of) {
    return of.key.find('/') == std::string::npos ? 1 : of.weight;
  }

  [[nodiscard]] static std::uint64_t weight_of_group(
    const std::string& group,
    const key_shares& all,
    const std::map<std::string, std::uint32_t>& fixed) {
    if (auto own = all.find(group); own != all.end())
      return own->second.weight;
    auto set = fixed.find(group);
    return set == fixed.end() ? 1 : set->second;
  }

  std::map<std::string, key_group> groups_;
  std::uint64_t group_weights_ = 0;
  /// The longest expected run time, in milliseconds.
  std::int64_t largest_ = 1;
};

} // namespace

core::fairness_part all_fairness_keys() {
  return {{}, static_cast<std::uint32_t>(limits::fairness_page_max), true};
}

bool has_all_keys(const std::vector<queue_part>& parts) {
  return std::none_of(
    parts.begin(), parts.end(), [](const queue_part& part) { return part.fairness.more; });
}

fairness_page merge_fairness(
  queue_address queue,
  const std::vector<queue_part>& parts,
  const core::fairness_part& wanted) {
  fairness_page page;
  page.queue = std::move(queue);
  for (const auto& part : parts)
    page.active_keys += part.fairness.active_keys;
  const auto all = add_shares(parts);
  if (all.empty())
    return page;
  const all_turns turns(all, parts.front().settings.config.fairness_weights);
  const auto use = use_of(parts);
  auto next = wanted.from_start ? all.begin() : all.upper_bound(wanted.after);
  for (; next != all.end() && page.keys.size() < wanted.limit; ++next) {
    auto& share = page.keys.emplace_back(next->second);
    if (share.ready == 0)
      continue;
    share.share_ppm = turns.share_ppm(share);
    // A shard that starts nothing now says the longest one.
    if (use.is_known && share.wait != duration::max())
      share.wait = turns.wait(share, use.slots);
  }
  page.more = next != all.end();
  return page;
}

fairness_page merge_fairness_pages(
  queue_address queue, const std::vector<queue_part>& parts, std::size_t limit) {
  key_shares all;
  // A shard that has more keys says nothing of those after its last one.
  std::optional<std::string> end;
  fairness_page page;
  page.queue = std::move(queue);
  std::uint32_t sharers = 0;
  for (const auto& part : parts) {
    const auto& keys = part.fairness.keys;
    page.active_keys += part.fairness.active_keys;
    sharers += part.fairness.active_keys > 0 ? 1 : 0;
    if (part.fairness.more && !keys.empty() && (!end || keys.back().key < *end))
      end = keys.back().key;
    for (const auto& share : keys)
      add_share(all[share.key], share);
  }
  page.more = end.has_value();
  for (auto& [key, share] : all) {
    if (page.keys.size() == limit || (end && key > *end)) {
      page.more = true;
      break;
    }
    share.share_ppm /= std::max(sharers, 1u);
    page.keys.push_back(std::move(share));
  }
  return page;
}

} // namespace codeq::client
