// SPDX-License-Identifier: Apache-2.0
#include "coordinator/shard/hand_overs.hpp"

#include <algorithm>
#include <utility>

namespace codeq::coordinator {

void hand_overs::add(shard_id to, std::uint64_t number, tenant_bytes bytes) {
  const auto fresh = target{.open = {}, .open_bytes = base::fair_share(limits_.waiting_bytes)};
  auto& target = targets_.try_emplace(to, fresh).first->second;
  auto [added, is_new] = target.open.try_emplace(number, record{std::move(bytes)});
  if (!is_new)
    return;
  for (const auto& [tenant, amount] : added->second.by_tenant) {
    target.open_bytes.force(tenant, amount);
    added->second.bytes += amount;
  }
  ++size_;
}

void hand_overs::confirmed(shard_id by, std::uint64_t number, monotonic_time now) {
  const auto found = targets_.find(by);
  if (found == targets_.end())
    return;
  auto& target = found->second;
  const auto record = target.open.find(number);
  if (record == target.open.end())
    return;
  if (number <= target.sent) {
    --target.records_sent;
    target.bytes_sent -= record->second.bytes;
  }
  for (const auto& [tenant, amount] : record->second.by_tenant)
    target.open_bytes.give_back(tenant, amount);
  const auto is_first = record == target.open.begin();
  target.open.erase(record);
  --size_;
  // The first record may be lost while later ones are confirmed: it must not wait for ever.
  if (is_first || target.is_silent)
    target.look = now + limits_.silence;
  target.is_silent = false;
  if (target.open.empty())
    targets_.erase(found);
}

void hand_overs::forget_sent(target& to) {
  to.sent = 0;
  to.records_sent = 0;
  to.bytes_sent = 0;
}

void hand_overs::moved(shard_id to, monotonic_time now) {
  const auto found = targets_.find(to);
  if (found == targets_.end())
    return;
  forget_sent(found->second);
  found->second.is_silent = true;
  found->second.look = now;
}

std::optional<std::uint64_t> hand_overs::next_of(target& to, monotonic_time now) const {
  const auto has_sent = to.records_sent > 0;
  if (!to.is_silent && has_sent && now >= to.look) {
    forget_sent(to);
    to.is_silent = true;
  }
  if (to.is_silent) {
    if (now < to.look)
      return std::nullopt;
    to.look = now + limits_.question;
    return to.open.begin()->first;
  }
  const auto record = to.open.upper_bound(to.sent);
  if (record == to.open.end())
    return std::nullopt;
  const auto bytes = record->second.bytes;
  const auto fits = to.records_sent == 0 || to.bytes_sent + bytes <= limits_.bytes;
  if (!fits || to.records_sent >= limits_.records)
    return std::nullopt;
  if (to.records_sent == 0)
    to.look = now + limits_.silence;
  to.sent = record->first;
  ++to.records_sent;
  to.bytes_sent += bytes;
  return record->first;
}

std::optional<hand_overs::parcel> hand_overs::next(monotonic_time now) {
  auto at = targets_.upper_bound(last_);
  for (std::size_t i = 0; i < targets_.size(); ++i) {
    if (at == targets_.end())
      at = targets_.begin();
    if (const auto number = next_of(at->second, now)) {
      last_ = at->first;
      return parcel{at->first, *number};
    }
    ++at;
  }
  return std::nullopt;
}

std::optional<monotonic_time> hand_overs::next_look() const {
  std::optional<monotonic_time> first;
  for (const auto& [shard, target] : targets_)
    if (target.is_silent || target.records_sent > 0)
      first = first ? std::min(*first, target.look) : target.look;
  return first;
}

bool hand_overs::is_full(shard_id to, const std::string& tenant) const {
  const auto found = targets_.find(to);
  return found != targets_.end() && !found->second.open_bytes.has_room(tenant);
}

} // namespace codeq::coordinator
