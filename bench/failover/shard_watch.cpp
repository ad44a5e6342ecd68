// SPDX-License-Identifier: Apache-2.0
#include "failover/shard_watch.hpp"

#include <algorithm>

namespace codeq::bench {

namespace {

/// Tokens contain the epoch of their shard above a counter of this size.
constexpr unsigned counter_bits = 39;

} // namespace

void shard_watch::begin(const std::set<shard_id>& shards) {
  std::lock_guard lock(mutex_);
  began_ = steady::now();
  ended_.reset();
  shards_.clear();
  for (auto shard : shards)
    shards_[shard] = {};
}

void shard_watch::note_end() {
  std::lock_guard lock(mutex_);
  ended_ = steady::now();
}

void shard_watch::acknowledged(shard_id shard, steady::time_point sent) {
  std::lock_guard lock(mutex_);
  const auto found = shards_.find(shard);
  if (found == shards_.end() || found->second.acknowledged || !ended_ || sent < *ended_)
    return;
  found->second.acknowledged = steady::now();
  changed_.notify_one();
}

void shard_watch::claimed(shard_id shard, fencing_token token) {
  std::lock_guard lock(mutex_);
  const auto epoch = value(token) >> counter_bits;
  auto& known = epochs_[shard];
  const auto is_later = epoch > known;
  known = std::max(known, epoch);
  const auto found = shards_.find(shard);
  if (found == shards_.end() || found->second.claimed || !is_later)
    return;
  found->second.claimed = steady::now();
  changed_.notify_one();
}

bool shard_watch::is_over() const {
  return std::all_of(shards_.begin(), shards_.end(), [](const auto& shard) {
    return shard.second.acknowledged && shard.second.claimed;
  });
}

std::optional<std::vector<shard_watch::times>> shard_watch::wait(std::chrono::seconds longest) {
  std::unique_lock lock(mutex_);
  if (!changed_.wait_for(lock, longest, [this] { return is_over(); }))
    return std::nullopt;
  std::vector<times> all;
  for (const auto& [shard, at] : shards_)
    all.push_back({*at.acknowledged - began_, *at.claimed - began_});
  return all;
}

} // namespace codeq::bench
