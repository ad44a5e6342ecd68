// SPDX-License-Identifier: Apache-2.0
#include "worker/host/dispatcher_driver.hpp"

#include "observe/log.hpp"
#include "observe/worker_metrics.hpp"
#include "transport/spawn_beside_sockets.hpp"
#include "worker/handlers/batch_handler.hpp"
#include "worker/handlers/call_handler.hpp"

#include <caf/actor_cast.hpp>
#include <caf/send.hpp>

#include <algorithm>
#include <chrono>
#include <utility>

namespace codeq::worker {

void dispatcher_driver::start(
  actors::dispatcher_actor::pointer self, dispatcher_driver_options options) {
  self_ = self;
  on_end_ = std::move(options.on_end);
  start_link_ = std::move(options.start_link);
  for (const auto& address : options.dispatcher.coordinators)
    links_.emplace_back().address = address;
  options.dispatcher.queues = handlers_.serve(std::move(options.handlers));
  options.dispatcher.wake = make_wake_signal();
  dispatcher_.emplace(options.dispatcher, *this);
}

monotonic_time dispatcher_driver::now() const {
  auto since = self_->clock().now().time_since_epoch();
  return monotonic_time{std::chrono::duration_cast<duration>(since)};
}

std::shared_ptr<wake_signal> dispatcher_driver::make_wake_signal() {
  actors::dispatcher_actor me = self_;
  return std::make_shared<wake_signal>([weak = caf::actor_cast<caf::weak_actor_ptr>(me)] {
    if (auto dispatcher = weak.lock())
      caf::anon_send(caf::actor_cast<actors::dispatcher_actor>(dispatcher), actors::attempt_news{});
  });
}

void dispatcher_driver::take_link_up(const actors::link_up& up) {
  links_[up.link].connection = up.connection;
  dispatcher_->take_link_up(up.link, up.ack, now());
}

void dispatcher_driver::take_link_down(const actors::link_down& down) {
  links_[down.link].connection = nullptr;
  dispatcher_->take_link_down(down.link, down.reason, down.is_refused);
}

void dispatcher_driver::take_links(std::vector<actors::link_actor> links) {
  for (std::size_t i = 0; i < links.size() && i < links_.size(); ++i) {
    self_->monitor(links[i]);
    links_[i].link = std::move(links[i]);
  }
  dispatcher_->take_links(links.size());
}

void dispatcher_driver::take_outcomes(std::span<outcome> answers) {
  if (auto sender = self_->current_sender())
    dispatcher_->take_outcomes(sender->id(), answers, now());
}

void dispatcher_driver::take_down(const caf::down_msg& down) {
  for (std::size_t i = 0; i < links_.size(); ++i)
    if (links_[i].link && links_[i].link.address() == down.source) {
      links_[i].link = nullptr;
      return dispatcher_->take_link_end(i);
    }
  handlers_.forget(down.source.id());
  dispatcher_->take_handler_end(down.source.id(), ended_with(self_->system(), down.reason), now());
}

void dispatcher_driver::take_exception(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const std::exception& e) {
    dispatcher_->fail(
      {errc::unavailable, std::string("the worker's dispatcher failed: ") + e.what()});
  } catch (...) {
    dispatcher_->fail({errc::unavailable, "the worker's dispatcher failed"});
  }
}

void dispatcher_driver::reconfigure(actors::reconfigure_worker& wish) {
  dispatcher_->reconfigure(
    handlers_.serve(std::move(wish.handlers)), wish.slots, wish.prefetch, now());
}

void dispatcher_driver::tell_health(const actors::ask_health& question) const {
  auto counts = dispatcher_->counts();
  question.answer(
    {observe::worker_metrics_text(counts), counts.links, counts.links_up, counts.is_draining});
}

void dispatcher_driver::to_link(std::size_t link, const protocol::wire_frame& frame) {
  self_->send(links_[link].connection, frame);
}

void dispatcher_driver::break_link(std::size_t link, const error& reason) {
  CODEQ_LOG_ERROR(
    "worker closes link={} address={} reason=\"{}\"",
    link,
    links_[link].address,
    to_string(reason));
  if (links_[link].connection)
    self_->send(links_[link].connection, actors::close_connection{reason});
}

