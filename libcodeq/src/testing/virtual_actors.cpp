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
#include <vector>

namespace codeq::testing {

namespace {

constexpr int messages_max = 1'000'000;

bool is_keyed(const handler_registry::entry& handler, const task& attempt) {
  return handler.idle && !attempt.group.empty();
}

} // namespace

virtual_actors::configuration::configuration() {
  set("scheduler.policy", caf::atom("testing"));
  set("logger.verbosity", caf::atom("quiet"));
}

virtual_actors::virtual_actors(answered told) : told_(std::move(told)) {
  system_.emplace(config_);
  scheduler_ = &dynamic_cast<caf::scheduler::test_coordinator&>(system_->scheduler());
  // Time zero means "no time" to CAF.
  scheduler_->clock().current_time += std::chrono::hours(1);
  receiver_ = system_->spawn([this](caf::event_based_actor* self) -> caf::behavior {
    self_ = self;
    self->set_down_handler(
      [this](caf::down_msg& down) { take_end(down.source.id(), down.reason); });
    return {[this](outcome& answer) { take(self_->current_sender()->id(), std::move(answer)); }};
  });
  run();
}

virtual_actors::~virtual_actors() {
  stop();
  caf::anon_send_exit(receiver_, caf::exit_reason::kill);
  receiver_ = nullptr;
  run();
  // What handlers spawned themselves may never end; a test does not wait for it.
  system_->await_actors_before_shutdown(false);
}

bool virtual_actors::may_start(const handler_registry::entry& handler, const task& attempt) const {
  return std::none_of(slots_.begin(), slots_.end(), [&](const auto& item) {
    const auto& slot = item.second;
    return is_keyed(handler, attempt) && slot.queue == attempt.queue && slot.group == attempt.group
           && slot.running;
  });
}

void virtual_actors::start(const handler_registry::entry& handler, const task& attempt) {
  auto& used = find_or_spawn(handler, attempt);
  used.running = attempt.token;
  // Not by `self_`, which does not run now, so that what ran it last is gone.
  caf::send_as(receiver_, used.handler, attempt);
}

virtual_actors::slot&
virtual_actors::find_or_spawn(const handler_registry::entry& handler, const task& attempt) {
  auto group = is_keyed(handler, attempt) ? attempt.group : std::string();
  for (auto& [id, slot] : slots_)
    if (slot.queue == attempt.queue && slot.group == group && !slot.running)
      return slot;
  auto spawned = handler.factory(*system_, handler_placement{group, false});
  self_->monitor(spawned);
  slot made{spawned, attempt.queue, group, handler.idle, {}, {}};
  return slots_.emplace(spawned.id(), std::move(made)).first->second;
}

void virtual_actors::take(caf::actor_id from, outcome answer) {
  auto found = slots_.find(from);
  if (found == slots_.end() || !found->second.running)
    return;
  found->second.idle = duration{0};
  told_(*std::exchange(found->second.running, std::nullopt), std::move(answer));
}

void virtual_actors::take_end(caf::actor_id from, const caf::error& reason) {
  auto found = slots_.find(from);
  if (found == slots_.end())
    return;
  auto running = found->second.running;
  slots_.erase(found);
  if (running)
    told_(*running, worker::ended_with(*system_, reason));
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
  std::vector<caf::actor_id> over;
  for (auto& [id, slot] : slots_) {
    slot.idle = slot.running ? duration{0} : slot.idle + by;
    if (!slot.group.empty() && slot.idle >= *slot.idle_limit)
      over.push_back(id);
  }
  for (auto id : over) {
    caf::anon_send_exit(slots_.at(id).handler, caf::exit_reason::user_shutdown);
    slots_.erase(id);
  }
}

void virtual_actors::stop() {
  for (auto& [id, slot] : std::exchange(slots_, {}))
    caf::anon_send_exit(slot.handler, caf::exit_reason::kill);
  run();
}

} // namespace codeq::testing
