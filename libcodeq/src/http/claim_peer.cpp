// SPDX-License-Identifier: Apache-2.0
#include "http/claim_peer.hpp"

#include "client/operator_questions.hpp"
#include "observe/log.hpp"
#include "worker/wire.hpp"

#include <caf/actor_cast.hpp>

#include <iterator>
#include <utility>

namespace codeq::http {

namespace {

/// Rounds of questions before a claim that may not wait gives up to follow moving work.
constexpr std::uint64_t rounds_max = 32;

} // namespace

void claim_state::start(claim_actor::pointer self, const claim_options& options) {
  self_ = self;
  options_ = options;
  // Claims begin at different shards, so that all are served alike.
  router_.emplace(options_.shards.size(), options_.claim);
  auto me = caf::actor_cast<actors::session_actor>(claim_actor(self_));
  for (const auto& shard : options_.shards)
    self_->send(shard, actors::attach_session{options_.peer, me, options_.worker, options_.queues});
  carry_out(router_->add_credits(options_.count));
  if (options_.only_now)
    ask_all();
}

void claim_state::carry_out(const coordinator::claim_router::moves& moves) {
  using kind = coordinator::claim_router::move::kind;
  for (const auto& move : moves) {
    const auto& shard = options_.shards[value(move.shard)];
    if (move.what == kind::claim)
      self_->send(shard, actors::add_credits{options_.peer, move.credits, options_.lease});
    else
      self_->send(shard, actors::take_credits{options_.peer, move.credits});
  }
}

void claim_state::ask_all() {
  ++round_;
  any_news_ = false;
  unanswered_ = options_.shards.size();
  for (std::uint16_t i = 0; i < options_.shards.size(); ++i) {
    auto question = client::show_queue(i, options_.queues.front())(round_);
    auto request = protocol::queue_request::parse(question.body);
    self_->send(
      options_.shards[i],
      actors::from_peer<schema::QueueRequest>{options_.peer, std::move(*request)});
  }
}

void claim_state::hear(const protocol::wire_frame& frame) {
  if (frame.type != protocol::frame_type<schema::QueueReply>)
    return;
  auto reply = protocol::queue_reply::parse(frame.body);
  if (!reply)
    return;
  auto number = reply->read([](auto r) -> result<std::uint64_t> { return r.getNumber(); });
  if (!number || *number != round_ || --unanswered_ > 0 || ending_)
    return;
  // What a shard says of work comes at the end of the turn that the first question was in.
  bool is_certain = round_ > 1 && !any_news_;
  if (is_certain || round_ == rounds_max)
    end();
  else
    ask_all();
}

void claim_state::take(const actors::tasks_for_peer& m) {
  any_news_ = true;
  auto batch = protocol::task_batch::parse(m.frame.body);
  auto delivery = batch ? worker::read_task_batch(*batch) : batch.error();
  if (delivery)
    std::move(delivery->tasks.begin(), delivery->tasks.end(), std::back_inserter(tasks_));
  else
    CODEQ_LOG_ERROR("claim cannot read its tasks reason=\"{}\"", to_string(delivery.error()));
  if (!m.redelivered)
    carry_out(router_->granted(m.shard, m.count, m.more));
  finish_if_settled();
}

void claim_state::returned(const actors::credits_returned& m) {
  any_news_ = true;
  carry_out(router_->returned(m.shard, m.credits));
  finish_if_settled();
}

void claim_state::drained(shard_id shard) {
  any_news_ = true;
  carry_out(router_->drained(shard));
}

void claim_state::has_work(shard_id shard) {
  any_news_ = true;
  carry_out(router_->has_work(shard));
}

void claim_state::add(const std::vector<queue_address>& queues) {
  if (ending_ || finished_)
    return;
  options_.queues.insert(options_.queues.end(), queues.begin(), queues.end());
  for (const auto& shard : options_.shards)
    self_->send(shard, actors::change_worker_queues{options_.peer, options_.queues});
}

void claim_state::end() {
  if (std::exchange(ending_, true))
    return;
  carry_out(router_->pause(true));
  finish_if_settled();
}

void claim_state::finish_if_settled() {
  bool is_full = router_->credits() == 0;
  bool is_done = is_full || (ending_ && router_->waiting() == 0);
  if (!is_done || std::exchange(finished_, true))
    return;
  for (const auto& shard : options_.shards)
    self_->send(shard, actors::detach_session{options_.peer});
  self_->send(options_.gateway, claim_ended{options_.claim, std::move(tasks_)});
  self_->quit();
}

claim_actor::behavior_type
claim(claim_actor::stateful_pointer<claim_state> self, const claim_options& options) {
  self->set_default_handler(caf::drop);
  self->state.start(self, options);
  return {
    [self](const actors::tasks_for_peer& m) { self->state.take(m); },
    [self](const actors::shard_drained& m) { self->state.drained(m.shard); },
    [self](const actors::shard_has_work& m) { self->state.has_work(m.shard); },
    [self](const actors::credits_returned& m) { self->state.returned(m); },
    [self](const protocol::wire_frame& frame) { self->state.hear(frame); },
    [self](const actors::peer_misbehaved&) { self->state.end(); },
    [self](const add_queues& m) { self->state.add(m.queues); },
    [self](end_claim) { self->state.end(); },
  };
}

} // namespace codeq::http
