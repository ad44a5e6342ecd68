// SPDX-License-Identifier: Apache-2.0
#include "core/flow/permit_recalls.hpp"

#include "base/assert.hpp"
#include "base/fair_share.hpp"

#include <algorithm>
#include <utility>

namespace codeq::core {

std::size_t permit_recalls::waiting_of(const std::string& tenant) const {
  const auto count = std::count_if(waiting_.begin(), waiting_.end(), [&](const auto& one) {
    return one.what.limit.tenant == tenant;
  });
  return static_cast<std::size_t>(count);
}

bool permit_recalls::has_room(const std::string& tenant) const {
  const auto own = waiting_of(tenant);
  return own < waiting_max
         && base::shared_places{waiting_of_all_max, waiting_.size(), own}.has_room();
}

void permit_recalls::wait(
  close what, holders by, std::uint32_t epoch, monotonic_time now) {
  // Epochs have 24 bits.
  constexpr int counter_bits = 40;
  CODEQ_ASSERT(!by.empty() && counter_ < (std::uint64_t{1} << counter_bits) - 1);
  const auto recall = std::uint64_t{epoch} << counter_bits | ++counter_;
  waiting_.push_back({std::move(what), recall, now + wait_max, std::move(by)});
  say_at_ = now;
}

void permit_recalls::note_closed(permit_recall key, shard_id by) {
  auto& of_tenant = closed_[key.tenant];
  if (of_tenant.size() < closed_max || of_tenant.contains(key))
    of_tenant.insert_or_assign(std::move(key), by);
}

void permit_recalls::confirm(shard_id by, std::uint32_t session, std::uint64_t recall) {
  for (auto& one : waiting_) {
    const auto at = one.unconfirmed.find(by);
    if (at != one.unconfirmed.end() && (session > at->second || recall >= one.recall))
      one.unconfirmed.erase(at);
  }
}

std::vector<permit_recalls::ended> permit_recalls::take_ended(monotonic_time now) {
  const auto is_over = [&](const waiting_close& one) {
    return one.unconfirmed.empty() || one.until <= now;
  };
  std::vector<ended> all;
  for (const auto& one : waiting_) {
    if (!is_over(one))
      continue;
    all.push_back({one.what, {}});
    for (const auto& [by, session] : one.unconfirmed)
      all.back().unconfirmed.push_back(by);
  }
  std::erase_if(waiting_, is_over);
  return all;
}

void permit_recalls::say_closed(
  std::map<shard_id, letter>& letters, const std::set<shard_id>& askers) {
  for (std::size_t said = 0; !closed_.empty() && said < message_keys_max; ++said) {
    auto of_tenant = closed_.upper_bound(said_tenant_);
    if (of_tenant == closed_.end())
      of_tenant = closed_.begin();
    said_tenant_ = of_tenant->first;
    const auto closed = of_tenant->second.extract(of_tenant->second.begin());
    if (of_tenant->second.empty())
      closed_.erase(of_tenant);
    for (auto to : askers)
      if (to != closed.mapped())
        letters[to].keys.push_back(closed.key());
  }
}

void permit_recalls::say_waiting(std::map<shard_id, letter>& letters) const {
  for (const auto& one : waiting_)
    for (const auto& [to, session] : one.unconfirmed) {
      auto& said = letters[to];
      said.keys.push_back({one.what.limit.tenant, one.what.limit.name, one.what.key});
      said.recall = one.recall;
    }
}

std::vector<permit_recalls::letter>
permit_recalls::say(monotonic_time now, const std::set<shard_id>& askers) {
  std::map<shard_id, letter> letters;
  say_closed(letters, askers);
  if (!waiting_.empty() && say_at_ <= now) {
    say_at_ = now + say_again;
    say_waiting(letters);
  }
  std::vector<letter> all;
  for (auto& [to, one] : letters) {
    one.to = to;
    all.push_back(std::move(one));
  }
  return all;
}

std::optional<monotonic_time> permit_recalls::next_look() const {
  if (!closed_.empty())
    return monotonic_time{};
  if (waiting_.empty())
    return std::nullopt;
  // They came in this order, and wait for the same time.
  return std::min(say_at_, waiting_.front().until);
}

} // namespace codeq::core
