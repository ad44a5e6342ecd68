// SPDX-License-Identifier: Apache-2.0
#include "worker/node/dispatcher.hpp"

#include "base/tuning.hpp"

#include <algorithm>
#include <utility>

/// Reasons to wake a dispatcher: news of handlers, leases that need heartbeats, messages to send.
namespace codeq::worker {

dispatcher::dispatcher(const dispatcher_options& options, dispatcher_port& port)
  : port_(port),
    tenant_(options.tenant),
    wake_(options.wake),
    pool_(
      options.queues,
      options.slots,
      [this](const std::string& queue, const std::string& group) {
        return port_.start_handler(queue, group);
      }),
    waiting_(
      {[this](const std::string& queue) { return pool_.room(queue); },
       [this](const lease_key& key) { return book_.find(key) != nullptr; },
       [this](const task& attempt) { return pool_.may_start(attempt); }}),
    claims_(options.slots + options.prefetch, options.coordinators.size()),
    outbox_(options.coordinators.size(), options.batch),
    prefetch_(options.prefetch),
    batch_(options.batch),
    links_(options.coordinators.size()),
    routes_(options.coordinators) {
  set_weights();
  set_quotas();
}

void dispatcher::flush() {
  flush_scheduled_ = false;
  look_at_quotas();
  for (std::size_t link = 0; link < links_.size(); ++link) {
    if (!links_[link].open)
      continue;
    // Before the reports: tasks of a queue that they give back must not be granted to this node
    // again.
    send_queues(link);
    tell_reach(link);
  }
  send_reports();
  for (std::size_t link = 0; link < links_.size(); ++link) {
    if (!links_[link].open)
      continue;
    for (auto credits = outbox_.is_full() ? 0 : claims_.take(link); credits > 0;) {
      auto part = std::min(credits, batch_);
      send_to(link, make_claim(part, batch_).to_wire());
      credits -= part;
    }
  }
  for (std::size_t link = 0; link < links_.size() && cluster_store_; ++link)
    if (auto idle = claims_.take_back(link); idle > 0)
      send_to(link, make_take_back(idle).to_wire());
}

void dispatcher::send_reports() {
  for (std::size_t store = 0; store < outbox_.stores(); ++store) {
    if (store != cluster_store_ && !links_[store].open)
      continue;
    auto batches =
      store == cluster_store_
        ? outbox_.take(store, [&](shard_id shard) { return link_of(store, shard).has_value(); })
        : outbox_.take(store);
    for (const auto& batch : batches)
      send_to(*link_of(store, batch.shard), make_results(batch).to_wire());
  }
}

void dispatcher::schedule_flush() {
  if (std::exchange(flush_scheduled_, true))
    return;
  // Runs after the messages that are already in the mailbox, so that their results are sent in the
  // same frames.
  port_.flush_soon();
}

std::uint64_t dispatcher::wake_after(duration wait) {
  port_.wake_after(wait, ++last_wake_);
  return last_wake_;
}

std::uint64_t dispatcher::wake_at(monotonic_time due, monotonic_time now) {
  return wake_after(std::max(due - now, duration{1}));
}

void dispatcher::wake(std::uint64_t number, monotonic_time now) {
  if (number == look_wake_)
    look_at_leases(now);
  else if (number == news_wake_)
    pass_news_on(now);
  else if (number == idle_wake_)
    end_idle(now);
  else if (number == step_wake_)
    end_step(now);
  else if (number == limit_wake_)
    limit_wake_ = 0;
  else if (number == retry_wake_)
    send_postponed();
  else if (number == places_wake_)
    retry_places(now);
  else if (number == ask_wake_)
    ask_for_credits_again();
}

void dispatcher::look_at_leases(monotonic_time now) {
  look_armed_.reset();
  auto seen = book_.look(now, [this](const lease_key& key) { return link_of(key).has_value(); });
  send_beats(std::move(seen.beats), now);
  for (const auto& key : seen.over) {
    auto& lease = *book_.find(key);
    port_.note_over({key.shard, lease.seq}, key.token);
    if (lease.phase == lease_phase::queued)
      lose({lease.seq, key});
    else
      stop_attempt(lease, stop_cause::own);
  }
  arm_look(now);
}

void dispatcher::send_beats(std::vector<beat> beats, monotonic_time now) {
  std::vector<std::vector<beat>> by_link(links_.size());
  for (auto& line : beats)
    if (auto link = link_of(line.key)) {
      by_link[*link].push_back(line);
      if (!links_[*link].answers_heartbeats)
        book_.find(line.key)->count_from(now);
    }
  for (std::size_t link = 0; link < by_link.size(); ++link) {
    const auto number = heartbeat_number(link, now);
    for (const auto& request : make_heartbeats(std::move(by_link[link]), number))
      send_to(link, request.to_wire());
  }
}

std::uint64_t dispatcher::heartbeat_number(std::size_t link, monotonic_time now) const {
  const auto since = static_cast<std::uint64_t>(now.time_since_epoch().count());
  return links_[link].answers_heartbeats ? since : 0;
}

void dispatcher::take(
  std::size_t link, const protocol::heartbeat_reply& reply, monotonic_time now) {
  auto read = read_heartbeat_reply(store_of(link), reply);
  if (!read)
    return port_.break_link(link, read.error());
  const monotonic_time sent{duration{static_cast<duration::rep>(read->number)}};
  for (const auto& key : read->leases)
    if (auto* lease = book_.find(key))
      lease->count_from(std::min(sent, now));
}

void dispatcher::arm_look(monotonic_time now) {
  auto due = book_.next_look();
  if (!due || (look_armed_ && *look_armed_ <= *due))
    return;
  look_armed_ = due;
  look_wake_ = wake_at(*due, now);
}

void dispatcher::take_news() {
  news_wake_ = wake_after(tuning::progress_interval);
}

void dispatcher::pass_news_on(monotonic_time now) {
  wake_->clear();
  std::vector<std::vector<progress_of>> by_link(links_.size());
  book_.for_each([&](const lease_key& key, held_lease& lease) {
    // While there is no connection, the handlers' news is kept and extends no lease.
    auto link = link_of(key);
    if (!lease.line || !link)
      return;
    auto said = lease.line->take();
    if (!said.progressed && !said.checkpoint)
      return;
    lease.beat(now, said.extend);
    if (!links_[*link].answers_heartbeats)
      lease.count_from(now);
    by_link[*link].push_back(
      {{key, lease.seq, lease.phase, said.progressed, said.extend},
       std::move(said.line),
       std::move(said.checkpoint)});
  });
  for (std::size_t link = 0; link < by_link.size(); ++link) {
    const auto number = heartbeat_number(link, now);
    for (const auto& request : make_progress(std::move(by_link[link]), number))
      send_to(link, request.to_wire());
  }
}

base::worker_node_counts dispatcher::counts() const {
  base::worker_node_counts counts;
  counts.slots = pool_.slots();
  counts.running = pool_.running();
  counts.waiting = book_.size() - std::min(book_.size(), pool_.running());
  counts.links = links_.size();
  counts.links_up = static_cast<std::uint64_t>(
    std::count_if(links_.begin(), links_.end(), [](const link_state& at) { return at.open; }));
  counts.unanswered = outbox_.size();
  counts.is_draining = step_ != step::running;
  counts.queues = meter_.counts();
  return counts;
}

void dispatcher::end_idle(monotonic_time now) {
  idle_armed_.reset();
  auto ends = pool_.passivate(now);
  for (auto handler : ends.over)
    port_.stop_handler(handler);
  arm_idle_look(ends.next, now);
}

void dispatcher::arm_idle_look(monotonic_time due, monotonic_time now) {
  if (due == monotonic_time::max() || (idle_armed_ && *idle_armed_ <= due))
    return;
  idle_armed_ = due;
  idle_wake_ = wake_at(due, now);
}

} // namespace codeq::worker
