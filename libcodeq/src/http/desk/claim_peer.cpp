// SPDX-License-Identifier: Apache-2.0
#include "http/desk/claim_peer.hpp"

#include "client/operator_questions.hpp"
#include "observe/log.hpp"
#include "worker/node/wire.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

namespace codeq::http {

namespace {

/// The rounds of questions that a claim that may not wait asks at most. A claim that is still
/// chasing moving work ends after them.
constexpr std::uint64_t rounds_max = 32;

/// A shard sends its news about work at the end of the turn in which it answers, so after its
/// answer. It may have news because another shard had some in the round before.
constexpr std::uint64_t quiet_rounds_wanted = 2;

/// So long a claim that may not wait does wait for what shards ask each other: whether the maximum
/// of a queue's leases allows one more.
constexpr std::chrono::milliseconds slot_wait_max{100};

} // namespace

void claim_state::start(claim_actor::pointer self, const claim_options& options) {
  self_ = self;
  options_ = options;
  router_.emplace(options_.shards.size(), options_.first_shard);
  attached_.assign(options_.shards.size(), false);
  for (auto shard : options_.away)
    carry_out(router_->set_here(shard, false));
  untold_room_.assign(options_.shards.size(), options_.room);
  room_ = untold_room_;
  carry_out(router_->add_credits(options_.count));
  // A host tells when its shard comes.
  if (router_->waiting() == 0)
    attach_to_all();
  if (options_.queues.empty() || router_->waiting() == 0)
    found_no_work();
}

void claim_state::attach_to_all() {
  for (std::size_t i = 0; i < options_.shards.size(); ++i)
    attach(i);
}

void claim_state::attach(std::size_t shard) {
  if (attached_[shard])
    return;
  attached_[shard] = true;
  coordinator::peer_attached me{options_.peer, options_.worker, options_.queues};
  self_->send(options_.shards[shard], coordinator::attach_peer{std::move(me), claim_actor(self_)});
}

void claim_state::look_everywhere() {
  if (round_ > 0 || options_.queues.empty() || ending_)
    return;
  attach_to_all();
  ask_all();
}

void claim_state::take(const coordinator::shard_moved& m) {
  if (finished_ || router_->is_here(m.shard) == m.is_here)
    return;
  carry_out(router_->set_here(m.shard, m.is_here));
  // Tasks that are read of a shard that leaves may never come, so the claim stops waiting for them.
  being_read_ = m.is_here ? being_read_ : 0;
  // A shard that left does not answer.
  if (round_ > 0 && !ending_)
    ask_all();
  finish_if_settled();
}

void claim_state::carry_out(const coordinator::claim_router::moves& moves) {
  using kind = coordinator::claim_router::move::kind;
  for (const auto& move : moves) {
    const auto& shard = options_.shards[value(move.shard)];
    attach(value(move.shard));
    coordinator::shard_command command;
    if (move.what == kind::claim) {
      auto room = std::exchange(untold_room_[value(move.shard)], 0);
      command.what = core::claim{options_.peer, move.credits, options_.lease, 0, room};
    } else {
      command.what = core::revoke_credits{options_.peer, move.credits};
    }
    self_->send(shard, std::move(command));
  }
}

void claim_state::ask_all() {
  ++round_;
  is_round_due_ = false;
  any_news_ = false;
  unanswered_ = 0;
  for (std::uint16_t i = 0; i < options_.shards.size(); ++i) {
    if (!router_->is_here(static_cast<shard_id>(i)))
      continue;
    ++unanswered_;
    auto question = client::show_queue(i, options_.queues.front())(round_);
    auto request = protocol::queue_request::parse(question.body);
    self_->send(options_.shards[i], coordinator::peer_request{options_.peer, std::move(*request)});
  }
  if (unanswered_ == 0)
    found_no_work();
}

void claim_state::take(const coordinator::shard_reply& m) {
  const auto* answered = std::get_if<core::queue_answered>(&m.reply);
  const auto* refused = std::get_if<protocol::request_refused<schema::QueueRequest>>(&m.reply);
  if (!answered && !refused)
    return;
  auto number = answered ? answered->number : refused->number;
  awaits_slots_ = awaits_slots_ || (answered && answered->awaits_slots);
  if (number != round_ || --unanswered_ > 0 || ending_)
    return;
  quiet_rounds_ = any_news_ ? 0 : quiet_rounds_ + 1;
  if (being_read_ > 0)
    is_round_due_ = true;
  else if (quiet_rounds_ >= quiet_rounds_wanted || round_ == rounds_max)
    found_no_work();
  else
    ask_all();
}

void claim_state::ask_if_read() {
  if (is_round_due_ && being_read_ == 0 && !ending_ && !finished_)
    ask_all();
}

void claim_state::found_no_work() {
  if (options_.only_now)
    return awaits_slots_ ? end_later() : end();
  if (!std::exchange(has_told_, true))
    self_->send(options_.gateway, claim_waits{options_.claim});
}

void claim_state::end_later() {
  if (!std::exchange(is_ending_later_, true))
    self_->delayed_send(self_, slot_wait_max, end_claim{});
}

void claim_state::take(const coordinator::task_delivery& m) {
  any_news_ = true;
  std::uint32_t count = 0;
  for (const auto& run : m.granted.runs)
    count += run.count;
  protocol::write_tasks(m.shard, m.granted, m.bodies, [this](const protocol::wire_frame& frame) {
    auto batch = protocol::task_batch::parse(frame.body);
    auto delivery = batch ? worker::read_task_batch(*batch) : batch.error();
    if (delivery)
      std::move(delivery->tasks.begin(), delivery->tasks.end(), std::back_inserter(tasks_));
    else
      CODEQ_LOG_ERROR("claim cannot read its tasks reason=\"{}\"", to_string(delivery.error()));
  });
  auto& room = room_[value(m.shard)];
  room -= static_cast<std::int64_t>(m.granted.bytes);
  is_cut_ = is_cut_ || room <= 0;
  if (!m.granted.redelivered)
    carry_out(router_->granted(m.shard, count, m.more, m.granted.runs.back().priority));
  if (!m.granted.redelivered && !m.more)
    being_read_ = std::max(std::int64_t{0}, being_read_ - count);
  finish_if_settled();
  if (!finished_)
    look_everywhere();
  ask_if_read();
}

void claim_state::take(const coordinator::credit_news& m) {
  any_news_ = true;
  being_read_ = std::max(std::int64_t{0}, being_read_ + m.being_read);
  switch (m.what) {
  case coordinator::credit_news::kind::drained:
    carry_out(router_->drained(m.shard));
    return look_everywhere();
  case coordinator::credit_news::kind::has_work:
    return carry_out(router_->has_work(m.shard));
  case coordinator::credit_news::kind::returned:
    carry_out(router_->returned(m.shard, m.credits));
    finish_if_settled();
    return ask_if_read();
  case coordinator::credit_news::kind::outranked:
    carry_out(router_->outranked(m.shard, m.credits, m.by, m.priority));
    // The better tasks do not fit in this claim's answer, so that it can get no others.
    if (room_[value(m.by)] <= 0)
      end();
    return finish_if_settled();
  }
}

void claim_state::add(const std::vector<queue_address>& queues) {
  if (ending_ || finished_)
    return;
  options_.queues.insert(options_.queues.end(), queues.begin(), queues.end());
  constexpr bool keeps_others = true;
  for (std::size_t i = 0; i < options_.shards.size(); ++i) {
    if (attached_[i])
      self_->send(
        options_.shards[i],
        coordinator::shard_command{core::change_queues{options_.peer, queues, keeps_others}});
    attach(i);
  }
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
  for (std::size_t i = 0; i < options_.shards.size(); ++i)
    if (attached_[i])
      self_->send(options_.shards[i], coordinator::detach_peer{options_.peer});
  self_->send(options_.gateway, claim_ended{options_.claim, std::move(tasks_), is_cut_});
  self_->quit();
}

claim_actor::behavior_type
claim(claim_actor::stateful_pointer<claim_state> self, const claim_options& options) {
  self->set_default_handler(caf::drop);
  self->state.start(self, options);
  return {
    [self](const coordinator::shard_reply& m) { self->state.take(m); },
    [self](const coordinator::task_delivery& m) { self->state.take(m); },
    [self](const coordinator::credit_news& m) { self->state.take(m); },
    [](const coordinator::queues_added&) {},
    [self](const coordinator::peer_misbehaved&) { self->state.end(); },
    [self](const coordinator::shard_moved& m) { self->state.take(m); },
    [](coordinator::places_changed) {},
    [self](const add_queues& m) { self->state.add(m.queues); },
    [self](end_claim) { self->state.end(); },
  };
}

} // namespace codeq::http
