// SPDX-License-Identifier: Apache-2.0
#include "coordinator/session/claim_proxy.hpp"

#include "codeq/limits.hpp"

#include "encoding/shared_structs.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <variant>

namespace codeq::coordinator {

claim_proxy::claim_proxy(const claim_place& place, core::peer_id peer, claim_proxy_port& port)
  : place_(place), peer_(peer), port_(port) {
}

void claim_proxy::take(const claim_step& step) {
  if (accepts(step))
    std::visit([this](const auto& one) { carry_out(one); }, step);
}

bool claim_proxy::accepts(const claim_step& step) const {
  if (phase_ == phase::open || std::holds_alternative<claim_detached>(step))
    return true;
  return phase_ == phase::refused && std::holds_alternative<claim_received>(step);
}

void claim_proxy::carry_out(const claim_attached& step) {
  is_attached_ = true;
  asked_ = step.queues.empty() ? queue_address{step.prefixes.front().tenant, "default"}
                               : step.queues.front();
  peer_attached me{peer_, step.worker, step.queues};
  me.prefixes = step.prefixes;
  port_.attach(std::move(me));
}

void claim_proxy::carry_out(core::claim step) {
  if (credits_ + step.credits > limits::slots_max)
    return refuse(
      {errc::protocol_error,
       std::to_string(step.credits) + " credits beside " + std::to_string(credits_)
         + "; the limit is " + std::to_string(limits::slots_max)});
  credits_ += step.credits;
  step.peer = peer_;
  port_.command(step);
}

void claim_proxy::carry_out(core::revoke_credits step) {
  step.peer = peer_;
  port_.command(step);
}

void claim_proxy::carry_out(const claim_question& step) {
  port_.ask(protocol::queue_request::build([&](auto request) {
    request.setNumber(step.number);
    request.setShard(value(place_.shard));
    encoding::write_queue(request.initQueue(), asked_);
    request.setShow();
  }));
}

void claim_proxy::carry_out(const claim_received& step) {
  for (; confirmed_ < step.messages && !unconfirmed_.empty(); ++confirmed_)
    unconfirmed_.pop_front();
}

void claim_proxy::carry_out(const claim_detached&) {
  end();
}

void claim_proxy::take(const task_delivery& m) {
  std::uint32_t count = 0;
  for (const auto& run : m.granted.runs)
    count += run.count;
  credits_ -= std::min(credits_, count);
  if (phase_ == phase::open || phase_ == phase::shard_has_left)
    pass_on(m);
  else
    give_back(granted_leases(m.granted));
  detach_if_settled();
}

void claim_proxy::pass_on(const task_delivery& m) {
  auto leases = granted_leases(m.granted);
  write_claim_tasks(place_, m, [this, &leases](std::uint32_t tasks, const auto& frame) {
    const auto end = leases.begin() + std::min<std::size_t>(tasks, leases.size());
    if (phase_ == phase::open)
      unconfirmed_.emplace_back(leases.begin(), end);
    leases.erase(leases.begin(), end);
    port_.send(frame);
  });
}

void claim_proxy::take(const credit_news& m) {
  const auto comes_back =
    m.what == credit_news::kind::returned || m.what == credit_news::kind::outranked;
  if (comes_back)
    credits_ -= std::min(credits_, m.credits);
  if (phase_ == phase::open)
    return tell(m);
  // It came back by itself, and is not revoked any more.
  detach_if_settled();
}

void claim_proxy::take(const shard_reply& m) {
  if (phase_ != phase::open)
    return;
  if (const auto* answered = std::get_if<core::queue_answered>(&m.reply))
    tell(claim_answer{answered->number, answered->awaits_slots});
  else if (
    const auto* refused = std::get_if<protocol::request_refused<schema::QueueRequest>>(&m.reply))
    tell(claim_answer{refused->number});
}

void claim_proxy::shard_left() {
  // Another coordinator decides about its leases.
  unconfirmed_.clear();
  if (std::exchange(phase_, phase::shard_has_left) == phase::open)
    tell(claim_left{
      {errc::not_owner,
       "shard " + std::to_string(value(place_.shard)) + " is served elsewhere"}});
  detach_if_settled();
}

void claim_proxy::refuse(const error& reason) {
  if (phase_ != phase::open)
    return;
  phase_ = phase::refused;
  tell(claim_left{reason});
  revoke_all();
}

void claim_proxy::end() {
  const auto before = std::exchange(phase_, phase::ending);
  for (const auto& leases : std::exchange(unconfirmed_, {}))
    give_back(leases);
  if (before == phase::shard_has_left)
    credits_ = 0;
  else if (before == phase::open)
    revoke_all();
  detach_if_settled();
}

void claim_proxy::revoke_all() {
  if (credits_ > 0)
    port_.command(core::revoke_credits{peer_, credits_});
}

void claim_proxy::detach_if_settled() {
  const auto may_end = phase_ == phase::ending || phase_ == phase::shard_has_left;
  if (!may_end || credits_ > 0 || std::exchange(has_ended_, true))
    return;
  if (is_attached_)
    port_.detach();
  port_.ended();
}

void claim_proxy::tell(const claim_event& what) {
  port_.send(make_claim_news(place_, what).to_wire());
}

void claim_proxy::give_back(const std::vector<core::task_lease>& leases) {
  if (leases.empty())
    return;
  core::report report{peer_, {}};
  for (const auto& lease : leases) {
    auto& one = report.reports.emplace_back();
    one.seq = lease.seq;
    one.token = lease.token;
    one.how = disposition::abandon;
    one.started = false;
  }
  port_.command(std::move(report));
}

} // namespace codeq::coordinator
