// SPDX-License-Identifier: Apache-2.0
#include "http/gateway/gateway_actor.hpp"

#include "base/wall_clock.hpp"
#include "client/shard_walk.hpp"
#include "coordinator/actors/ask_cluster.hpp"
#include "http/server/gateway_limits.hpp"
#include "http/server/replies.hpp"

#include <caf/actor_cast.hpp>

#include <algorithm>
#include <string>
#include <utility>

namespace codeq::http {

namespace {

/// How long the token of the caller is still valid.
duration lifetime_of(const exchange& call) {
  if (!call.by || !call.by->bearer || !call.by->bearer->expires)
    return duration::max();
  return *call.by->bearer->expires - base::wall_now();
}

} // namespace

void gateway_state::start(gateway_actor::pointer self, const gateway_actor_options& options) {
  self_ = self;
  context_.limit = options.limit;
  context_.who = options.who;
  context_.is_loopback_only = options.is_loopback_only;
  context_.cors = options.cors;
  context_.needs_token = options.needs_token;
  context_.check_disk = options.check_disk;
  context_.metrics = options.metrics;
  if (options.replicas)
    context_.cluster = [self, replicas = options.replicas](
                         const auto& change, const auto& by, auto done) {
      coordinator::ask_cluster(self, replicas, {change, by}, std::move(done));
    };
  if (options.replicas)
    context_.cluster_shards = [self, replicas = options.replicas](auto done) {
      coordinator::ask_shards(self, replicas, std::move(done));
    };
  context_.desk.start(self, options.desk);
  auto post = [to = self->address()](std::uint64_t number, result<outgoing_answer> answer) {
    // The callback has only a weak reference, since the actor may have ended long before the
    // answer.
    if (auto me = caf::actor_cast<caf::strong_actor_ptr>(to))
      caf::anon_send(caf::actor_cast<caf::actor>(me), webhook_answered{number, std::move(answer)});
  };
  context_.webhooks.start(context_.desk, options.webhooks, std::move(post));
  auto end_call = [to = self->address()](std::uint64_t number) {
    if (auto me = caf::actor_cast<caf::strong_actor_ptr>(to))
      caf::anon_send(caf::actor_cast<caf::actor>(me), wakeup_answered{number});
  };
  context_.wakeups.start(
    context_.desk,
    options.webhooks,
    {options.callers_of, options.accepts_jwts},
    std::move(end_call));
  context_.operations.start(
    context_.desk, options.callers_of, [this](const std::string& tenant, task_id task) {
      context_.webhooks.renew(tenant, task);
    });
  context_.dashboard.start(context_.desk, options.who);
  context_.return_leases = [to = self->address()](std::vector<granted_lease> leases) {
    if (auto me = caf::actor_cast<caf::strong_actor_ptr>(to))
      caf::anon_send(caf::actor_cast<caf::actor>(me), leases_unread{std::move(leases)});
  };
}

void gateway_state::serve(const call_arrived& m) {
  if (stopped_)
    return m.call->answer(refusal_of({errc::going_away, "the coordinator is stopping"}));
  ++open_;
  auto answer = std::move(m.call->answer);
  m.call->answer = [this, call = m.call.get(), answer = std::move(answer)](response r) {
    if (std::exchange(call->is_answered, true)) {
      if (r.on_unwritten)
        r.on_unwritten();
      return;
    }
    r.share = std::move(call->share);
    answer(std::move(r));
    answered(*call);
  };
  m.call->deadline = context_.desk.steady_now() + limits::http_request_time_max;
  arm_deadline(m.call);
  arrived_.add(m.call->by ? m.call->by->tenant : std::string(), m.call);
  self_->send(self_, next_call{});
}

void gateway_state::dispatch_next() {
  auto call = arrived_.take();
  if (!call || (*call)->is_answered)
    return;
  if (stopped_)
    return (*call)->answer(refusal_of({errc::going_away, "the coordinator is stopping"}));
  dispatch(context_, *call);
  if ((*call)->is_gone && !(*call)->is_answered)
    forget(*call);
}

void gateway_state::forget(const exchange_ptr& call) {
  call->is_gone = true;
  if (auto gone = std::exchange(call->on_gone, nullptr))
    return gone();
  auto grace = context_.desk.steady_now() + limits::http_gone_grace;
  if (call->is_answered || call->deadline <= grace)
    return;
  call->deadline = grace;
  arm_deadline(call);
}

void gateway_state::arm_deadline(const exchange_ptr& call) {
  context_.desk.cancel(call->timer);
  auto wait = call->deadline - context_.desk.steady_now();
  if (auto left = lifetime_of(*call); left > duration{0})
    wait = std::min(wait, left);
  call->timer = context_.desk.after(wait, [this, weak = std::weak_ptr(call)] {
    if (auto open = weak.lock())
      check_deadline(open);
  });
}

void gateway_state::check_deadline(const exchange_ptr& call) {
  if (stopped_ || call->is_answered)
    return;
  if (call->is_waiting && lifetime_of(*call) <= duration{0})
    return end_expired(call);
  if (call->deadline > context_.desk.steady_now())
    return arm_deadline(call);
  for (auto* end : {&call->on_gone, &call->on_given_up})
    if (auto give_up = std::exchange(*end, nullptr))
      give_up();
  if (!call->is_answered)
    call->answer(refusal_of(
      {errc::timeout,
       "the request was not answered in time; whether it "
         + std::string(client::unknown_outcome)}));
}

void gateway_state::end_expired(const exchange_ptr& call) {
  auto gone = std::exchange(call->on_gone, nullptr);
  auto given_up = std::exchange(call->on_given_up, nullptr);
  call->answer(invalid_token());
  if (gone)
    gone();
  if (given_up)
    given_up();
}

void gateway_state::answered(exchange& call) {
  context_.desk.cancel(call.timer);
  --open_;
  if (stopping_ && open_ == 0)
    std::exchange(stopping_, std::nullopt)->deliver(true);
}

caf::result<bool> gateway_state::stop() {
  stopped_ = true;
  context_.webhooks.stop();
  context_.wakeups.stop();
  context_.operations.stop();
  context_.dashboard.stop();
  context_.desk.stop();
  if (open_ == 0)
    return true;
  auto promise = self_->make_response_promise<bool>();
  stopping_ = promise;
  return promise;
}

gateway_actor::behavior_type
gateway(gateway_actor::stateful_pointer<gateway_state> self, const gateway_actor_options& options) {
  self->set_default_handler(caf::drop);
  self->state.start(self, options);
  // A message is compared with the types in this order, so those of most requests come first.
  return {
    [self](const coordinator::shard_reply& m) { self->state.desk().take(m); },
    [self](const call_arrived& m) { self->state.serve(m); },
    [self](next_call) { self->state.dispatch_next(); },
    [self](claim_ended& m) { self->state.desk().take(m); },
    [](const coordinator::task_delivery&) {},
    [](const coordinator::credit_news&) {},
    [self](const coordinator::queues_added& m) { self->state.desk().take(m); },
    [self](const coordinator::peer_misbehaved& m) { self->state.desk().misbehaved(m.reason); },
    [self](const coordinator::shard_moved& m) { self->state.desk().take(m); },
    [](coordinator::places_changed) {},
    [self](const client_gone& m) { self->state.forget(m.call); },
    [self](const claim_waits& m) { self->state.desk().take(m); },
    [self](const leases_unread& m) { self->state.desk().give_back(m.leases); },
    [self](const webhook_answered& m) { self->state.take(m); },
    [self](const wakeup_answered& m) { self->state.take(m); },
    [self](const frame_arrived& m) { self->state.desk().take(m); },
    [self](const actors::link_up& m) { self->state.desk().take(m); },
    [self](const actors::link_down& m) { self->state.desk().take(m); },
    [self](const actors::from_link<schema::ClusterMap>& m) { self->state.desk().take(m); },
    [self](gateway_tick tick) { self->state.desk().run_timers(tick); },
    [self](stop_gateway) { return self->state.stop(); },
  };
}

} // namespace codeq::http
