// SPDX-License-Identifier: Apache-2.0
#include "coordinator/session.hpp"

#include "codeq/limits.hpp"

#include "coordinator/gather_stats.hpp"
#include "observe/log.hpp"
#include "protocol/operator_convert.hpp"
#include "protocol/operator_reply.hpp"
#include "protocol/reply.hpp"
#include "transport/deliver.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace codeq::coordinator {

namespace {

/// How long a shard may take to count its tasks.
/// Credits that are held back are looked at this often at most, and at least.
constexpr duration held_look_min{10};
constexpr duration held_look_max{1000};

error over_rate(duration wait) {
  return {
    errc::overloaded,
    "over the rate of the token; retry after " + std::to_string(wait.count()) + " ms"};
}

/// What a bearer may know of the counts.
coordinator_stats visible_to(const security::principal& who, coordinator_stats all) {
  if (who.is_of_all_tenants())
    return all;
  std::erase_if(all.queues, [&](const queue_stats& q) { return !who.sees(q.queue.tenant); });
  // They are of the process, so of all tenants together.
  all.gauges.clear();
  return all;
}

} // namespace

void session_state::start(session_internal_actor::pointer self, const session_options& options) {
  self_ = self;
  options_ = options;
  router_.emplace(options_.shards.size());
  worker_ = options_.worker;
  // The connection may have ended before it learned of this session.
  self_->monitor(options_.connection);
}

template <class S>
void session_state::forward(const protocol::frame<S>& m) {
  auto shard = protocol::shard_of(m, options_.shards.size());
  if (!shard)
    return misbehave(shard.error());
  self_->send(
    options_.shards[value(*shard)], actors::from_peer<S>{options_.peer, m, options_.bearer});
}

duration session_state::take(security::rate_scope scope, std::uint64_t cost) {
  if (!options_.bearer)
    return duration{0};
  auto since = self_->clock().now().time_since_epoch();
  monotonic_time now{std::chrono::duration_cast<duration>(since)};
  return options_.limiter->take(*options_.bearer, scope, cost, now);
}

result<void> session_state::take_request() {
  using security::rate_scope;
  bool is_admin = options_.bearer && options_.bearer->may_operate();
  auto wait = take(is_admin ? rate_scope::admin : rate_scope::producer, 1);
  return wait == duration{0} ? result<void>{} : over_rate(wait);
}

void session_state::enqueue(const protocol::enqueue_request& m) {
  auto number = protocol::number_of(m);
  if (!number)
    return misbehave(number.error());
  auto size = m.body().size();
  if (inflight_bytes_ + size > limits::producer_inflight_bytes_max && inflight_bytes_ > 0) {
    error reason{
      errc::overloaded,
      "over " + std::to_string(limits::producer_inflight_bytes_max)
        + " bytes of requests are not answered yet"};
    return refuse_enqueue(*number, reason, limits::overloaded_retry_after);
  }
  auto tasks = m.read([](auto reader) -> result<std::uint64_t> {
    return std::uint64_t{reader.getTasks().getEnds().size()};
  });
  if (!tasks)
    return misbehave(tasks.error());
  if (auto wait = take(security::rate_scope::producer, *tasks); wait > duration{0})
    return refuse_enqueue(*number, over_rate(wait), wait);
  enqueue_bytes_.emplace(*number, size);
  inflight_bytes_ += size;
  forward(m);
}

void session_state::refuse_enqueue(
  std::uint64_t number, const error& reason, duration retry_after) {
  core::enqueue_answered refusal{options_.peer, number, {}};
  refusal.refusal = reason;
  send(protocol::make_enqueue_reply({}, refusal, retry_after).to_wire());
}

void session_state::finish_enqueue(const actors::enqueue_done& m) {
  if (auto at = enqueue_bytes_.find(m.number); at != enqueue_bytes_.end()) {
    inflight_bytes_ -= at->second;
    enqueue_bytes_.erase(at);
  }
  send(m.frame);
}

void session_state::claim(const protocol::claim_request& m) {
  auto wish = protocol::read_claim(m);
  if (!wish)
    return misbehave(wish.error());
  if (wish->queues)
    take_from(*wish->queues);
  else if (wish->credits == 0)
    return drain();
  constexpr auto credits_max = 2 * limits::slots_max;
  auto unused = router_->credits() + held_credits_;
  if (wish->credits > credits_max || unused + wish->credits > credits_max)
    return misbehave(
      {errc::protocol_error,
       std::to_string(wish->credits) + " credits beside " + std::to_string(unused)
         + " unused ones; the limit is " + std::to_string(credits_max)});
  lease_wish_ = wish->lease;
  // Those that wait already have their look ahead.
  bool is_waiting = held_credits_ > 0;
  held_credits_ += wish->credits;
  if (!is_waiting && held_credits_ > 0)
    place_held();
}

