// SPDX-License-Identifier: Apache-2.0
#include "base/tuning.hpp"
#include "worker/node/dispatcher.hpp"

#include <algorithm>
#include <utility>

/// The drain of a dispatcher.
namespace codeq::worker {

void dispatcher::drain(duration limit, monotonic_time now) {
  if (step_ == step::draining)
    return stop_all_attempts();
  if (step_ == step::reporting) {
    limit_wake_ = 0;
    return end_step(now);
  }
  if (step_ != step::running)
    return;
  port_.note_drain(pool_.running(), limit);
  claims_.stop();
  void_credits();
  abandon_waiting();
  enter(step::draining, limit);
  limit_wake_ = step_wake_;
  limit_ends_ = now + limit;
  advance_drain();
}

void dispatcher::void_credits() {
  for (std::size_t link = 0; link < links_.size(); ++link)
    send_to(link, make_claim(0).to_wire());
}

void dispatcher::enter(step next, duration at_most) {
  step_ = next;
  step_wake_ = wake_after(at_most);
}

void dispatcher::abandon_waiting() {
  for (const auto& waiting : waiting_.take_all())
    give_back(waiting);
}

void dispatcher::stop_all_attempts() {
  limit_wake_ = 0;
  enter(step::cancelling, tuning::drain_cancel_grace);
  for (const auto& key : book_.keys()) {
    auto& lease = *book_.find(key);
    // A task that was cancelled before is still reported as cancelled.
    if (lease.stop == stop_cause::none)
      stop_attempt(lease, stop_cause::own);
  }
}

void dispatcher::abandon_running() {
  for (const auto& key : book_.keys()) {
    const auto& lease = *book_.find(key);
    port_.note_abandoned({key.shard, lease.seq}, key.token);
    auto given_back = make_report(key, lease, outcome::abandon());
    drop_lease(key);
    report_later(std::move(given_back));
  }
}

void dispatcher::end_step(monotonic_time now) {
  switch (step_) {
  case step::draining:
    stop_all_attempts();
    break;
  case step::cancelling:
    abandon_running();
    break;
  case step::reporting:
    // A coordinator that does not answer may come back before the limit has passed.
    if (limit_wake_ != 0) {
      port_.note_awaits_answers(outbox_.size(), std::max(limit_ends_ - now, duration{0}));
      step_wake_ = std::exchange(limit_wake_, 0);
      break;
    }
    port_.note_unanswered(outbox_.size());
    close_links();
    break;
  case step::closing:
    end({});
    break;
  case step::running:
  case step::ended:
    break;
  }
  advance_drain();
}

void dispatcher::advance_drain() {
  bool stopping = step_ == step::draining || step_ == step::cancelling;
  if (stopping && book_.size() == 0)
    enter(step::reporting, tuning::shutdown_max);
  if (step_ == step::reporting && outbox_.size() == 0)
    close_links();
  bool links_ended =
    std::none_of(links_.begin(), links_.end(), [](const auto& at) { return at.is_there; });
  if (step_ == step::closing && links_ended)
    end({});
}

void dispatcher::close_links() {
  if (step_ != step::closing)
    enter(step::closing, tuning::shutdown_max);
  for (std::size_t link = 0; link < links_.size(); ++link)
    if (links_[link].is_there)
      port_.close_link(link, {errc::going_away, "worker stops"});
}

void dispatcher::end(result<void> how) {
  if (step_ == step::ended)
    return;
  step_ = step::ended;
  for (const auto& key : book_.keys())
    book_.find(key)->cancel->request();
  for (auto handler : pool_.handlers())
    port_.stop_handler(handler);
  port_.ended(std::move(how));
}

} // namespace codeq::worker
