// SPDX-License-Identifier: Apache-2.0
#include "client/cluster_sums.hpp"

#include "codeq/limits.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

namespace codeq::client {

namespace {

void add_part(queue_stats& to, const queue_stats& part) {
  to.scheduled += part.scheduled;
  to.gated += part.gated;
  to.ready += part.ready;
  to.held += part.held;
  to.leased += part.leased;
  to.completed += part.completed;
  to.dead += part.dead;
  to.lost += part.lost;
  to.cancelled += part.cancelled;
  to.dead_now += part.dead_now;
  to.paused = to.paused || part.paused;
  to.oldest_ready = std::max(to.oldest_ready, part.oldest_ready);
  // An older coordinator says what its shards have of it.
  to.max_depth = std::max(to.max_depth, part.max_depth);
  to.max_leased = std::max(to.max_leased, part.max_leased);
  for (std::size_t i = 0; i < to.ready_by_priority.size(); ++i)
    to.ready_by_priority[i] += part.ready_by_priority[i];
}

void add_part(worker_info& to, worker_info part) {
  to.is_connected = to.is_connected || part.is_connected;
  to.is_draining = to.is_draining || part.is_draining;
  to.free_slots += part.free_slots;
  to.leases += part.leases;
  for (auto& queue : part.queues)
    if (std::find(to.queues.begin(), to.queues.end(), queue) == to.queues.end())
      to.queues.push_back(std::move(queue));
  to.queue_count =
    std::max({to.queue_count, part.queue_count, static_cast<std::uint32_t>(to.queues.size())});
  if (to.queues.size() > limits::worker_queues_shown_max)
    to.queues.resize(limits::worker_queues_shown_max);
  to.running.insert(to.running.end(), part.running.begin(), part.running.end());
  std::sort(to.running.begin(), to.running.end(), [](const auto& a, const auto& b) {
    return std::tie(a.since, a.task) < std::tie(b.since, b.task);
  });
  if (to.running.size() > limits::worker_leases_shown_max)
    to.running.resize(limits::worker_leases_shown_max);
}

/// Merges elements that have the same name; new ones are added behind.
template <class T, class Name>
void merge(std::vector<T>& to, std::vector<T> part, Name name_of) {
  if (to.empty()) {
    to = std::move(part);
    return;
  }
  std::map<std::decay_t<decltype(name_of(to.front()))>, std::size_t> places;
  for (std::size_t i = 0; i < to.size(); ++i)
    places.emplace(name_of(to[i]), i);
  for (auto& one : part) {
    auto known = places.find(name_of(one));
    if (known == places.end())
      to.push_back(std::move(one));
    else
      add_part(to[known->second], std::move(one));
  }
}

audit_place audit_place_of(const audited_command& command) {
  return {command.at, command.operation};
}

/// Adds what the same command changed on another shard, or what is known of it from a store that
/// has some of the same shards.
void add_part(audited_command& to, const audited_command& part, bool is_of_shard) {
  to.changed = is_of_shard ? to.changed + part.changed : std::max(to.changed, part.changed);
  if (to.task != part.task)
    to.task.reset();
  if (to.queue != part.queue)
    to.queue.clear();
}

} // namespace

void set_missing(
  std::map<std::string, std::int64_t>& gauges,
  std::size_t coordinators,
  std::optional<std::uint32_t> shards,
  std::uint32_t all_shards) {
  if (coordinators > 0)
    gauges[missing_coordinators_gauge] = static_cast<std::int64_t>(coordinators);
  // A shard that moves between two answers may be counted twice.
  if (shards && *shards < all_shards)
    gauges[missing_shards_gauge] = all_shards - *shards;
}

void set_missing(
  coordinator_stats& sum, actors::missing_answers missing, std::uint32_t all_shards) {
  const auto counted = sum.are_shards_known ? std::optional{sum.shards} : std::nullopt;
  set_missing(sum.gauges, missing.coordinators, counted, all_shards);
  // A shard that has moved meanwhile may have been counted at its new place.
  if (counted && *counted >= all_shards)
    missing.shards.clear();
  sum.missing = std::move(missing.shards);
  const auto named = static_cast<std::uint32_t>(sum.missing.size());
  const auto all = counted && *counted < all_shards ? all_shards - *counted : named;
  sum.missing_unnamed = all - std::min(all, named);
}

void add(coordinator_stats& to, coordinator_stats part) {
  merge(to.queues, std::move(part.queues), [](const queue_stats& q) { return q.queue; });
  for (const auto& [name, value] : part.gauges)
    to.gauges[name] += value;
  to.shards += part.shards;
  to.are_shards_known = to.are_shards_known && part.are_shards_known;
}

void add(std::vector<worker_info>& to, std::vector<worker_info> part) {
  merge(to, std::move(part), [](const worker_info& w) { return w.name; });
}

void add(audit_page& to, audit_part part, std::size_t limit) {
  std::map<audit_place, audited_command, std::greater<>> merged;
  for (auto& command : to.commands)
    merged.emplace(audit_place_of(command), std::move(command));
  for (auto& command : part.commands) {
    const auto [at, is_new] = merged.try_emplace(audit_place_of(command), command);
    if (!is_new)
      add_part(at->second, command, part.is_of_shard);
  }
  to.commands.clear();
  // The other one may have earlier commands than the end of a page.
  to.after = std::max(to.after, part.after);
  for (auto& [place, command] : merged) {
    if (to.after && place < *to.after)
      break;
    if (to.commands.size() == limit) {
      to.after = audit_place_of(to.commands.back());
      break;
    }
    to.commands.push_back(std::move(command));
  }
}

void add(std::vector<base::queue_counts>& to, const std::vector<queue_stats>& part) {
  std::vector<base::queue_counts> counts;
  for (const auto& queue : part)
    counts.push_back({queue});
  merge(to, std::move(counts), [](const queue_stats& q) { return q.queue; });
}

void add(std::vector<base::worker_counts>& to, const std::vector<worker_info>& part) {
  std::vector<base::worker_counts> counts;
  for (const auto& worker : part) {
    auto& one = counts.emplace_back(base::worker_counts{worker});
    for (const auto& queue : worker.queues)
      one.tenants.insert(queue.tenant);
  }
  merge(to, std::move(counts), [](const worker_info& w) { return w.name; });
}

result<void> check_drained(
  const std::string& name,
  bool is_drained,
  const std::vector<worker_info>& told,
  std::size_t missing) {
  // A coordinator of an older version answers with the list of all its workers.
  auto is_other = [&](const worker_info& w) {
    return w.name != name || w.is_draining != is_drained;
  };
  if (std::any_of(told.begin(), told.end(), is_other))
    return error{
      errc::unsupported, "a coordinator is of an older version, which cannot drain a worker"};
  if (missing > 0)
    return error{
      errc::disconnected,
      std::to_string(missing) + " coordinators of the cluster did not answer; ask again"};
  if (told.empty())
    return error{errc::invalid_argument, "worker is `" + name + "`; no coordinator knows it"};
  return {};
}

} // namespace codeq::client
