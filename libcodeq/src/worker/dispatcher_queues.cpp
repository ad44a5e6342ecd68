// SPDX-License-Identifier: Apache-2.0
#include "observe/log.hpp"
#include "worker/dispatcher_state.hpp"
#include "worker/report.hpp"

#include <caf/actor_system.hpp>
#include <caf/send.hpp>

#include <algorithm>
#include <utility>

namespace codeq::worker {

std::size_t dispatcher_state::held_of(const std::string& queue) const {
  return waiting_->count(queue) + pool_->running_of(queue);
}

void dispatcher_state::set_quotas() {
  quotas_.clear();
  for (const auto& queue : pool_->queues())
    if (auto own = pool_->slots_of(queue); own < pool_->slots())
      quotas_.emplace(queue, make_quota(own, pool_->slots(), prefetch_));
}

void dispatcher_state::look_at_quotas() {
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

void dispatcher_state::send_queues(std::size_t link) {
  auto& at = links_[link];
  if (at.queues_version == queues_version_ || step_ != step::running)
    return;
  at.queues_version = queues_version_;
  auto open = pool_->queues();
  std::erase_if(open, [this](const auto& queue) { return closed_.contains(queue); });
  std::sort(open.begin(), open.end());
  send_to(link, make_queue_change(tenant_, open).to_wire());
}

void dispatcher_state::reconfigure(actors::reconfigure_worker& wish) {
  if (step_ != step::running)
    return;
  CODEQ_LOG_INFO(
    "worker takes new settings queues={} slots={} prefetch={}",
    wish.handlers.size(),
    wish.slots,
    wish.prefetch);
  for (const auto& handler : wish.handlers)
    waiting_->set_weight(handler.queue, handler.options.weight);
  prefetch_ = wish.prefetch;
  pool_->configure(std::move(wish.handlers), wish.slots);
  claims_->resize(wish.slots + wish.prefetch);
  closed_.clear();
  set_quotas();
  ++queues_version_;
  give_back_unhandled();
  start_waiting();
  schedule_flush();
}

void dispatcher_state::give_back_unhandled() {
  for (auto& waiting : waiting_->take_all()) {
    if (pool_->handles(waiting.attempt.queue))
      waiting_->add(waiting.key, std::move(waiting.attempt));
    else
      give_back(waiting);
  }
}

void dispatcher_state::give_back(const waiting_task& waiting) {
  if (book_.find(waiting.key) == nullptr)
    return;
  book_.remove(waiting.key);
  claims_->released(waiting.key.link);
  report_later(make_unstarted(waiting.key, waiting.attempt.id.seq));
}

std::shared_ptr<news_bell> dispatcher_state::make_bell() {
  actors::dispatcher_actor me = self_;
  return std::make_shared<news_bell>([weak = caf::actor_cast<caf::weak_actor_ptr>(me)] {
    if (auto dispatcher = weak.lock())
      caf::anon_send(caf::actor_cast<actors::dispatcher_actor>(dispatcher), actors::attempt_news{});
  });
}

void dispatcher_state::take_news(const actors::attempt_news& news) {
  if (!news.due) {
    self_->delayed_send(self_, limits::progress_interval, actors::attempt_news{true});
    return;
  }
  bell_->answer();
  std::vector<std::vector<progress_of>> by_link(links_.size());
  book_.for_each([&](const lease_key& key, held_lease& lease) {
    // What is said while there is no connection waits for it, and extends nothing.
    if (!lease.line || !links_[key.link].open)
      return;
    auto said = lease.line->take();
    if (!said.progressed && !said.checkpoint)
      return;
    if (said.extend > duration{0})
      lease.extended_until = now() + said.extend;
    lease.count_from(now());
    by_link[key.link].push_back(
      {{key, lease.seq, lease.phase, true, said.extend},
       std::move(said.line),
       std::move(said.checkpoint)});
  });
  for (std::size_t link = 0; link < by_link.size(); ++link)
    for (const auto& request : make_progress(std::move(by_link[link])))
      send_to(link, request.to_wire());
}

void dispatcher_state::end_idle() {
  idle_armed_.reset();
  arm_idle_look(pool_->passivate(now()));
}

void dispatcher_state::arm_idle_look(monotonic_time due) {
  if (due == monotonic_time::max() || (idle_armed_ && *idle_armed_ <= due))
    return;
  idle_armed_ = due;
  self_->delayed_send(self_, std::max(due - now(), duration{1}), actors::idle_look{});
}

} // namespace codeq::worker
