// SPDX-License-Identifier: Apache-2.0
#include "testing/virtual_actors.hpp"

#include "worker/handlers/call_handler.hpp"

#include <caf/actor_system.hpp>
#include <caf/atom.hpp>
#include <caf/send.hpp>

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <utility>

namespace codeq::testing {

namespace {

constexpr int messages_max = 1'000'000;

} // namespace

virtual_actors::configuration::configuration() {
  set("scheduler.policy", caf::atom("testing"));
  set("logger.verbosity", caf::atom("quiet"));
}

virtual_actors::virtual_actors(hearer by) : by_(std::move(by)) {
  system_.emplace(config_);
  scheduler_ = &dynamic_cast<caf::scheduler::test_coordinator&>(system_->scheduler());
  // CAF takes time zero for "no time".
  scheduler_->clock().current_time += std::chrono::hours(1);
  receiver_ = system_->spawn([this](caf::event_based_actor* self) -> caf::behavior {
    self_ = self;
    self->set_down_handler([this](caf::down_msg& down) {
      auto ended = numbers_.extract(down.source.id());
      if (ended && handlers_.erase(ended.mapped()) > 0)
        by_.ended(ended.mapped(), worker::ended_with(*system_, down.reason));
    });
    self->set_error_handler(
      [this](caf::error& reason) { take(worker::answered_with(*system_, reason)); });
    return {[this](outcome& answer) { take(std::move(answer)); }};
  });
  run();
}

void virtual_actors::take(outcome answer) {
  auto sender = self_->current_sender();
  if (!sender)
    return;
  if (auto at = numbers_.find(sender->id()); at != numbers_.end())
    by_.answered(at->second, std::move(answer));
}

virtual_actors::~virtual_actors() {
  stop();
  caf::anon_send_exit(receiver_, caf::exit_reason::kill);
  receiver_ = nullptr;
  run();
  // Actors that handlers spawned may never end; a test does not wait for them.
  system_->await_actors_before_shutdown(false);
}

void virtual_actors::start(
  worker::handler_number number, const actor_factory& factory, const std::string& group) {
  auto spawned = factory.start(*system_, handler_placement{group, false});
  self_->monitor(spawned);
  numbers_.emplace(spawned.id(), number);
  handlers_.emplace(number, std::move(spawned));
}

void virtual_actors::run(worker::handler_number number, const task& attempt) {
  // `self_` cannot send: it is not running now, and its previous execution unit no longer exists.
  caf::send_as(receiver_, handlers_.at(number), attempt);
}

bool virtual_actors::run() {
  int count = 0;
  for (; scheduler_->try_run_once(); ++count) {
    if (count == messages_max)
      throw std::runtime_error("the handler actors never come to rest");
  }
  return count > 0;
}

std::optional<duration> virtual_actors::next_event() const {
  const auto& clock = scheduler_->clock();
  if (clock.schedule().empty())
    return std::nullopt;
  auto wait = clock.schedule().begin()->first - clock.current_time;
  return std::max(std::chrono::ceil<duration>(wait), duration{0});
}

void virtual_actors::advance(duration by) {
  auto& clock = scheduler_->clock();
  clock.current_time += by;
  clock.trigger_expired_timeouts();
}

void virtual_actors::stop(worker::handler_number number) {
  if (auto ended = handlers_.extract(number)) {
    numbers_.erase(ended.mapped().id());
    caf::anon_send_exit(ended.mapped(), caf::exit_reason::user_shutdown);
  }
}

void virtual_actors::stop() {
  numbers_.clear();
  for (auto& [number, handler] : std::exchange(handlers_, {}))
    caf::anon_send_exit(handler, caf::exit_reason::kill);
  run();
}

} // namespace codeq::testing
