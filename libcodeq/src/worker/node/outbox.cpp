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
  unsent_[key.link].push_back(key);
}

std::vector<outbox::batch> outbox::take(std::size_t link) {
  struct filling {
    std::size_t index = 0;
    std::size_t bytes = 0;
  };

  std::vector<batch> batches;
  std::map<shard_id, filling> open;
  for (const auto& key : std::exchange(unsent_[link], {})) {
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

void outbox::resend(std::size_t link) {
  std::vector<std::pair<std::uint64_t, lease_key>> ordered;
  for (const auto& [key, entry] : waiting_)
    if (key.link == link)
      ordered.emplace_back(entry.order, key);
  std::sort(ordered.begin(), ordered.end());
  unsent_[link].clear();
  for (const auto& [order, key] : ordered)
    unsent_[link].push_back(key);
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
    unsent_[key.link].push_back(key);
}

bool outbox::refused(const lease_key& key, const std::string& why) {
  auto found = waiting_.find(key);
  if (found == waiting_.end() || found->second.made.what != disposition::completed)
    return false;
  auto failed = std::move(found->second.made);
  bytes_ -= failed.byte_size();
  waiting_.erase(found);
  fail_for_follow_ups(failed, why);
  add(std::move(failed));
  return true;
}

void outbox::drop(std::size_t link) {
  unsent_[link].clear();
  std::erase_if(waiting_, [&](const auto& item) {
    if (item.first.link != link)
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
