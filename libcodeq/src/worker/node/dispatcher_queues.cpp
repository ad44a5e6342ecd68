// SPDX-License-Identifier: Apache-2.0
#include "worker/node/dispatcher.hpp"

#include <algorithm>
#include <utility>

/// How a dispatcher requests queues, and how it applies new settings.
namespace codeq::worker {

bool dispatcher::serves(const std::string& queue) {
  if (pool_.handles(queue))
    return true;
  if (pool_.adopted() >= limits::queues_per_tenant_max)
    forget_idle_queues();
  if (!pool_.adopt(queue))
    return false;
  waiting_.set_weight(queue, pool_.weight_of(queue));
  set_quota(queue);
  return true;
}

void dispatcher::forget_idle_queues() {
  for (const auto& queue : pool_.queues()) {
    if (!pool_.is_adopted(queue) || held_of(queue) > 0 || !pool_.forget(queue))
      continue;
    waiting_.forget(queue);
    quotas_.erase(queue);
    if (closed_.erase(queue) > 0)
      ++queues_version_;
  }
}

void dispatcher::set_weights() {
  for (const auto& queue : pool_.queues())
    waiting_.set_weight(queue, pool_.weight_of(queue));
}

std::size_t dispatcher::held_of(const std::string& queue) const {
  return waiting_.count(queue) + pool_.running_of(queue);
}

void dispatcher::set_quotas() {
  quotas_.clear();
  for (const auto& queue : pool_.queues())
    set_quota(queue);
}

void dispatcher::set_quota(const std::string& queue) {
  if (auto own = pool_.slots_of(queue); own < pool_.slots())
    quotas_.emplace(queue, make_quota(own, pool_.slots(), prefetch_));
}

void dispatcher::look_at_quotas() {
  for (const auto& [queue, quota] : quotas_) {
    auto held = held_of(queue);
    bool was_closed = closed_.contains(queue);
    if (!was_closed && held >= quota.most)
      closed_.insert(queue);
    else if (was_closed && held <= quota.reopen)
      closed_.erase(queue);
    else
      continue;
    ++queues_version_;
  }
}

void dispatcher::send_queues(std::size_t link) {
  auto& at = links_[link];
  if (at.queues_version == queues_version_ || step_ != step::running)
    return;
  at.queues_version = queues_version_;
  auto served = pool_.queues();
  std::erase_if(served, [this](const auto& queue) { return pool_.is_adopted(queue); });
  std::sort(served.begin(), served.end());
  auto patterns = pool_.patterns();
  served.insert(served.end(), patterns.begin(), patterns.end());
  // Closed queues are named in both, so that the coordinator knows that they are served.
  std::vector<std::string> without(closed_.begin(), closed_.end());
  send_to(link, make_queue_change(tenant_, served, without).to_wire());
}

void dispatcher::reconfigure(
  const std::vector<served_queue>& queues,
  std::size_t slots,
  std::size_t prefetch,
  monotonic_time now) {
  if (step_ != step::running)
    return;
  now_ = now;
  port_.note_settings(queues.size(), slots, prefetch);
  prefetch_ = prefetch;
  pool_.configure(queues, slots);
  for (auto handler : pool_.handlers())
    retire(handler);
  set_weights();
  claims_.resize(slots + prefetch);
  closed_.clear();
  set_quotas();
  ++queues_version_;
  give_back_unhandled();
  start_waiting();
  schedule_flush();
}

void dispatcher::retire(handler_number handler) {
  if (pool_.retire(handler))
    port_.stop_handler(handler);
}

void dispatcher::give_back_unhandled() {
  for (auto& waiting : waiting_.take_all()) {
    if (pool_.handles(waiting.attempt.queue))
      waiting_.add(waiting.key, std::move(waiting.attempt));
    else
      give_back(waiting);
  }
}

void dispatcher::give_back(const waiting_task& waiting) {
  if (book_.find(waiting.key) == nullptr)
    return;
  book_.remove(waiting.key);
  claims_.released(waiting.key.store);
  report_later(make_unstarted(waiting.key, waiting.attempt.id.seq));
}

} // namespace codeq::worker