void session_state::take_from(const std::vector<queue_address>& queues) {
  for (const auto& queue : queues)
    if (options_.bearer && !options_.bearer->may_claim(queue))
      return misbehave(
        {errc::unauthorized,
         "the token of " + options_.bearer->subject + " does not allow to claim from queue "
           + queue.queue + " of tenant " + queue.tenant});
  options_.node.queues = queues;
  for (const auto& shard : options_.shards)
    self_->send(shard, actors::change_worker_queues{options_.peer, queues});
}

void session_state::place_held() {
  auto wait = duration{0};
  for (auto part = held_credits_; part > 0; part /= 2) {
    wait = take(security::rate_scope::claim, part);
    if (wait > duration{0})
      continue;
    held_credits_ -= part;
    carry_out(router_->add_credits(part));
    break;
  }
  if (held_credits_ > 0)
    self_->delayed_send(
      self_, std::clamp(wait, held_look_min, held_look_max), place_held_credits{});
}

void session_state::carry_out(const claim_router::moves& moves) {
  for (const auto& move : moves) {
    const auto& shard = options_.shards[value(move.shard)];
    if (move.what == claim_router::move::kind::claim)
      self_->send(shard, actors::add_credits{options_.peer, move.credits, lease_wish_});
    else
      self_->send(shard, actors::take_credits{options_.peer, move.credits});
  }
}

void session_state::deliver(const actors::tasks_for_peer& m) {
  send(m.frame);
  if (!m.redelivered)
    carry_out(router_->granted(m.shard, m.count, m.more));
}

template <class S>
void session_state::ask_shard(const protocol::frame<S>& m) {
  auto to = protocol::address_of(m);
  if (!to)
    return misbehave(to.error());
  if (auto ok = take_request(); !ok)
    return send(protocol::make_refusal<S>(to->number, ok.error()).to_wire());
  if (to->shard < options_.shards.size())
    return self_->send(
      options_.shards[to->shard], actors::from_peer<S>{options_.peer, m, options_.bearer});
  auto reason = protocol::no_such_shard<S>(*to, options_.shards.size());
  send(protocol::make_refusal<S>(to->number, reason).to_wire());
}

void session_state::stats(const protocol::stats_request& m) {
  auto number = m.read([](auto reader) -> result<std::uint64_t> { return reader.getNumber(); });
  if (!number)
    return misbehave(number.error());
  auto ok = take_request();
  if (ok && options_.bearer && !options_.bearer->may_operate())
    ok = error{errc::unauthorized, "this takes an admin's token"};
  if (!ok)
    return send(protocol::make_refusal<schema::StatsRequest>(*number, ok.error()).to_wire());
  auto answer = [this, number = *number](result<std::vector<coordinator_stats>> parts) {
    if (!parts)
      return send(protocol::make_refusal<schema::StatsRequest>(number, parts.error()).to_wire());
    parts->push_back({.queues = {}, .gauges = options_.gauges()});
    auto sum = sum_of(*parts);
    if (options_.bearer)
      sum = visible_to(*options_.bearer, std::move(sum));
    send(protocol::make_stats_reply(number, sum).to_wire());
  };
  gather_stats(self_, options_.shards, std::move(answer));
}

void session_state::back_up(const protocol::backup_request& m) {
  auto reply = m.read([&](auto reader) -> result<protocol::backup_reply> {
    auto number = reader.getNumber();
    if (options_.bearer && !options_.bearer->is_of_all_tenants())
      return protocol::make_backup_reply(
        number, error{errc::unauthorized, "a backup takes the token of an admin of all tenants"});
    return protocol::make_backup_reply(number, options_.backups(reader.getStart()));
  });
  if (!reply)
    return misbehave(reply.error());
  send(reply->to_wire());
}

void session_state::send(const protocol::wire_frame& frame) {
  self_->send(options_.connection, frame);
}

void session_state::pause(bool paused) {
  carry_out(router_->pause(paused || draining_));
}

void session_state::drain() {
  draining_ = true;
  held_credits_ = 0;
  pause(true);
}

