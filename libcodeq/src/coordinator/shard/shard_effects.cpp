// SPDX-License-Identifier: Apache-2.0
#include "coordinator/shard/shard.hpp"

#include "core/queues/queue_rules.hpp"
#include "core/turn/task_selection.hpp"

#include <utility>
#include <variant>

/// How a shard carries out the effects of its turns once they are durable.
namespace codeq::coordinator {

void shard::carry_out(std::vector<core::effect>& effects, const instant& now) {
  for (auto& e : effects)
    std::visit([&](auto& x) { carry_out(x, now); }, e);
  tell_ended();
}

template <class Effect>
void shard::carry_out(Effect& e, const instant&) {
  auto peer = e.peer;
  reply_to(peer, std::move(e));
}

void shard::reply_to(core::peer_id peer, protocol::peer_reply reply) {
  if (peers_.contains(peer))
    port_.reply(peer, std::move(reply));
}

credit_news shard::news_of(const core::tasks_granted& e) const {
  credit_news news{state_->id, e.more ? credit_news::kind::has_work : credit_news::kind::drained};
  for (const auto& run : e.runs)
    news.being_read += run.count;
  return news;
}

void shard::tell_credits(core::peer_id peer, credit_news::kind what, std::uint32_t credits) {
  if (peers_.contains(peer))
    port_.tell_credits(peer, {state_->id, what, credits});
}

std::string_view shard::owner_of(core::peer_id peer) const {
  auto at = peers_.find(peer);
  bool has_tenant = at != peers_.end() && at->second.bearer;
  return has_tenant ? std::string_view(at->second.bearer->tenant) : "-";
}

void shard::note_refusal(std::string_view owner, const error& reason) {
  if (core::is_of_fairness_keys(reason))
    port_.note_limit("fairness_keys_max", limits::fairness_keys_max, owner);
  else if (core::is_of_limit_keys(reason))
    port_.note_limit("limit_keys_max", limits::limit_keys_max, owner);
  else if (core::is_of_max_depth(reason))
    port_.note_limit("max_depth", 0, owner, core::full_queue(reason));
  else if (core::is_too_many_queues(reason))
    port_.note_limit("queues_per_tenant_max", limits::queues_per_tenant_max, owner);
  else if (reason.code == errc::overloaded && !core::is_not_answered(reason))
    port_.note_limit("producer_requests_max", limits::producer_requests_max, owner);
  else if (reason.code == errc::disk_full)
    port_.note_limit("free_bytes", 0, owner);
}

void shard::carry_out(core::enqueue_answered& e, const instant&) {
  auto peer = e.peer;
  // The gateway is one peer for all tenants.
  if (!e.allowed) {
    note_refusal(e.tenant.empty() ? owner_of(peer) : e.tenant, e.allowed.error());
    count_refusal(e.allowed.error().code);
  }
  reply_to(peer, std::move(e));
}

void shard::carry_out(core::queue_answered& e, const instant&) {
  auto peer = e.peer;
  if (!e.allowed)
    note_refusal(owner_of(peer), e.allowed.error());
  e.lacks_copies = !check_replicas() || !port_.may_answer();
  reply_to(peer, std::move(e));
}

void shard::carry_out(core::limits_answered& e, const instant&) {
  auto peer = e.peer;
  if (!e.allowed && e.allowed.error().code == errc::too_large)
    port_.note_limit("limits_per_tenant_max", limits::limits_per_tenant_max, owner_of(peer));
  else if (!e.allowed && e.allowed.error().code == errc::overloaded)
    port_.note_limit("closes_waiting_max", core::permit_recalls::waiting_max, owner_of(peer));
  else if (!e.allowed)
    note_refusal(owner_of(peer), e.allowed.error());
  reply_to(peer, std::move(e));
}

void shard::carry_out(core::limit_keys_met& e, const instant&) {
  port_.note_limit("limit_keys_max", limits::limit_keys_max, e.tenant);
}

void shard::carry_out(core::tasks_granted& e, const instant& now) {
  if (!peers_.contains(e.peer))
    return;
  if (!e.redelivered)
    note_dispatch(e, now);
  std::vector<core::encoded_tasks> bodies;
  bool all_cached = true;
  for (const auto& run : e.runs) {
    auto cached = cache_.find(run.segment, run.first, run.count);
    // Checkpoints are not cached, only stored on disk.
    all_cached = all_cached && cached && run.checkpoints.empty();
    bodies.push_back(cached ? std::move(*cached) : core::encoded_tasks{});
  }
  auto peer = e.peer;
  if (!all_cached) {
    // Reading takes time, and later messages of this shard must not be overtaken, so this one is
    // sent now.
    if (!e.redelivered)
      port_.tell_credits(peer, news_of(e));
    return port_.fetch_bodies(peer, {state_->id, std::move(e), std::move(bodies)});
  }
  for (const auto& run : e.runs)
    cache_.granted(run.segment, run.first, run.count);
  auto more = e.more;
  port_.deliver(peer, {state_->id, std::move(e), std::move(bodies), more});
}

void shard::carry_out(core::claim_parked& e, const instant&) {
  tell_credits(e.peer, credit_news::kind::drained);
}

void shard::carry_out(core::work_available& e, const instant&) {
  tell_credits(e.peer, credit_news::kind::has_work);
}

void shard::carry_out(core::credits_revoked& e, const instant&) {
  tell_credits(e.peer, credit_news::kind::returned, e.credits);
}

void shard::carry_out(core::claim_outranked& e, const instant&) {
  if (peers_.contains(e.peer))
    port_.tell_credits(
      e.peer, {state_->id, credit_news::kind::outranked, e.credits, 0, e.by, e.priority});
}

void shard::carry_out(core::reports_answered& e, const instant&) {
  for (const auto& answer : e.answers) {
    if (answer.code != errc::none)
      continue;
    ran_.add(answer.ran);
    if (auto* times = times_of(answer.queue_index))
      times->run.add(answer.ran);
  }
  reply_to(e.peer, std::move(e));
}

void shard::carry_out(core::timer_wanted& e, const instant&) {
  timers_ += port_.make_timer(e.seq, e.token) ? 1 : 0;
  wheel_.add(e.token, e.deadline);
}

void shard::carry_out(core::timer_dropped& e, const instant&) {
  timers_ -= port_.drop_timer(e.token) ? 1 : 0;
  wheel_.drop(e.token);
}

void shard::carry_out(core::leases_expired& e, const instant&) {
  port_.note_expired(e);
}

void shard::carry_out(core::breaker_tripped& e, const instant&) {
  port_.note_breaker(e);
  // A shard that cannot be reached goes on until settings are carried to it. When the carried
  // settings lack the pause, the turn that adopts them emits this effect again.
  for (std::uint16_t other = 0; other < shard_count_; ++other)
    if (shard_id{other} != state_->id)
      port_.to_shard(shard_id{other}, core::pause_queue{0, 0, e.queue, true, nullptr, e.reason});
}

void shard::carry_out(core::task_described& e, const instant& now) {
  auto peer = e.why.peer;
  if (!e.text) {
    auto seq = e.view.seq;
    auto view = std::make_shared<const core::task_view>(std::move(e.view));
    return inquire(e.why, {state_->id, e.why, seq, std::move(view)}, now);
  }
  if (e.why.what == core::inquiry::kind::status)
    return reply_to(
      peer, protocol::status_answered{e.why.number, std::move(e.view), {std::move(*e.text)}});
  const auto& entry = e.view.entry;
  ended_[peer].push_back({e.view.seq, errc::none, entry.state, entry.attempt, std::move(*e.text)});
}

void shard::carry_out(core::task_not_here& e, const instant& now) {
  inquire(e.why, {state_->id, e.why, e.seq, nullptr, std::move(e.purged)}, now);
}

void shard::carry_out(core::tasks_listed& e, const instant& now) {
  auto peer = e.peer;
  if (!core::needs_store(e.part.filter))
    return reply_to(peer, std::move(e));
  if (peers_.contains(peer))
    port_.list_stored(
      peer, {state_->id, std::move(e), now.shard, !is_shared(peer)});
}

void shard::carry_out(core::audit_wanted& e, const instant& now) {
  stored_inquiry inquiry{state_->id, e.why};
  inquiry.audit = std::move(e.filter);
  inquiry.shard_count = e.is_of_shard ? std::uint16_t{0} : shard_count_;
  inquire(e.why, std::move(inquiry), now);
}

void shard::inquire(const core::inquiry& why, stored_inquiry inquiry, const instant& now) {
  auto at = peers_.find(why.peer);
  if (at == peers_.end())
    return;
  inquiry.now = now.shard;
  inquiry.asker = at->second.bearer;
  inquiry.is_bounded = !is_shared(why.peer);
  port_.answer_inquiry(why.peer, std::move(inquiry));
}

void shard::carry_out(core::progress_told& e, const instant&) {
  ended_[e.peer].push_back(
    {e.seq, errc::none, task_state::leased, e.attempt, bytes(std::move(e.note)), e.percent});
}

void shard::tell_ended() {
  for (auto& [peer, tasks] : ended_)
    reply_to(peer, protocol::tasks_told{std::move(tasks)});
  ended_.clear();
}

void shard::tell_queues() {
  // Names may be sent before they are durable: at worst a worker waits at a queue that stays empty.
  auto removed = std::exchange(removed_queues_, {});
  for (auto& [peer, told] : queue_watchers_) {
    if (told == state_->queues_created && removed.empty())
      continue;
    auto news = queues_from(told);
    news.removed = removed;
    port_.tell_queues(peer, std::move(news));
    told = state_->queues_created;
  }
}

queues_added shard::queues_from(std::uint64_t arrival) const {
  queues_added news{state_->id, {}};
  const auto& all = state_->queues_by_arrival;
  for (auto at = all.lower_bound(arrival); at != all.end(); ++at)
    news.queues.push_back(state_->queues[at->second]->address);
  return news;
}

core::queue_times* shard::times_of(std::uint32_t queue_index) {
  auto* queue =
    queue_index < state_->queues.size() ? state_->queues[queue_index].get() : nullptr;
  return queue ? &queue->activity.measured() : nullptr;
}

void shard::count_refusal(errc reason) {
  ++refused_enqueues_[reason];
}

void shard::note_dispatch(const core::tasks_granted& granted, const instant& now) {
  for (const auto& run : granted.runs) {
    // The task in an aside may have been deferred, and a later attempt may have waited for a retry.
    if (run.aside || !run.attempts.empty())
      continue;
    auto waited = now.shard - run.enqueued_at;
    dispatched_.add(waited, run.count);
    if (auto* times = times_of(run.queue_index))
      times->dispatch.add(waited, run.count);
  }
}

} // namespace codeq::coordinator
