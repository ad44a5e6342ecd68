// SPDX-License-Identifier: Apache-2.0
#include "worker/node/dispatcher.hpp"

#include <algorithm>
#include <utility>

/// How a dispatcher requests queues, and how it applies new settings.
namespace codeq::worker {

std::size_t dispatcher::held_of(const std::string& queue) const {
  return waiting_.count(queue) + pool_.running_of(queue);
}

void dispatcher::set_quotas() {
  quotas_.clear();
  for (const auto& queue : pool_.queues())
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
  auto open = pool_.queues();
  std::erase_if(open, [this](const auto& queue) { return closed_.contains(queue); });
  std::sort(open.begin(), open.end());
  send_to(link, make_queue_change(tenant_, open).to_wire());
}

void dispatcher::reconfigure(
  const std::vector<served_queue>& queues, std::size_t slots, std::size_t prefetch) {
  if (step_ != step::running)
    return;
  port_.note_settings(queues.size(), slots, prefetch);
  for (const auto& served : queues)
    waiting_.set_weight(served.queue, served.weight);
  prefetch_ = prefetch;
  pool_.configure(queues, slots);
  claims_.resize(slots + prefetch);
  closed_.clear();
  set_quotas();
  ++queues_version_;
  give_back_unhandled();
  start_waiting();
  schedule_flush();
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
  claims_.released(waiting.key.link);
  report_later(make_unstarted(waiting.key, waiting.attempt.id.seq));
}

} // namespace codeq::worker
