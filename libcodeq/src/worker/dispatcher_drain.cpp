// SPDX-License-Identifier: Apache-2.0
#include "observe/log.hpp"
#include "worker/dispatcher_state.hpp"
#include "worker/report.hpp"

#include <algorithm>
#include <utility>

namespace codeq::worker {

void dispatcher_state::drain(duration limit) {
  if (step_ == step::draining)
    return stop_all_handlers();
  if (step_ == step::reporting) {
    close_links();
    return advance_drain();
  }
  if (step_ != step::running)
    return;
  CODEQ_LOG_INFO("worker drains running={} limit_ms={}", pool_->running(), limit.count());
  claims_->stop();
  void_credits();
  abandon_waiting();
  enter(step::draining, limit);
  advance_drain();
}

void dispatcher_state::enter(step next, duration at_most) {
  step_ = next;
  self_->delayed_send(self_, at_most, actors::drain_step_over{static_cast<int>(next)});
}

void dispatcher_state::abandon_waiting() {
  for (const auto& waiting : waiting_->take_all())
    give_back(waiting);
}

void dispatcher_state::stop_all_handlers() {
  enter(step::cancelling, limits::drain_cancel_grace);
  book_.for_each([this](const lease_key&, held_lease& lease) {
    // A task that was cancelled before is still answered as cancelled.
    if (lease.stop == stop_cause::none)
      stop_handler(lease, stop_cause::own);
  });
}

void dispatcher_state::abandon_running() {
  std::vector<report> given_back;
  book_.for_each([&](const lease_key& key, held_lease& lease) {
    CODEQ_LOG_WARN(
      "worker gives back task={} token={}: its handler did not stop",
      to_string(task_id{key.shard, lease.seq}),
      value(key.token));
    given_back.push_back(make_report(key, lease, outcome::abandon()));
  });
  for (auto& made : given_back) {
    drop_lease(made.key);
    report_later(std::move(made));
  }
}

void dispatcher_state::drain_step_over(int over) {
  if (over != static_cast<int>(step_))
    return;
  switch (step_) {
  case step::draining:
    stop_all_handlers();
    break;
  case step::cancelling:
    abandon_running();
    break;
  case step::reporting:
    CODEQ_LOG_WARN("worker ends with unanswered reports={}", outbox_->size());
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

void dispatcher_state::advance_drain() {
  bool stopping = step_ == step::draining || step_ == step::cancelling;
  if (stopping && book_.size() == 0)
    enter(step::reporting, limits::shutdown_max);
  if (step_ == step::reporting && outbox_->size() == 0)
    close_links();
  bool links_ended = std::none_of(
    links_.begin(), links_.end(), [](const auto& at) { return static_cast<bool>(at.link); });
  if (step_ == step::closing && links_ended)
    end({});
}

void dispatcher_state::close_links() {
  if (step_ != step::closing)
    enter(step::closing, limits::shutdown_max);
  for (auto& at : links_)
    if (at.link)
      self_->send(at.link, actors::close_link{{errc::going_away, "worker stops"}});
}

void dispatcher_state::end(result<void> how) {
  if (step_ == step::ended)
    return;
  step_ = step::ended;
  book_.for_each([](const lease_key&, held_lease& lease) { lease.cancel->request(); });
  pool_->stop();
  if (on_end_)
    on_end_(std::move(how));
  self_->quit();
}

void dispatcher_state::take_exception(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const std::exception& e) {
    end(error{errc::unavailable, std::string("the worker's dispatcher failed: ") + e.what()});
  } catch (...) {
    end(error{errc::unavailable, "the worker's dispatcher failed"});
  }
}

} // namespace codeq::worker
