// SPDX-License-Identifier: Apache-2.0
#include "codeq/limits.hpp"

#include "base/duration_text.hpp"
#include "base/queue_maximum.hpp"
#include "base/tuning.hpp"
#include "core/queues/queue_limits.hpp"
#include "core/queues/queue_rules.hpp"
#include "core/queues/queue_waits.hpp"
#include "core/state/apply.hpp"
#include "core/state/queue_fairness.hpp"
#include "core/tables/history.hpp"
#include "core/turn/turn.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

/// Settings of queues, also those that another shard carries here, and what follows from them; the
/// audit log: one entry per command of an operator, however many parts the command has.
namespace codeq::core {

namespace {

/// True when the handler or its worker failed, and not when an operator or a producer ended the
/// attempt.
bool is_failure(const lease_end& e) {
  if (!e.charged || e.next == task_state::cancelled)
    return false;
  return e.kind == lease_end_kind::failed || e.kind == lease_end_kind::failed_permanently
         || e.kind == lease_end_kind::nacked || e.kind == lease_end_kind::expired
         || e.kind == lease_end_kind::timed_out;
}

queue_fairness::slot_use use_of(const shard_state& state, const queue_state& queue) {
  auto reason = reason_of_ready(state, queue);
  bool are_none = reason == task_reason::queue_paused || reason == task_reason::no_worker;
  return {queue.leased, are_slots_taken(reason), are_none};
}

std::map<queue_address, queue_settings>
wanted_queues(const shard_state& state, const adopt_settings& c) {
  std::map<queue_address, queue_settings> wanted;
  for (const auto& [arrival, index] : state.queues_by_arrival)
    if (state.queues[index]->settings != queue_settings{})
      wanted[state.queues[index]->address] = {};
  for (const auto& one : c.queues)
    wanted[one.queue] = one.settings;
  return wanted;
}

std::map<limit_address, std::optional<limit_definition>>
wanted_limits(const shard_state& state, const adopt_settings& c) {
  std::map<limit_address, std::optional<limit_definition>> wanted;
  state.limits.for_each(
    [&](const limit_address& limit, const limit_definition&) { wanted[limit] = std::nullopt; });
  for (const auto& one : c.limits)
    wanted[one.limit] = one.definition;
  return wanted;
}

/// True when both belong to the same command.
bool is_same(const audit_entry& a, const audit_entry& b) {
  return a.by->at == b.by->at && a.by->operation == b.by->operation;
}

/// Adds a further change of the same command.
void merge(audit_entry& to, const audit_entry& more) {
  to.changed += more.changed;
  to.task = 0;
  if (to.queue != more.queue)
    to.queue.clear();
  if (to.detail.empty())
    to.detail = more.detail;
}

} // namespace

void turn::run(const configure_queue& c) {
  const auto* known = state_.find_queue(c.queue);
  const auto& before = known ? known->settings : queue_settings{};
  queue_answered answer{c.peer, c.number, c.queue, before, {}};
  auto& config = answer.settings.config;
  config = c.config;
  base::complete_maxima(config, state_.permits.shard_count(), before.config);
  if (c.weights) {
    config.fairness_weights = before.config.fairness_weights;
    config.change_weights(*c.weights);
  }
  answer.allowed = check_config(state_, c.queue, config);
  change_queue(std::move(answer), operator_action::queue_set);
}

void turn::run(const weigh_keys& c) {
  const auto* known = state_.find_queue(c.queue);
  queue_answered answer{c.peer, c.number, c.queue, known ? known->settings : queue_settings{}, {}};
  auto& config = answer.settings.config;
  config.change_weights(c.weights);
  answer.allowed = check_weights(config.fairness_weights);
  change_queue(std::move(answer), operator_action::queue_set);
}

void turn::run(const pause_queue& c) {
  auto* known = state_.find_queue(c.queue);
  if (!c.breaker_reason.empty()) {
    if (known && known->settings.config.pause_when_failing.percent != 0)
      pause_by_breaker(*known, c.breaker_reason);
    return;
  }
  if (known)
    known->untold_trip.reset();
  if (known && !c.paused)
    note_resume(*known);
  queue_answered answer{c.peer, c.number, c.queue, known ? known->settings : queue_settings{}, {}};
  answer.settings.paused = c.paused;
  answer.settings.pause_reason.clear();
  change_queue(
    std::move(answer), c.paused ? operator_action::queue_pause : operator_action::queue_resume);
}

void turn::note_resume(queue_state& queue) {
  if (queue.settings.config.pause_when_failing.percent == 0)
    return;
  queue.failures.reset();
  queue.resumed_at = now_.shard;
  // The settings of a queue that is not paused here do not change. They are carried all the same.
  ++state_.settings_version;
}

void turn::pause_by_breaker(const queue_state& queue, const std::string& reason) {
  if (queue.settings.paused)
    return;
  auto settings = queue.settings;
  settings.paused = true;
  settings.pause_reason = reason;
  // A copy, since writing may move the queue.
  const auto address = queue.address;
  write_settings(address, settings);
}

void turn::count_for_breaker(queue_state& queue, const lease_end& e) {
  const auto& breaker = queue.settings.config.pause_when_failing;
  bool is_counted = e.kind == lease_end_kind::completed || is_failure(e);
  if (breaker.percent == 0 || queue.settings.paused || !is_counted)
    return;
  if (!queue.failures)
    queue.failures = std::make_unique<failure_window>(breaker.window);
  queue.failures->add(now_.steady, is_failure(e));
  auto counts = queue.failures->counts();
  bool trips = counts.ended >= limits::breaker_attempts_min
               && counts.failed * 100 > counts.ended * breaker.percent;
  if (!trips)
    return;
  // Rounded up, so that it is never the percentage that is still allowed.
  auto percent = (counts.failed * 100 + counts.ended - 1) / counts.ended;
  auto reason = "breaker, " + std::to_string(percent) + " % of "
                + std::to_string(counts.ended) + " attempts failed in "
                + base::format_duration(breaker.window);
  const auto& address = queue.address;
  ++queue.activity.tripped;
  auto by = std::make_shared<const command_origin>(
    command_origin{now_.shard, state_.positions.take(1), "breaker", address.tenant});
  audit({by, operator_action::queue_pause, address.tenant, address.queue, 0, 0, reason});
  effects_.emplace_back(breaker_tripped{address, reason});
  queue.untold_trip = now_.shard;
  pause_by_breaker(queue, reason);
}

void turn::run(const show_queue& c) {
  const auto* known = state_.find_queue(c.queue);
  auto settings = known ? known->settings : queue_settings{};
  queue_answered answer{c.peer, c.number, c.queue, settings, {}, known == nullptr};
  bool has_keys = c.fairness && known && known->fair;
  if (c.fairness)
    answer.fairness = std::make_shared<const fairness_page>(
      has_keys ? known->fair->list(*c.fairness, use_of(state_, *known)) : fairness_page{});
  if (c.is_explained)
    answer.explanation =
      std::make_shared<const queue_explanation>(explain_queue(state_, c.queue, now_.steady));
  if (auto at = state_.attached.find(c.peer); at != state_.attached.end())
    answer.awaits_slots = may_get_slots(at->second);
  effects_.emplace_back(std::move(answer));
}

void turn::change_queue(queue_answered answer, operator_action action) {
  if (answer.allowed && !state_.has_room_for(answer.queue))
    answer.allowed = too_many_queues(answer.queue);
  const auto* known = state_.find_queue(answer.queue);
  if (!answer.allowed) {
    answer.settings = known ? known->settings : queue_settings{};
  } else if (!known || known->settings != answer.settings) {
    auto before = known ? known->settings.config : queue_config{};
    auto detail = describe_change(before, answer.settings.config);
    audit({origin_, action, answer.queue.tenant, answer.queue.queue, 0, 0, std::move(detail)});
    write_settings(answer.queue, answer.settings);
    tell_carrier();
  }
  effects_.emplace_back(std::move(answer));
}

void turn::run(const purge& c) {
  auto* s = find_to_change(c.peer, c.number, c.seq);
  if (!s)
    return;
  change_answered answer{c.peer, c.number, c.seq, change_result::unchanged, s->view(c.seq).state};
  if (answer.state == task_state::dead) {
    audit(operator_action::purge, state_.queue_of(*s).address, c.seq, 1);
    purge_all({c.seq});
    answer.result = change_result::changed;
    answer.state = s->view(c.seq).state;
  }
  effects_.emplace_back(answer);
}

void turn::purge_all(const std::vector<sequence>& tasks) {
  // All leases first: a change after an end begins a new record, and so does an end after a change.
  for (auto seq : tasks) {
    auto& s = *find_segment(state_.segments, seq);
    if (s.view(seq).state == task_state::leased)
      end_by_force(s, {0, 0, seq, force_kind::revoke, {}});
  }
  for (auto seq : tasks) {
    append_change({seq, change_kind::purged, {}, {}}, task_event::author::operator_user);
    tell_awaiting(seq);
  }
}

void turn::purge_past_dead() {
  std::vector<sequence> past;
  state_.dead_ends.for_each([&](const number_pair& end) {
    bool is_past = time_of(end) <= now_.shard && past.size() < tuning::dead_purged_per_turn_max;
    if (is_past)
      past.push_back(end.second);
    return is_past;
  });
  if (!past.empty())
    purge_all(past);
}

bool turn::mark_purged(const task_part& part) {
  const auto& filter = part.filter;
  auto next = state_.sequences.next;
  auto below = part.below == 0 ? next : std::min(part.below, next);
  std::vector<queue_purge> purges;
  for (const auto& [arrival, index] : state_.queues_by_arrival) {
    const auto& queue = state_.queues[index];
    bool is_meant = queue->address.tenant == filter.tenant
                    && (filter.queue.empty() || queue->address.queue == filter.queue);
    if (is_meant && queue->totals.purged_below < below)
      purges.push_back({queue->address, below});
  }
  if (purges.empty())
    return false;
  note_purges(state_, purges);
  // Tasks enqueued from now on must have sequences after the mark.
  open_lanes_.clear();
  auto& record = open_changes();
  record.purges.insert(record.purges.end(), purges.begin(), purges.end());
  return true;
}

void turn::run(const adopt_settings& c) {
  auto& carried = state_.carried;
  // Words of an earlier connection may come after those of a later one.
  if (c.version < carried.version)
    return;
  if (c.part == 0)
    carried = {c.from, c.version};
  else if (c.version != carried.version || c.part != carried.part + 1)
    return;
  carried.part = c.part;
  carried.queues.insert(carried.queues.end(), c.queues.begin(), c.queues.end());
  carried.limits.insert(carried.limits.end(), c.limits.begin(), c.limits.end());
  if (!c.is_last)
    return;
  const auto is_complete = adopt(carried);
  std::vector<carried_queue>().swap(carried.queues);
  std::vector<carried_limit>().swap(carried.limits);
  if (is_complete)
    effects_.emplace_back(shard_told{c.from, settings_adopted{state_.id, c.version}});
}

bool turn::adopt(const adopt_settings& all) {
  bool is_complete = true;
  for (const auto& carried : all.queues)
    hear_of_resume(carried);
  for (auto& [queue, settings] : wanted_queues(state_, all)) {
    auto* known = state_.find_queue(queue);
    base::complete_maxima(
      settings.config,
      state_.permits.shard_count(),
      known ? known->settings.config : queue_config{});
    if (known)
      keep_untold_pause(*known, settings);
    if ((known ? known->settings : queue_settings{}) == settings)
      continue;
    // A queue that has no room here gets its settings when they are carried again.
    const auto has_room = state_.has_room_for(queue);
    is_complete = is_complete && has_room;
    if (has_room)
      write_settings(queue, settings);
  }
  for (const auto& [limit, definition] : wanted_limits(state_, all)) {
    const auto* known = state_.limits.find(limit);
    if ((known ? std::optional(*known) : std::nullopt) != definition)
      write_limit(limit, definition);
  }
  return is_complete;
}

void turn::hear_of_resume(const carried_queue& resumed) {
  auto* known = state_.find_queue(resumed.queue);
  if (!known || resumed.resumed_at <= known->resumed_at)
    return;
  known->resumed_at = resumed.resumed_at;
  known->failures.reset();
  if (known->untold_trip && *known->untold_trip <= resumed.resumed_at)
    known->untold_trip.reset();
}

void turn::keep_untold_pause(queue_state& known, queue_settings& carried) {
  if (!known.untold_trip)
    return;
  // A breaker that was turned off meanwhile pauses nothing any more.
  if (carried.paused || carried.config.pause_when_failing.percent == 0) {
    known.untold_trip.reset();
    return;
  }
  carried.paused = true;
  carried.pause_reason = known.settings.pause_reason;
  effects_.emplace_back(breaker_tripped{known.address, carried.pause_reason});
}

void turn::tell_carrier() {
  if (state_.carried.version != 0)
    effects_.emplace_back(shard_told{state_.carried.from, settings_adopted{state_.id, 0}});
}

void turn::write_settings(const queue_address& queue, const queue_settings& settings) {
  const auto* known = state_.find_queue(queue);
  const auto before = known ? known->settings.config.max_depth : 0;
  set_queue(state_, queue, settings);
  changed_queues_.insert(state_.queue_index.at(queue));
  if (settings.config.max_depth != before)
    state_.depths.drop(queue);
  configured_.push_back({state_.positions.take(1), now_.shard, queue, settings});
  ++state_.settings_version;
}

void turn::write_limit(
  const limit_address& limit, const std::optional<limit_definition>& definition) {
  state_.limits.define(limit, definition, now_.shard);
  if (definition && definition->rate)
    state_.permits.keep_none_longer(now_.steady);
  // A removal leaves no record that would keep the time.
  const auto at = definition ? now_.shard : timestamp{};
  limits_.push_back({state_.positions.take(1), at, limit, definition});
  ++state_.settings_version;
}

void turn::run(const note_command& c) {
  audit({c.origin, c.action, c.tenant, {}, 0, 0, c.detail});
}

void turn::run(const tell_audit& c) {
  effects_.emplace_back(
    audit_wanted{{inquiry::kind::audit, c.peer, c.number, {}, {}}, c.filter, c.is_of_shard});
}

void turn::audit(
  operator_action action, const queue_address& of, sequence task, std::uint64_t changed) {
  audit({origin_, action, of.tenant, of.queue, task, changed, {}});
}

void turn::audit(audit_entry entry) {
  if (!entry.by || !entry.by->is_audited)
    return;
  entry.detail = cut_text(entry.detail, limits::audit_detail_bytes_max);
  auto& open = state_.open_audits;
  auto known = std::find_if(
    open.begin(), open.end(), [&](const audit_entry& one) { return is_same(one, entry); });
  if (known != open.end()) {
    auto whole = std::move(*known);
    open.erase(known);
    merge(whole, entry);
    entry = std::move(whole);
  } else {
    entry.position = state_.positions.take(1);
    if (open.size() >= tuning::open_audits_max)
      open.erase(open.begin());
  }
  open.push_back(entry);
  auto noted = std::find_if(audited_.begin(), audited_.end(), [&](const audit_entry& one) {
    return one.position == entry.position;
  });
  if (noted != audited_.end())
    *noted = std::move(entry);
  else
    audited_.push_back(std::move(entry));
}

void turn::close_audits() {
  if (audited_.empty())
    return;
  closed_audits_.push_back({state_.positions.take(1), now_.shard, std::move(audited_)});
  audited_.clear();
}

} // namespace codeq::core
