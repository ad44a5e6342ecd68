// SPDX-License-Identifier: Apache-2.0
#include "worker/node/outbox.hpp"

#include "base/tuning.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace codeq::worker {

void outbox::add(report made) {
  auto key = made.key;
  bytes_ += made.byte_size();
  waiting_.insert_or_assign(key, entry{std::move(made), next_order_++});
  unsent_[key.store].push_back(key);
}

std::vector<outbox::batch> outbox::take(std::size_t store) {
  return pack(std::exchange(unsent_[store], {}));
}

std::vector<outbox::batch> outbox::take(std::size_t store, const shard_test& is_reached) {
  auto& unsent = unsent_[store];
  auto kept = std::stable_partition(
    unsent.begin(), unsent.end(), [&](const lease_key& key) { return is_reached(key.shard); });
  std::vector<lease_key> now(unsent.begin(), kept);
  unsent.erase(unsent.begin(), kept);
  return pack(now);
}

std::vector<outbox::batch> outbox::pack(const std::vector<lease_key>& keys) const {
  struct filling {
    std::size_t index = 0;
    std::size_t bytes = 0;
  };

  std::vector<batch> batches;
  std::map<shard_id, filling> open;
  for (const auto& key : keys) {
    auto found = waiting_.find(key);
    if (found == waiting_.end())
      continue;
    const auto& made = found->second.made;
    auto at = open.find(key.shard);
    bool fits = at != open.end() && batches[at->second.index].reports.size() < batch_reports_
                && at->second.bytes + made.byte_size() <= tuning::report_bytes_per_request_max;
    if (!fits) {
      at = open.insert_or_assign(key.shard, filling{batches.size(), 0}).first;
      batches.push_back({key.shard, {}});
    }
    batches[at->second.index].reports.push_back(&made);
    at->second.bytes += made.byte_size();
  }
  return batches;
}

template <class Test>
std::vector<lease_key> outbox::list(Test&& is_meant) const {
  std::vector<std::pair<std::uint64_t, lease_key>> ordered;
  for (const auto& [key, entry] : waiting_)
    if (is_meant(key))
      ordered.emplace_back(entry.order, key);
  std::sort(ordered.begin(), ordered.end());
  std::vector<lease_key> keys;
  keys.reserve(ordered.size());
  for (const auto& [order, key] : ordered)
    keys.push_back(key);
  return keys;
}

void outbox::resend(std::size_t store) {
  auto is_of = [store](const lease_key& key) { return key.store == store; };
  std::erase_if(postponed_, is_of);
  unsent_[store] = list(is_of);
  std::erase_if(resent_, is_of);
  resent_.insert(unsent_[store].begin(), unsent_[store].end());
}

std::vector<lease_key> outbox::resend(std::size_t store, std::span<const shard_id> shards) {
  auto is_of = [&](const lease_key& key) {
    return key.store == store && std::binary_search(shards.begin(), shards.end(), key.shard);
  };
  auto& unsent = unsent_[store];
  std::erase_if(unsent, is_of);
  std::erase_if(postponed_, is_of);
  auto again = list(is_of);
  unsent.insert(unsent.end(), again.begin(), again.end());
  std::erase_if(resent_, is_of);
  resent_.insert(again.begin(), again.end());
  return again;
}

bool outbox::answered(const lease_key& key) {
  auto found = waiting_.find(key);
  if (found == waiting_.end())
    return false;
  bytes_ -= found->second.made.byte_size();
  waiting_.erase(found);
  return true;
}

bool outbox::postpone(const lease_key& key) {
  if (!waiting_.contains(key))
    return false;
  postponed_.push_back(key);
  return true;
}

void outbox::send_postponed() {
  for (const auto& key : std::exchange(postponed_, {}))
    unsent_[key.store].push_back(key);
}

const report* outbox::refused(const lease_key& key, const std::string& why) {
  auto found = waiting_.find(key);
  if (found == waiting_.end() || !has_content(found->second.made))
    return nullptr;
  auto failed = std::move(found->second.made);
  bytes_ -= failed.byte_size();
  waiting_.erase(found);
  fail_for_content(failed, why);
  add(std::move(failed));
  return &waiting_.at(key).made;
}

void outbox::drop(std::size_t store) {
  unsent_[store].clear();
  std::erase_if(resent_, [&](const lease_key& key) { return key.store == store; });
  std::erase_if(waiting_, [&](const auto& item) {
    if (item.first.store != store)
      return false;
    bytes_ -= item.second.made.byte_size();
    return true;
  });
}

bool outbox::is_full() const noexcept {
  return waiting_.size() >= tuning::unanswered_reports_max
         || bytes_ >= tuning::unanswered_bytes_max;
}

} // namespace codeq::worker