void session_state::goodbye() {
  CODEQ_LOG_INFO(
    "node says goodbye name={} remote={}", options_.node.identity.name, options_.remote);
  if (worker_) {
    // First, else the shards would hand the leases that end here to this very worker again.
    drain();
    for (const auto& shard : options_.shards)
      self_->send(shard, actors::end_leases{worker_, false});
  }
  self_->send(options_.connection, actors::close_connection{{errc::none, "goodbye"}});
}

void session_state::misbehave(const error& reason) {
  CODEQ_LOG_WARN(
    "session refuses peer name={} remote={} reason=\"{}\"",
    options_.node.identity.name,
    options_.remote,
    to_string(reason));
  end(reason);
}

void session_state::end(const error& reason) {
  if (reason.code == errc::going_away)
    send(protocol::make_goodbye(reason.code).to_wire());
  else
    send(protocol::make_refused(reason).to_wire());
  self_->send(options_.connection, actors::close_connection{reason});
}

session_internal_actor::behavior_type session(
  session_internal_actor::stateful_pointer<session_state> self, const session_options& options) {
  self->set_default_handler(caf::drop);
  self->set_down_handler([self](const caf::down_msg&) { self->quit(); });
  self->state.start(self, options);
  return {
    [self](place_held_credits) { self->state.place_held(); },
    [self](const protocol::enqueue_request& m) { self->state.enqueue(m); },
    [self](const protocol::claim_request& m) { self->state.claim(m); },
    [self](const protocol::heartbeat_request& m) { self->state.forward(m); },
    [self](const protocol::result_request& m) { self->state.forward(m); },
    [self](const protocol::resume_request& m) { self->state.forward(m); },
    [self](const protocol::await_request& m) { self->state.forward(m); },
    [self](const protocol::status_request& m) { self->state.ask_shard(m); },
    [self](const protocol::change_request& m) { self->state.ask_shard(m); },
    [self](const protocol::force_request& m) { self->state.ask_shard(m); },
    [self](const protocol::queue_request& m) { self->state.ask_shard(m); },
    [self](const protocol::bulk_request& m) { self->state.ask_shard(m); },
    [self](const protocol::list_request& m) { self->state.ask_shard(m); },
    [self](const protocol::explain_request& m) { self->state.ask_shard(m); },
    [self](const protocol::events_request& m) { self->state.ask_shard(m); },
    [self](const protocol::stats_request& m) { self->state.stats(m); },
    [self](const protocol::backup_request& m) { self->state.back_up(m); },
    [self](const protocol::goodbye&) { self->state.goodbye(); },
    [self](const protocol::wire_frame& frame) { self->state.send(frame); },
    [self](const actors::tasks_for_peer& m) { self->state.deliver(m); },
    [self](const actors::enqueue_done& m) { self->state.finish_enqueue(m); },
    [self](const actors::shard_drained& m) {
      self->state.carry_out(self->state.router().drained(m.shard));
    },
    [self](const actors::shard_has_work& m) {
      self->state.carry_out(self->state.router().has_work(m.shard));
    },
    [self](const actors::credits_returned& m) {
      self->state.carry_out(self->state.router().returned(m.shard, m.credits));
    },
    [self](const actors::peer_misbehaved& m) { self->state.end(m.reason); },
    [self](const actors::outgoing_pressure& m) { self->state.pause(m.high); },
    [self](const actors::connection_lost&) { self->quit(); },
    [self](const actors::end_session& m) { self->state.end(m.reason); },
  };
}

actors::frame_sink session_sink(schema::Role role, const actors::session_actor& session) {
  switch (role) {
  case schema::Role::WORKER:
    return transport::deliver<
      schema::ClaimRequest,
      schema::HeartbeatRequest,
      schema::ResultRequest,
      schema::ResumeRequest,
      schema::Goodbye>(session);
  case schema::Role::PRODUCER:
  case schema::Role::OPERATOR:
    return transport::deliver<
      schema::EnqueueRequest,
      schema::AwaitRequest,
      schema::StatusRequest,
      schema::ChangeRequest,
      schema::ForceRequest,
      schema::QueueRequest,
      schema::BulkRequest,
      schema::ListRequest,
      schema::ExplainRequest,
      schema::EventsRequest,
      schema::StatsRequest,
      schema::BackupRequest,
      schema::Goodbye>(session);
  }
  return {};
}

} // namespace codeq::coordinator
