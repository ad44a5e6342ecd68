// SPDX-License-Identifier: Apache-2.0
#include "coordinator/shard/settings_carrier.hpp"

#include <algorithm>
#include <utility>

namespace codeq::coordinator {

settings_carrier::settings_carrier(std::uint32_t shards) {
  for (std::uint32_t i = 1; i < shards; ++i)
    targets_[static_cast<shard_id>(i)];
}

void settings_carrier::confirmed(shard_id by, std::uint64_t version) {
  const auto found = targets_.find(by);
  if (found != targets_.end() && version == 0) {
    // The shard may still take over the settings that are under way. If it does not, they are sent
    // again.
    found->second.confirmed = 0;
    settled_ = 0;
    return;
  }
  // Older words are of no use: the shard may have been served anew since.
  if (found != targets_.end() && version == found->second.sent)
    found->second.confirmed = version;
}

void settings_carrier::moved(shard_id to) {
  if (const auto found = targets_.find(to); found != targets_.end())
    found->second = {};
  settled_ = 0;
}

std::optional<shard_id> settings_carrier::next(monotonic_time now) {
  if (settled_ == version_)
    return std::nullopt;
  for (auto& [shard, to] : targets_) {
    const auto is_under_way = to.sent == version_ && now < to.lost_at;
    if (to.confirmed == version_ || is_under_way)
      continue;
    const auto is_again = std::exchange(to.sent, version_) == version_;
    to.wait = is_again ? std::min(2 * to.wait, retry_max) : retry;
    to.lost_at = now + to.wait;
    return shard;
  }
  if (missing() == 0)
    settled_ = version_;
  return std::nullopt;
}

std::optional<monotonic_time> settings_carrier::next_look() const {
  std::optional<monotonic_time> first;
  if (settled_ == version_)
    return first;
  for (const auto& [shard, to] : targets_)
    if (to.confirmed != version_ && (!first || to.lost_at < *first))
      first = to.lost_at;
  return first;
}

std::size_t settings_carrier::missing() const {
  return static_cast<std::size_t>(std::count_if(
    targets_.begin(), targets_.end(),
    [this](const auto& one) { return one.second.confirmed != version_; }));
}

} // namespace codeq::coordinator