void dispatcher_driver::open_link(std::size_t link, const std::string& coordinator) {
  links_.resize(std::max(links_.size(), link + 1));
  links_[link].address = coordinator;
  links_[link].link = start_link_(self_, link, coordinator);
  self_->monitor(links_[link].link);
}

void dispatcher_driver::close_link(std::size_t link, const error& reason) {
  self_->send(links_[link].link, actors::close_link{reason});
}

handler_number
dispatcher_driver::start_handler(const std::string& queue, const std::string& group) {
  auto handler = handlers_.start(self_->system(), queue, group);
  self_->monitor(handler);
  return handler.id();
}

void dispatcher_driver::run(handler_number handler, task&& attempt) {
  self_->send(caf::actor_cast<handler_actor>(handlers_.at(handler)), std::move(attempt));
}

void dispatcher_driver::run_batch(handler_number handler, std::vector<task> attempts) {
  self_->send(
    caf::actor_cast<batch_actor>(handlers_.at(handler)),
    actors::batch_attempt{std::move(attempts)});
}

void dispatcher_driver::stop_handler(handler_number handler) {
  handlers_.stop(handler);
}

void dispatcher_driver::flush_soon() {
  self_->send(self_, actors::dispatcher_flush{});
}

void dispatcher_driver::wake_after(duration wait, std::uint64_t number) {
  self_->delayed_send(self_, wait, actors::wake_dispatcher{number});
}

void dispatcher_driver::ended(result<void> how) {
  if (on_end_)
    on_end_(std::move(how));
  self_->quit();
}

actors::dispatcher_actor::behavior_type drive_dispatcher(
  actors::dispatcher_actor::stateful_pointer<dispatcher_driver> self,
  dispatcher_driver_options options) {
  using actors::from_link;
  self->set_down_handler([self](const caf::down_msg& down) { self->state.take_down(down); });
  self->set_error_handler([self](caf::error& reason) {
    // Only a handler's error is an answer; the end of any other receiver is monitored.
    auto failed = answered_with(self->system(), reason);
    self->state.take_outcomes({&failed, 1});
  });
  self->set_exception_handler([self](std::exception_ptr& thrown) -> caf::error {
    self->state.take_exception(thrown);
    return caf::exit_reason::unhandled_exception;
  });
  auto take = [self](const auto& m) { self->state.hosted().take(m.link, m.message); };
  self->state.start(self, std::move(options));
  return {
    [self](const from_link<schema::TaskBatch>& m) {
      self->state.hosted().take(m.link, m.message, self->state.now());
    },
    [self](outcome& answer) {
      self->state.take_outcomes({&answer, 1});
    },
    [self](actors::batch_outcome& batch) { self->state.take_outcomes(batch.answers); },
    [take](const from_link<schema::ResultReply>& m) { take(m); },
    [take](const from_link<schema::LeasesLost>& m) { take(m); },
    [take](const from_link<schema::CancelNotice>& m) { take(m); },
    [take](const from_link<schema::ResumeReply>& m) { take(m); },
    [take](const from_link<schema::CheckpointsSaved>& m) { take(m); },
    [self](const from_link<schema::ClusterMap>& m) {
      self->state.hosted().take(m.link, m.message, self->state.now());
    },
    [take](const from_link<schema::CreditNews>& m) { take(m); },
    [self](const from_link<schema::HeartbeatReply>& m) {
      self->state.hosted().take(m.link, m.message, self->state.now());
    },
    [self](const actors::link_up& up) { self->state.take_link_up(up); },
    [self](const actors::link_down& down) { self->state.take_link_down(down); },
    [self](const actors::links_spawned& spawned) { self->state.take_links(spawned.links); },
    [self](const actors::drain_request& request) {
      self->state.hosted().drain(request.limit, self->state.now());
    },
    [self](const actors::dispatcher_flush&) { self->state.hosted().flush(); },
    [self](const actors::attempt_news&) { self->state.hosted().take_news(); },
    [self](const actors::wake_dispatcher& m) {
      self->state.hosted().wake(m.number, self->state.now());
    },
    [self](actors::reconfigure_worker& wish) { self->state.reconfigure(wish); },
    [self](const actors::ask_health& question) { self->state.tell_health(question); },
  };
}

actors::dispatcher_actor
spawn_dispatcher(caf::actor_system& system, dispatcher_driver_options options) {
  return transport::spawn_beside_sockets(system, drive_dispatcher, std::move(options));
}

} // namespace codeq::worker
