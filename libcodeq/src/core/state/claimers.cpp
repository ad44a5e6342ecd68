// SPDX-License-Identifier: Apache-2.0
#include "core/state/claimers.hpp"

#include "core/state/shard_state.hpp"

#include <algorithm>
#include <memory>
#include <string>

namespace codeq::core {

namespace {

/// Calls `visit(queue, index)` for each queue of the tenant.
template <class F>
void for_each_queue(shard_state& state, const std::string& tenant, F visit) {
  const auto own = state.tenant_queues.find(tenant);
  if (own == state.tenant_queues.end())
    return;
  for (auto index : own->second)
    visit(*state.queues[index], index);
}

void link(queue_state& queue, std::uint32_t index, prefix_claims& claims) {
  queue.prefixes.push_back(&claims);
  if (queue.ready > 0)
    claims.busy.emplace(queue.served, index);
}

} // namespace

prefix_claims* join_prefix(
  shard_state& state, const queue_address& prefix, const claimer& who, claimer_need need) {
  auto [at, is_new] = state.prefixes.try_emplace(prefix);
  auto& claims = at->second;
  if (is_new) {
    claims = std::make_unique<prefix_claims>();
    for_each_queue(state, prefix.tenant, [&](queue_state& queue, std::uint32_t index) {
      if (queue.address.queue.starts_with(prefix.queue))
        link(queue, index, *claims);
    });
  }
  claims->claimers.add(who, need);
  return claims.get();
}

void leave_prefix(
  shard_state& state, const claimed_prefix& prefix, const claimer& who, claimer_need need) {
  prefix.claims->claimers.remove(who, need);
  if (prefix.claims->claimers.size() > 0)
    return;
  for_each_queue(state, prefix.name.tenant, [&](queue_state& queue, std::uint32_t) {
    std::erase(queue.prefixes, prefix.claims);
  });
  state.prefixes.erase(prefix.name);
}

void link_prefixes(shard_state& state, std::uint32_t index) {
  if (state.prefixes.empty())
    return;
  auto& queue = *state.queues[index];
  queue_address prefix{queue.address.tenant, {}};
  for (std::size_t length = 0; length <= queue.address.queue.size(); ++length) {
    prefix.queue.assign(queue.address.queue, 0, length);
    if (auto at = state.prefixes.find(prefix); at != state.prefixes.end())
      link(queue, index, *at->second);
  }
}

void list_busy(queue_state& queue, std::uint32_t index) {
  for (auto* claims : queue.prefixes)
    claims->busy.emplace(queue.served, index);
}

void unlist_busy(queue_state& queue, std::uint32_t index) {
  for (auto* claims : queue.prefixes)
    claims->busy.erase({queue.served, index});
}

void note_service(queue_state& queue, std::uint32_t index, std::uint64_t turn, service done) {
  const auto served = 2 * turn + (done == service::granted ? 1 : 0);
  if (served <= queue.served)
    return;
  unlist_busy(queue, index);
  queue.served = served;
  if (queue.ready > 0)
    list_busy(queue, index);
}

bool takes_by_prefix(const attached_worker& worker, const queue_state& queue) {
  return !worker.without.contains(queue.address);
}

claimer_counts count_claimers(const shard_state& state, const queue_state& queue) {
  claimer_counts counts{
    queue.claimers.size(), queue.claimers.waiting_for(claimer_need::tasks).size()};
  auto left_out = state.left_out_by.find(queue.address);
  bool is_left_out = left_out != state.left_out_by.end();
  if (queue.prefixes.empty() && !is_left_out)
    return counts;
  auto all = is_left_out ? left_out->second : std::set<peer_id>{};
  std::set<peer_id> free;
  auto count = [&](const queue_claimers& claimers, bool by_prefix) {
    for (auto need : all_needs) {
      for (const auto& [arrival, peer] : claimers.waiting_for(need)) {
        if (by_prefix && !takes_by_prefix(state.attached.at(peer), queue))
          continue;
        all.insert(peer);
        if (need == claimer_need::tasks)
          free.insert(peer);
      }
    }
  };
  count(queue.claimers, false);
  for (const auto* claims : queue.prefixes)
    count(claims->claimers, true);
  return {all.size(), free.size()};
}

} // namespace codeq::core
