// SPDX-License-Identifier: Apache-2.0
#include "observe/log.hpp"
#include "worker/batch_handler.hpp"
#include "worker/call_handler.hpp"
#include "worker/dispatcher_state.hpp"
#include "worker/report.hpp"

#include <caf/actor_cast.hpp>

#include <utility>

namespace codeq::worker {

void dispatcher_state::take_tasks(std::size_t link, const protocol::task_batch& batch) {
  auto read = read_task_batch(batch);
  if (!read)
    return break_link(link, read.error());
  claims_->received(link, read->tasks.size(), read->redelivered);
  auto received_at = now();
  for (auto& attempt : read->tasks)
    accept_task(link, std::move(attempt), received_at);
  start_waiting();
  arm_look();
  schedule_flush();
}

void dispatcher_state::accept_task(std::size_t link, task&& attempt, monotonic_time received_at) {
  lease_key key{link, attempt.id.shard, attempt.token};
  // After a resume a lease may be delivered that this node knows well: named too late, or just
  // ended.
  if (book_.find(key) != nullptr || outbox_->contains(key))
    return claims_->released(link);
  if (step_ != step::running || attempt.tenant != tenant_ || !pool_->handles(attempt.queue))
    return refuse_task(key, attempt);
  if (auto quota = quotas_.find(attempt.queue);
      quota != quotas_.end() && held_of(attempt.queue) >= quota->second.most)
    return return_task(key, attempt);
  held_lease lease;
  lease.seq = attempt.id.seq;
  lease.lease = attempt.lease;
  lease.counted_from = received_at;
  lease.cancel = attempt.cancel;
  book_.add(key, std::move(lease));
  waiting_->add(key, std::move(attempt));
}

void dispatcher_state::refuse_task(const lease_key& key, const task& attempt) {
  if (step_ == step::running)
    CODEQ_LOG_WARN(
      "worker gave back task={} of a queue that it does not handle tenant={} queue={}",
      to_string(attempt.id),
      attempt.tenant,
      attempt.queue);
  return_task(key, attempt);
}

void dispatcher_state::return_task(const lease_key& key, const task& attempt) {
  claims_->released(key.link);
  report_later(make_unstarted(key, attempt.id.seq));
}

void dispatcher_state::start_waiting() {
  for (auto next = waiting_->take_next(); !next.empty(); next = waiting_->take_next())
    run(std::move(next));
}

void dispatcher_state::run(waiting_list together) {
  for (auto& waiting : together)
    begin(waiting);
  auto [handler, is_batch] = pool_->start(self_, together);
  if (!is_batch)
    return self_->send(
      caf::actor_cast<handler_actor>(handler), std::move(together.front().attempt));
  actors::batch_attempt batch;
  for (auto& waiting : together)
    batch.tasks.push_back(std::move(waiting.attempt));
  self_->send(caf::actor_cast<batch_actor>(handler), std::move(batch));
}

void dispatcher_state::begin(waiting_task& waiting) {
  auto& lease = *book_.find(waiting.key);
  auto& attempt = waiting.attempt;
  lease.phase = lease_phase::running;
  attempt_line::subject about{attempt.id, attempt.queue, attempt.attempt, attempt.token};
  lease.line = std::make_shared<attempt_line>(std::move(about), bell_);
  lease.line->set_valid_until(lease.valid_until());
  attempt.runtime = lease.line;
}

void dispatcher_state::take_outcomes(std::span<outcome> answers) {
  auto sender = self_->current_sender();
  if (!sender)
    return;
  auto answered_at = now();
  auto ended = pool_->finish(sender->id(), answered_at);
  for (std::size_t i = 0; i < ended.size() && i < answers.size(); ++i)
    end_attempt(ended[i], std::move(answers[i]));
  arm_idle_look(pool_->passivated_at(sender->id(), answered_at));
  go_on();
}

void dispatcher_state::take_handler_end(caf::actor_id handler, const caf::error& reason) {
  auto ended = pool_->remove(handler);
  if (ended.empty())
    return;
  auto answer = ended_with(self_->system(), reason);
  for (const auto& key : ended) {
    CODEQ_LOG_WARN(
      "handler ended with a task token={} reason=\"{}\"", value(key.token), answer.text());
    end_attempt(key, answer);
  }
  go_on();
}

void dispatcher_state::end_attempt(const lease_key& key, outcome answer) {
  claims_->released(key.link);
  // Not in the book: the lease was lost, or the drain gave the task back already.
  if (auto lease = book_.take(key)) {
    report_later(make_report(key, *lease, std::move(answer)));
    if (lease->line)
      lease->line->unsaved().give_up();
  }
}

void dispatcher_state::drop_lease(const lease_key& key) {
  if (auto lease = book_.take(key); lease && lease->line)
    lease->line->unsaved().give_up();
}

void dispatcher_state::go_on() {
  start_waiting();
  schedule_flush();
  advance_drain();
}

void dispatcher_state::stop_handler(held_lease& lease, stop_cause cause) {
  lease.stop = cause;
  lease.cancel->request();
}

void dispatcher_state::take_losses(std::size_t link, const protocol::leases_lost& lost) {
  auto read = read_leases_lost(link, lost);
  if (!read)
    return break_link(link, read.error());
  for (const auto& gone : *read)
    lose(gone);
  schedule_flush();
  advance_drain();
}

void dispatcher_state::lose(const lease_ref& gone) {
  // The answer to a report that is under way settles it, whatever happens to the lease.
  auto* lease = book_.find(gone.key);
  if (lease == nullptr)
    return;
  CODEQ_LOG_INFO(
    "worker lost lease of task={} token={}",
    to_string(task_id{gone.key.shard, gone.seq}),
    value(gone.key.token));
  bool was_waiting = lease->phase == lease_phase::queued;
  auto cancel = std::move(lease->cancel);
  drop_lease(gone.key);
  if (was_waiting)
    claims_->released(gone.key.link);
  else
    cancel->request();
}

void dispatcher_state::take_saved(std::size_t link, const protocol::checkpoints_saved& saved) {
  auto read = read_checkpoints_saved(link, saved);
  if (!read)
    return break_link(link, read.error());
  for (const auto& line : *read)
    if (auto* lease = book_.find(line.key); lease != nullptr && lease->line)
      lease->line->unsaved().saved(line.number);
}

void dispatcher_state::take_cancel(std::size_t link, const protocol::cancel_notice& notice) {
  auto read = read_cancel_notice(link, notice);
  if (!read)
    return break_link(link, read.error());
  auto* lease = book_.find(read->key);
  if (lease == nullptr)
    return;
  if (lease->phase == lease_phase::running)
    return stop_handler(*lease, stop_cause::cancelled);
  auto unstarted = make_unstarted(read->key, lease->seq);
  unstarted.what = disposition::cancelled;
  book_.remove(read->key);
  claims_->released(link);
  report_later(std::move(unstarted));
}

void dispatcher_state::take_answers(std::size_t link, const protocol::result_reply& reply) {
  auto read = read_result_reply(link, reply);
  if (!read)
    return break_link(link, read.error());
  for (const auto& answer : *read)
    take_answer(answer);
  schedule_flush();
  advance_drain();
}

void dispatcher_state::take_answer(const report_answer& answer) {
  bool is_for_content = answer.code == errc::invalid_argument || answer.code == errc::too_large;
  // The lease still stands; sent again as it is, the report would be refused for ever.
  bool is_replaced = is_for_content && outbox_->refused(answer.key, answer.context);
  bool was_waiting = is_replaced || outbox_->answered(answer.key);
  if (was_waiting && answer.code != errc::none && answer.code != errc::already)
    CODEQ_LOG_WARN(
      "coordinator refused report of task={} token={} code={} reason=\"{}\"",
      to_string(task_id{answer.key.shard, answer.seq}),
      value(answer.key.token),
      to_string(answer.code),
      answer.context);
}

void dispatcher_state::report_later(report made) {
  outbox_->add(std::move(made));
  schedule_flush();
}

} // namespace codeq::worker
