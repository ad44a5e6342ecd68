// SPDX-License-Identifier: Apache-2.0
#include "base/tuning.hpp"
#include "worker/node/dispatcher.hpp"

#include <utility>

/// How a dispatcher accepts tasks, has them run and handles their outcomes.
namespace codeq::worker {

void dispatcher::take(std::size_t link, const protocol::task_batch& batch, monotonic_time now) {
  now_ = now;
  // Another link has replaced this one. The coordinator delivers the leases again over that link.
  // If a task of this batch ran and was over by then, its second copy would run as well.
  if (!links_[link].open)
    return;
  auto read = read_task_batch(batch);
  if (!read)
    return port_.break_link(link, read.error());
  claims_.received(link, store_of(link), read->tasks.size(), read->redelivered);
  // A task whose lease was lost while it waited may come again under the same token; its first copy
  // would start as well.
  if (read->redelivered)
    waiting_.drop_lost();
  for (auto& attempt : read->tasks)
    accept_task(link, std::move(attempt), read->redelivered, now);
  start_waiting();
  arm_look(now);
  schedule_flush();
}

void dispatcher::accept_task(
  std::size_t link, task&& attempt, bool redelivered, monotonic_time received_at) {
  lease_key key{store_of(link), attempt.id.shard, attempt.token};
  // After a resume the coordinator may deliver a lease that this node has: one that was listed too
  // late, or that has just ended.
  if (book_.find(key) != nullptr || outbox_.has_reported(key) || is_stale(link, key, redelivered))
    return claims_.released(key.store);
  if (is_repeated(key, redelivered))
    return return_task(key, attempt);
  if (step_ != step::running || attempt.tenant != tenant_ || !serves(attempt.queue))
    return refuse_task(key, attempt);
  if (auto quota = quotas_.find(attempt.queue);
      quota != quotas_.end() && held_of(attempt.queue) >= quota->second.most)
    return return_task(key, attempt);
  held_lease lease;
  lease.seq = attempt.id.seq;
  lease.tenant = attempt.tenant;
  lease.lease = attempt.lease;
  lease.counted_from = received_at;
  lease.cancel = attempt.cancel;
  book_.add(key, std::move(lease));
  waiting_.add(key, std::move(attempt));
}

bool dispatcher::is_stale(std::size_t link, const lease_key& key, bool redelivered) const {
  if (key.store != cluster_store_)
    return false;
  const auto granted_in = value(key.token) / (tuning::token_counter_max + 1);
  // The network may hold a grant up while the shard goes to another coordinator and comes back.
  // This node has resumed in the later epoch, where a lease that it does not know comes again.
  const auto* place = routes_.map().of(key.shard);
  const auto is_of_earlier_epoch = place && granted_in < place->epoch;
  return (is_of_earlier_epoch && !redelivered) || routes_.has_moved_on(key.shard, link, granted_in);
}

bool dispatcher::is_repeated(const lease_key& key, bool redelivered) {
  if (key.store != cluster_store_)
    return false;
  if (repeated_.contains(key))
    return true;
  if (redelivered)
    repeated_.add(key);
  return false;
}

void dispatcher::refuse_task(const lease_key& key, const task& attempt) {
  if (step_ == step::running)
    port_.note_unhandled(attempt);
  return_task(key, attempt);
}

void dispatcher::return_task(const lease_key& key, const task& attempt) {
  claims_.released(key.store);
  report_later(make_unstarted(key, attempt.id.seq));
}

void dispatcher::start_waiting() {
  for (auto next = waiting_.take_next(); !next.empty(); next = waiting_.take_next())
    run(std::move(next));
}

void dispatcher::run(waiting_list together) {
  for (auto& waiting : together)
    begin(waiting);
  auto [handler, is_batch] = pool_.start(together);
  if (!is_batch)
    return port_.run(handler, std::move(together.front().attempt));
  std::vector<task> attempts;
  for (auto& waiting : together)
    attempts.push_back(std::move(waiting.attempt));
  port_.run_batch(handler, std::move(attempts));
}

void dispatcher::begin(waiting_task& waiting) {
  auto& lease = *book_.find(waiting.key);
  auto& attempt = waiting.attempt;
  lease.phase = lease_phase::running;
  lease.started_at = now_;
  attempt_line::subject about{
    attempt.id, attempt.queue, attempt.attempt, attempt.token, attempt.max_attempts};
  lease.line = std::make_shared<attempt_line>(std::move(about), wake_);
  lease.line->set_valid_until(lease.valid_until());
  attempt.runtime = lease.line;
}

void dispatcher::take_outcomes(
  handler_number handler, std::span<outcome> answers, monotonic_time now) {
  now_ = now;
  auto ended = pool_.finish(handler, now);
  for (std::size_t i = 0; i < ended.size() && i < answers.size(); ++i)
    end_attempt(ended[i], std::move(answers[i]));
  retire(handler);
  arm_idle_look(pool_.passivated_at(handler, now), now);
  go_on();
}

void dispatcher::take_handler_end(
  handler_number handler, const outcome& answer, monotonic_time now) {
  now_ = now;
  auto ended = pool_.remove(handler);
  if (ended.empty())
    return;
  for (const auto& key : ended) {
    port_.note_handler_end(key.token, answer.text());
    end_attempt(key, answer);
  }
  go_on();
}

void dispatcher::end_attempt(const lease_key& key, outcome answer) {
  claims_.released(key.store);
  // If the lease is not in the book, it was lost, or the drain has given the task back.
  if (auto lease = book_.take(key)) {
    // A power cut of the coordinator undid the loss of the lease: the task was delivered again,
    // waits, and gets the outcome of the handler that ran on. Until now it counted twice.
    if (lease->phase == lease_phase::queued)
      claims_.released(key.store);
    auto made = make_report(key, *lease, std::move(answer));
    note_end(*lease, made);
    report_later(std::move(made));
    if (lease->line)
      lease->line->unsaved().give_up();
  }
}

void dispatcher::note_end(const held_lease& lease, report& made) {
  if (!lease.line)
    return;
  made.line = lease.line;
  made.ran = now_ - lease.started_at;
  meter_.ended(lease.line->about().queue, made.what, made.ran);
  note_failure(made);
}

void dispatcher::note_failure(const report& made) {
  bool has_failed = made.what == disposition::failed || made.what == disposition::nack
                    || made.what == disposition::failed_permanently;
  if (!has_failed || !made.line)
    return;
  const auto& about = made.line->about();
  bool is_last =
    made.what == disposition::failed_permanently || about.attempt >= about.max_attempts;
  port_.note_failed({about, made.text, made.ran, is_last});
}

void dispatcher::drop_lease(const lease_key& key) {
  if (auto lease = book_.take(key); lease && lease->line)
    lease->line->unsaved().give_up();
}

void dispatcher::go_on() {
  start_waiting();
  schedule_flush();
  advance_drain();
}

void dispatcher::stop_attempt(held_lease& lease, stop_cause cause) {
  lease.stop = cause;
  lease.cancel->request();
}

void dispatcher::take(std::size_t link, const protocol::leases_lost& lost) {
  auto read = read_leases_lost(store_of(link), lost);
  if (!read)
    return port_.break_link(link, read.error());
  for (const auto& gone : *read)
    lose(gone);
  schedule_flush();
  advance_drain();
}

void dispatcher::lose(const lease_ref& gone) {
  // A report that was sent is settled by its answer, whatever happens to the lease.
  auto* lease = book_.find(gone.key);
  if (lease == nullptr)
    return;
  port_.note_lost({gone.key.shard, gone.seq}, gone.key.token);
  bool was_waiting = lease->phase == lease_phase::queued;
  if (lease->line)
    meter_.lost(lease->line->about().queue);
  auto cancel = std::move(lease->cancel);
  drop_lease(gone.key);
  if (was_waiting)
    claims_.released(gone.key.store);
  else
    cancel->request();
}

void dispatcher::take(std::size_t link, const protocol::checkpoints_saved& saved) {
  auto read = read_checkpoints_saved(store_of(link), saved);
  if (!read)
    return port_.break_link(link, read.error());
  for (const auto& line : *read)
    if (auto* lease = book_.find(line.key); lease != nullptr && lease->line)
      lease->line->unsaved().saved(line.number);
  const auto postponed = read_checkpoints_postponed(store_of(link), saved);
  if (!postponed)
    return port_.break_link(link, postponed.error());
  for (const auto& line : *postponed)
    if (auto* lease = book_.find(line.key); lease != nullptr && lease->line) {
      lease->line->unsaved().postpone(line.number);
      retry_later();
    }
}

void dispatcher::take(std::size_t link, const protocol::cancel_notice& notice) {
  auto read = read_cancel_notice(store_of(link), notice);
  if (!read)
    return port_.break_link(link, read.error());
  auto* lease = book_.find(read->key);
  if (lease == nullptr)
    return;
  if (lease->phase == lease_phase::running)
    return stop_attempt(*lease, stop_cause::cancelled);
  auto unstarted = make_unstarted(read->key, lease->seq);
  unstarted.what = disposition::cancelled;
  book_.remove(read->key);
  claims_.released(read->key.store);
  report_later(std::move(unstarted));
}

void dispatcher::take(std::size_t link, const protocol::result_reply& reply) {
  auto read = read_result_reply(store_of(link), reply);
  if (!read)
    return port_.break_link(link, read.error());
  for (const auto& answer : *read)
    take_answer(answer);
  schedule_flush();
  advance_drain();
}

namespace {

/// Whether a report was refused for its content; the lease is still valid then.
bool is_for_content(errc code) {
  // A follow-up names a limit that is not defined, or keys of several shards.
  bool is_for_limits = code == errc::unknown_limit || code == errc::unsupported;
  return is_for_limits || code == errc::invalid_argument || code == errc::too_large;
}

} // namespace

void dispatcher::take_answer(const report_answer& answer) {
  if (answer.code == errc::overloaded && outbox_.postpone(answer.key))
    return retry_later();
  // Resending the same report would only be refused again.
  const auto* failure =
    is_for_content(answer.code) ? outbox_.refused(answer.key, answer.context) : nullptr;
  if (failure != nullptr)
    note_failure(*failure);
  bool was_waiting = failure != nullptr || outbox_.answered(answer.key);
  if (was_waiting && answer.code != errc::none && answer.code != errc::already)
    port_.note_refused(answer);
}

void dispatcher::retry_later() {
  if (!std::exchange(has_postponed_, true))
    retry_wake_ = wake_after(tuning::result_retry_after);
}

void dispatcher::send_postponed() {
  has_postponed_ = false;
  outbox_.send_postponed();
  schedule_flush();
  bool has_checkpoints = false;
  book_.for_each([&](const lease_key&, held_lease& lease) {
    if (lease.line && lease.line->unsaved().resend_postponed())
      has_checkpoints = true;
  });
  if (has_checkpoints)
    wake_->raise();
}

void dispatcher::report_later(report made) {
  outbox_.add(std::move(made));
  schedule_flush();
}

} // namespace codeq::worker
