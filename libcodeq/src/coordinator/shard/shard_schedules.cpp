// SPDX-License-Identifier: Apache-2.0
#include "base/tuning.hpp"
#include "coordinator/shard/access.hpp"
#include "coordinator/shard/shard.hpp"

#include <string>
#include <utility>

/// The schedules of a shard: what is due, and requests for them.
namespace codeq::coordinator {

namespace {

using namespace std::chrono_literals;

/// After so many occurrences the others wait for the next turn, so that a shard with much to catch
/// up serves its peers in between.
constexpr std::size_t occurrences_per_wakeup_max = 1000;
/// While new tasks cannot be added, what is due is looked at again after this.
constexpr duration room_wait = 1s;
/// Maximum number of backfills of a tenant that wait for their turn.
constexpr std::size_t backfills_waiting_max = 64;

/// Checks that the limits of the tasks of a schedule that is set are defined.
result<void>
check_limits_of(const core::shard_state& state, const protocol::schedule_question& asked) {
  if (asked.what != protocol::schedule_question::kind::SET || !asked.definition)
    return {};
  auto content = protocol::read_content(*asked.definition);
  if (!content)
    return content.error();
  return state.limits.check_new(asked.name.tenant, content->run.limits);
}

} // namespace

void shard::fire_due(const instant& now) {
  std::size_t fired = 0;
  for (const auto& name : state_->schedules.due(now.shard, tuning::schedules_per_turn_max)) {
    fired += advance(name, now);
    // The others are due still, and other messages come in between.
    if (fired >= occurrences_per_wakeup_max)
      return;
  }
}

std::size_t shard::advance(const schedule_address& name, const instant& now) {
  const auto* entry = state_->schedules.find(name);
  bool is_due = entry && entry->next && *entry->next <= now.shard;
  if (!is_due)
    return 0;
  if (!check_room(now)) {
    state_->schedules.look_at(name, now.shard + room_wait);
    return 0;
  }
  auto due = planner_.due(name, *entry, now.shard);
  if (!check_way(due)) {
    state_->schedules.look_at(name, now.shard + room_wait);
    return 0;
  }
  decide_now(due, now);
  close_if_full(now);
  return due.fire.size();
}

result<void> shard::check_way(const core::fire_schedule& planned) const {
  for (const auto& one : planned.fire)
    if (hand_overs_ && hand_overs_->is_full(one.shard, planned.name.tenant))
      return full_way(one.shard);
  return {};
}

void shard::look_at_zones(const instant& now) {
  if (state_->schedules.empty() || now.steady < zones_seen_ + tuning::zones_look_interval)
    return;
  zones_seen_ = now.steady;
  if (!planner_.refresh_zones())
    return;
  state_->schedules.look_at_all();
  decide(core::tick{}, now);
}

std::optional<core::command>
shard::read(const peer_request& by, const protocol::schedule_request& m, const instant& now) {
  auto asked = protocol::read_schedule_request(m, place());
  auto address = protocol::address_of(m);
  if (!asked && ends_peer(by.peer, address.has_value(), asked.error())) {
    port_.end_peer(by.peer, asked.error());
    return std::nullopt;
  }
  auto ok = asked ? result<void>{} : result<void>{asked.error()};
  if (ok && by.sender)
    ok = access::check(*by.sender, *asked);
  if (ok)
    ok = check_limits_of(*state_, *asked);
  if (ok && protocol::is_inspection(*asked) && !may_read(by.peer)) {
    ok = keep(by, m.body().size(), now);
    if (ok)
      return std::nullopt;
  }
  if (ok)
    return read(by, *asked, now);
  reply_to(
    by.peer, protocol::request_refused<schema::ScheduleRequest>{address->number, ok.error()});
  return std::nullopt;
}

std::optional<core::command>
shard::read(const peer_request& by, const protocol::schedule_question& asked, const instant& now) {
  using kind = protocol::schedule_question::kind;
  switch (asked.what) {
  case kind::LIST:
    return core::list_schedules{
      by.peer, asked.number, asked.name.tenant, asked.after, asked.count};
  case kind::SHOW:
    return core::show_schedule{by.peer, asked.number, asked.name};
  case kind::HISTORY:
    return core::show_schedule{by.peer, asked.number, asked.name, 1, true};
  case kind::NEXT:
    if (!asked.definition)
      return core::show_schedule{by.peer, asked.number, asked.name, asked.count};
    preview(by, asked, now);
    return std::nullopt;
  case kind::SET:
  case kind::RUN:
  case kind::BACKFILL:
    if (auto ok = check_room(now); !ok) {
      refuse(by.peer, asked, ok.error());
      return std::nullopt;
    }
    break;
  case kind::DELETE:
  case kind::PAUSE:
  case kind::RESUME:
    if (auto ok = check_replicas(); !ok) {
      refuse(by.peer, asked, ok.error());
      return std::nullopt;
    }
    break;
  }
  // Occurrences that are due come first: a change does not take one away that is a little late.
  advance(asked.name, now);
  if (asked.what == kind::BACKFILL)
    return read_backfill({by.peer, by.origin, asked}, now);
  return read_change(by, asked, now);
}

void shard::refuse(
  core::peer_id peer, const protocol::schedule_question& asked, const error& reason) {
  reply_to(peer, protocol::request_refused<schema::ScheduleRequest>{asked.number, reason});
}

std::optional<core::command> shard::read_backfill(wanted_backfill wanted, const instant& now) {
  if (!std::exchange(is_backfilling_, true))
    return plan(wanted, now);
  auto tenant = wanted.asked.name.tenant;
  auto waiting = backfills_.size_of(tenant);
  if (waiting < backfills_waiting_max) {
    backfills_.add(tenant, std::move(wanted));
    return std::nullopt;
  }
  port_.note_limit("backfills_waiting_max", backfills_waiting_max, tenant);
  refuse(
    wanted.peer,
    wanted.asked,
    {errc::overloaded,
     "tenant \"" + tenant + "\" has " + std::to_string(waiting)
       + " backfills waiting on the shard; backfills_waiting_max="
       + std::to_string(backfills_waiting_max)});
  return std::nullopt;
}

core::command shard::plan(const wanted_backfill& wanted, const instant& now) {
  const auto& [peer, origin, asked] = wanted;
  const auto* entry = state_->schedules.find(asked.name);
  if (!entry)
    return core::show_schedule{peer, asked.number, asked.name};
  auto c = planner_.backfill(asked.name, *entry, asked, now.shard);
  if (c.allowed)
    c.allowed = check_way(c);
  c.peer = peer;
  c.number = asked.number;
  c.origin = origin;
  return c;
}

void shard::backfill_next(const instant& now) {
  auto next = backfills_.take();
  is_backfilling_ = next.has_value();
  if (!next)
    return;
  if (auto ok = check_room(now); !ok)
    return refuse(next->peer, next->asked, ok.error());
  decide(plan(*next, now), now);
}

void shard::preview(
  const peer_request& by, const protocol::schedule_question& asked, const instant& now) {
  core::schedule_view view{asked.name, asked.definition};
  auto next = planner_.next(view, asked.count, now.shard);
  if (!next)
    return reply_to(
      by.peer,
      protocol::request_refused<schema::ScheduleRequest>{asked.number, next.error()});
  protocol::schedules_told told{asked.number};
  told.schedules.push_back({std::move(view), std::move(*next)});
  reply_to(by.peer, std::move(told));
}

std::optional<core::command> shard::read_change(
  const peer_request& by, const protocol::schedule_question& asked, const instant& now) {
  using kind = protocol::schedule_question::kind;
  const auto* entry = state_->schedules.find(asked.name);
  if (asked.what == kind::SET) {
    core::set_schedule c{by.peer, asked.number, asked.name, asked.definition};
    c.origin = by.origin;
    if (auto mark = planner_.mark_of(asked.name, *c.definition, entry, now.shard))
      c.mark = *mark;
    else
      c.allowed = mark.error();
    return c;
  }
  if (asked.what == kind::RUN) {
    if (!entry)
      return core::show_schedule{by.peer, asked.number, asked.name};
    auto c = planner_.run_now(asked.name, *entry, now.shard);
    if (c.allowed)
      c.allowed = check_way(c);
    c.peer = by.peer;
    c.number = asked.number;
    c.origin = by.origin;
    return c;
  }
  core::change_schedule c{by.peer, asked.number, asked.name};
  c.origin = by.origin;
  c.what = asked.what == kind::PAUSE    ? core::schedule_change::pause
           : asked.what == kind::RESUME ? core::schedule_change::resume
                                        : core::schedule_change::remove;
  const auto is_resumed =
    c.what == core::schedule_change::resume && entry && entry->progress.paused;
  if (!is_resumed)
    return c;
  auto times = planner_.times_of(asked.name, *entry->definition);
  // Without its zone it is not known which occurrences the pause has passed over.
  if (!times) {
    refuse(by.peer, asked, times.error());
    return std::nullopt;
  }
  c.mark = times->mark_at(now.shard);
  return c;
}

void shard::carry_out(core::schedule_answered& e, const instant& now) {
  if (!e.allowed) {
    if (e.allowed.error().code == errc::too_large)
      port_.note_limit("schedules_max", 0, owner_of(e.peer));
    return reply_to(
      e.peer,
      protocol::request_refused<schema::ScheduleRequest>{e.number, e.allowed.error()});
  }
  protocol::schedules_told told{e.number, e.what};
  auto definition = e.view.definition;
  auto name = e.view.name;
  auto next = e.what == schedule_result::deleted ? 0 : e.next;
  told.schedules.push_back(planner_.describe(std::move(e.view), next));
  if (!e.with_history)
    return reply_to(e.peer, std::move(told));
  stored_inquiry inquiry{state_->id, {core::inquiry::kind::schedule, e.peer, e.number, {}, {}}};
  inquiry.schedule = std::make_shared<const protocol::schedules_told>(std::move(told));
  inquiry.zone = planner_.zone_of(*definition);
  auto why = inquiry.why;
  inquire(why, std::move(inquiry), now);
}

void shard::carry_out(core::schedules_listed& e, const instant&) {
  protocol::schedules_told told{e.number};
  told.more = e.more;
  for (auto& view : e.schedules)
    told.schedules.push_back(planner_.describe(std::move(view), 1));
  reply_to(e.peer, std::move(told));
}

void shard::carry_out(core::occurrence_noted& e, const instant& now) {
  port_.note_occurrence(e, now.shard);
}

} // namespace codeq::coordinator
