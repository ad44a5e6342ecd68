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
  const auto before = credits_ + kept_.credits;
  if (before + step.credits > limits::slots_max)
    return refuse(
      {errc::protocol_error,
       std::to_string(step.credits) + " credits beside " + std::to_string(before)
         + "; the limit is " + std::to_string(limits::slots_max)});
  kept_.credits += step.credits;
  kept_.bytes = std::min(kept_.bytes + step.bytes, core::unbounded_bytes);
  kept_.lease = step.lease;
  const bool reached_all = std::exchange(kept_.reaches_all, step.reaches_all);
  if (is_held_)
    return tell_drained();
  // The shard looks again which of its tasks are for the claim.
  if (kept_.credits == 0 && reached_all != step.reaches_all)
    port_.command(core::claim{peer_, 0, kept_.lease, 0, 0, kept_.reaches_all});
  place_kept();
}

void claim_proxy::carry_out(core::revoke_credits step) {
  asked_back_ = step.credits;
  if (credits_ == 0)
    return return_kept();
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
  has_work_ = m.more.value_or(has_work_);
  if (!m.more)
    being_read_ -= count;
  if (phase_ == phase::open && is_held_)
    return turn_down(m, count);
  if (phase_ == phase::open || phase_ == phase::shard_has_left)
    pass_on(m);
  else
    give_back(granted_leases(m.granted));
  detach_if_settled();
}

void claim_proxy::turn_down(const task_delivery& m, std::uint32_t tasks) {
  give_back(granted_leases(m.granted));
  has_work_ = true;
  const auto room = static_cast<std::int64_t>(m.granted.bytes);
  kept_.bytes = std::min(kept_.bytes + room, core::unbounded_bytes);
  credit_news news{place_.shard, credit_news::kind::returned, tasks};
  news.being_read = m.more ? 0 : -static_cast<std::int64_t>(tasks);
  tell(news);
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
  using kind = credit_news::kind;
  being_read_ += m.being_read;
  if (m.what == kind::returned)
    return m.being_read < 0 ? take_unread(m) : take_returned(m.credits);
  has_work_ = m.what != kind::drained;
  if (m.what == kind::outranked && phase_ != phase::awaiting_tasks)
    credits_ -= std::min(credits_, m.credits);
  if (phase_ != phase::open)
    // They came back by themselves, and are not returned any more.
    return detach_if_settled();
  if (!is_held_)
    return tell(m);
  kept_.credits += m.credits;
  if (m.being_read != 0)
    tell_drained(m.being_read);
}

void claim_proxy::take_unread(const credit_news& m) {
  credits_ -= std::min(credits_, m.credits);
  if (phase_ == phase::open)
    return tell(m);
  detach_if_settled();
}

void claim_proxy::take_returned(std::uint32_t credits) {
  if (phase_ != phase::awaiting_tasks)
    credits_ -= std::min(credits_, credits);
  if (phase_ != phase::open)
    return detach_if_settled();
  kept_.credits += credits;
  return_kept();
  if (!is_held_)
    place_kept();
}

void claim_proxy::return_kept() {
  const auto wanted = std::exchange(asked_back_, std::nullopt);
  if (!wanted)
    return;
  const auto returned = std::min(*wanted, kept_.credits);
  kept_.credits -= returned;
  tell(credit_news{place_.shard, credit_news::kind::returned, returned});
}

void claim_proxy::place_kept() {
  if (kept_.credits == 0)
    return;
  auto placed = kept_;
  placed.peer = peer_;
  kept_.credits = 0;
  kept_.bytes = 0;
  credits_ += placed.credits;
  port_.command(placed);
}

void claim_proxy::tell_drained(std::int64_t being_read) {
  credit_news news{place_.shard, credit_news::kind::drained};
  news.being_read = being_read;
  tell(news);
}

void claim_proxy::hold(bool is_held) {
  if (std::exchange(is_held_, is_held) == is_held || phase_ != phase::open)
    return;
  if (is_held) {
    revoke_all();
    return tell_drained();
  }
  // With credits asked back, what the shard still returns comes first.
  if (kept_.credits > 0 && !asked_back_)
    place_kept();
  else if (has_work_)
    tell(credit_news{place_.shard, credit_news::kind::has_work});
}

void claim_proxy::take(const shard_reply& m) {
  if (phase_ != phase::open)
    return;
  if (const auto* answered = std::get_if<core::queue_answered>(&m.reply))
    tell(claim_answer{answered->number, answered->awaits_slots, answered->lacks_copies});
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
  const auto before = std::exchange(phase_, std::max(phase_, phase::ending));
  for (const auto& leases : std::exchange(unconfirmed_, {}))
    give_back(leases);
  if (before == phase::shard_has_left)
    credits_ = 0;
  else if (before < phase::ending && credits_ > 0)
    port_.drop_credits();
  detach_if_settled();
}

void claim_proxy::credits_dropped(std::uint32_t being_committed) {
  if (phase_ != phase::ending)
    return;
  phase_ = phase::awaiting_tasks;
  credits_ = being_committed + static_cast<std::uint32_t>(being_read_);
  detach_if_settled();
}

void claim_proxy::revoke_all() {
  if (credits_ > 0)
    port_.command(core::revoke_credits{peer_, credits_});
}

void claim_proxy::detach_if_settled() {
  const auto may_end = phase_ >= phase::shard_has_left;
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
