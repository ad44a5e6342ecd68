// SPDX-License-Identifier: Apache-2.0
#include "coordinator/actors/claim_proxy_driver.hpp"

#include "observe/log.hpp"

#include <chrono>
#include <utility>

namespace codeq::coordinator {

namespace {

/// How long a proxy waits for tasks of a shard that has left: longer than a hand-over waits for
/// the shard's last turns.
constexpr std::chrono::seconds late_tasks_wait{1};

} // namespace

void claim_proxy_driver::start(
  claim_proxy_actor::pointer self, const claim_proxy_options& options) {
  self_ = self;
  options_ = options;
  proxy_.emplace(options_.place, options_.peer, *this);
  self_->monitor(options_.session);
}

void claim_proxy_driver::take(const shard_moved& m) {
  if (m.is_here)
    return;
  // First, since the proxy may end.
  self_->delayed_send(self_, late_tasks_wait, claim_step_taken{claim_detached{}});
  proxy_->shard_left();
}

void claim_proxy_driver::take(const peer_misbehaved& m) {
  if (!options_.is_noted->exchange(true))
    CODEQ_LOG_WARN(
      "shard refuses a claim of another coordinator, further ones are not logged name={} shard={} "
      "claim={} reason=\"{}\"",
      options_.gateway,
      value(options_.place.shard),
      options_.place.claim,
      to_string(m.reason));
  proxy_->refuse(m.reason);
}

void claim_proxy_driver::attach(peer_attached who) {
  constexpr bool hears_absence = true;
  self_->send(
    options_.shard, attach_peer{std::move(who), claim_proxy_actor(self_), hears_absence});
}

void claim_proxy_driver::detach() {
  self_->send(options_.shard, detach_peer{options_.peer});
}

void claim_proxy_driver::drop_credits() {
  self_->send(options_.shard, detach_peer{options_.peer, claim_proxy_actor(self_)});
}

void claim_proxy_driver::command(core::command command) {
  self_->send(options_.shard, shard_command{std::move(command)});
}

void claim_proxy_driver::ask(protocol::queue_request question) {
  self_->send(options_.shard, peer_request{options_.peer, std::move(question)});
}

void claim_proxy_driver::send(const protocol::wire_frame& frame) {
  self_->send(options_.session, claim_frame{frame});
}

void claim_proxy_driver::ended() {
  self_->send(options_.session, claim_proxy_ended{options_.place});
  self_->quit();
}

claim_proxy_actor::behavior_type drive_claim_proxy(
  claim_proxy_actor::stateful_pointer<claim_proxy_driver> self,
  const claim_proxy_options& options) {
  self->set_default_handler(caf::drop);
  self->state.start(self, options);
  self->set_down_handler([self](const caf::down_msg&) { self->state.hosted().end(); });
  return {
    [self](const shard_reply& m) { self->state.hosted().take(m); },
    [self](const task_delivery& m) { self->state.hosted().take(m); },
    [self](const credit_news& m) { self->state.hosted().take(m); },
    [](const queues_added&) {},
    [self](const peer_misbehaved& m) { self->state.take(m); },
    [self](const shard_moved& m) { self->state.take(m); },
    [](places_changed) {},
    [self](const claim_step_taken& m) { self->state.hosted().take(m.step); },
    [self](const hold_claim& m) { self->state.hosted().hold(m.is_held); },
    [self](const credits_dropped& m) {
      self->state.hosted().credits_dropped(m.being_committed);
    },
  };
}

} // namespace codeq::coordinator
