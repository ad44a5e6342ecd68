// SPDX-License-Identifier: Apache-2.0
#include "core/flow/kept_credits.hpp"

#include <algorithm>
#include <iterator>

namespace codeq::core {

void kept_credits::keep(
  std::uint32_t queue, peer_id peer, std::uint32_t count, const term& of) {
  if (count == 0)
    return;
  auto& entry = by_queue_[queue];
  entry.of = of;
  entry.credits[peer] += count;
  by_peer_[peer] += count;
}

void kept_credits::take_off(peer_id peer, std::uint32_t count) {
  auto at = by_peer_.find(peer);
  at->second -= count;
  if (at->second == 0)
    by_peer_.erase(at);
}

void kept_credits::use(std::uint32_t queue, peer_id peer, std::uint32_t count) {
  auto at = by_queue_.find(queue);
  if (at == by_queue_.end())
    return;
  auto& credits = at->second.credits;
  auto kept = credits.find(peer);
  if (kept == credits.end())
    return;
  auto used = std::min(kept->second, count);
  take_off(peer, used);
  kept->second -= used;
  if (kept->second == 0)
    credits.erase(kept);
  if (credits.empty())
    by_queue_.erase(at);
}

std::uint32_t kept_credits::kept_of(peer_id peer) const {
  auto at = by_peer_.find(peer);
  return at == by_peer_.end() ? 0 : at->second;
}

std::uint32_t kept_credits::kept_for_others(std::uint32_t queue, peer_id peer) const {
  auto all = kept_of(peer);
  auto at = by_queue_.find(queue);
  if (all == 0 || at == by_queue_.end())
    return all;
  auto own = at->second.credits.find(peer);
  return own == at->second.credits.end() ? all : all - own->second;
}

std::uint64_t kept_credits::kept_for(std::uint32_t queue) const {
  std::uint64_t sum = 0;
  if (auto at = by_queue_.find(queue); at != by_queue_.end())
    for (const auto& [peer, count] : at->second.credits)
      sum += count;
  return sum;
}

std::vector<peer_id> kept_credits::end(std::uint32_t queue) {
  std::vector<peer_id> peers;
  auto at = by_queue_.find(queue);
  if (at == by_queue_.end())
    return peers;
  for (const auto& [peer, count] : at->second.credits) {
    take_off(peer, count);
    peers.push_back(peer);
  }
  by_queue_.erase(at);
  return peers;
}

void kept_credits::forget(peer_id peer) {
  if (by_peer_.erase(peer) == 0)
    return;
  for (auto at = by_queue_.begin(); at != by_queue_.end();) {
    at->second.credits.erase(peer);
    at = at->second.credits.empty() ? by_queue_.erase(at) : std::next(at);
  }
}

std::optional<monotonic_time> kept_credits::next_end(monotonic_time now) const {
  std::optional<monotonic_time> next;
  for (const auto& [queue, entry] : by_queue_) {
    const auto& [until, patient_until] = entry.of;
    auto end = patient_until > now ? std::min(until, patient_until) : until;
    next = next ? std::min(*next, end) : end;
  }
  return next;
}

} // namespace codeq::core
