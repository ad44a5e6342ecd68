// SPDX-License-Identifier: Apache-2.0
#include "coordinator/shard/schedule_planner.hpp"

#include "codeq/limits.hpp"

#include "base/assert.hpp"
#include "base/tuning.hpp"
#include "core/commands/routing.hpp"
#include "schedule/overlap.hpp"
#include "schedule/plan.hpp"

#include <algorithm>
#include <utility>

namespace codeq::coordinator {

namespace {

/// The name by which a schedule's jitter is spread.
std::string jitter_name(const schedule_address& name) {
  return name.tenant + '/' + name.name;
}

schedule_time show_time(
  const schedule::nominal_time& nominal, timestamp at, const schedule::time_zone* zone) {
  return {schedule::to_string(nominal), at, zone ? zone->text_of(at) : std::string()};
}

core::fire_schedule command_for(
  const schedule_address& name, const core::schedule_entry& entry, occurrence_cause cause) {
  core::fire_schedule c;
  c.name = name;
  c.definition = entry.definition;
  c.cause = cause;
  c.from = entry.progress.mark;
  c.to = entry.progress.mark;
  return c;
}

/// The tasks of a backfill are written in one turn.
constexpr std::size_t backfill_bytes_max = 8u << 20;

/// The bytes of a schedule's task, at least 1.
std::size_t task_bytes(const core::enqueue_run& task) {
  return std::max<std::size_t>(task.tasks.body.size(), 1);
}

/// The number of occurrences that one turn may fire, at least 1: a long turn delays everybody else.
std::size_t fired_together_max(const core::enqueue_run& task) {
  return std::clamp<std::size_t>(
    tuning::turn_bytes_max / task_bytes(task), 1, schedule::occurrences_max);
}

/// True when a waiting occurrence is to fire first.
bool fires_waiting(const core::schedule_entry& entry) {
  const auto& open = entry.progress.open;
  bool is_running = std::any_of(open.begin(), open.end(), [](const core::open_occurrence& o) {
    return o.entry.cause == occurrence_cause::due;
  });
  return entry.progress.waiting
         && schedule::releases_waiting(entry.definition->overlap, {is_running, true});
}

} // namespace

schedule_planner::schedule_planner(
  std::shared_ptr<schedule::zone_store> zones, protocol::shard_place place, timestamp since)
  : zones_(std::move(zones)),
    place_(place),
    since_(since),
    zones_generation_(zones_ ? zones_->generation() : 0) {
}

result<schedule::zone_ptr> schedule_planner::find_zone(const std::string& name) const {
  if (zones_)
    return zones_->find(name);
  if (auto zone = schedule::zone_without_file(name))
    return std::make_shared<const schedule::time_zone>(std::move(*zone));
  return error{
    errc::invalid_argument, "zone is \"" + name + "\"; it must be UTC or an offset like +02:00"};
}

result<schedule_planner::reading> schedule_planner::read(
  const schedule_address& name, const core::schedule_definition& definition) const {
  auto content = protocol::read_content(definition);
  if (!content)
    return content.error();
  auto zone = find_zone(content->rule.zone);
  if (!zone)
    return zone.error();
  auto times = schedule::timetable::make(content->rule, std::move(*zone), jitter_name(name));
  if (!times)
    return times.error();
  return reading{std::move(*content), std::move(*times)};
}

result<schedule::timetable> schedule_planner::times_of(
  const schedule_address& name, const core::schedule_definition& definition) const {
  auto found = read(name, definition);
  return found ? result<schedule::timetable>(std::move(found->times)) : found.error();
}

result<schedule::nominal_time> schedule_planner::mark_of(
  const schedule_address& name,
  const core::schedule_definition& definition,
  const core::schedule_entry* before,
  timestamp now) const {
  auto after = times_of(name, definition);
  if (!after)
    return after.error();
  auto old = before ? times_of(name, *before->definition) : after;
  // The zone of the old rule may be gone.
  if (!before || !old)
    return after->mark_at(now);
  return schedule::mark_after_change(*old, before->progress.mark, *after, now);
}

core::planned_occurrence schedule_planner::plan_one(
  const schedule_address& name, const reading& from, const schedule::occurrence& when) const {
  auto run =
    protocol::run_of_occurrence(from.content.run, name, schedule::to_string(when.nominal));
  // It was checked when the schedule was set.
  CODEQ_ASSERT(run);
  auto shard = core::shard_of_follow_up(*run, place_.shard, place_.shard_count);
  return {
    when.nominal,
    when.due,
    shard,
    std::make_shared<const core::enqueue_run>(std::move(*run))};
}

core::fire_schedule schedule_planner::due(
  const schedule_address& name, const core::schedule_entry& entry, timestamp now) {
  auto c = command_for(name, entry, occurrence_cause::due);
  if (entry.progress.paused)
    return c;
  auto found = read(name, *entry.definition);
  if (!found) {
    // The file of its zone may come back.
    wait_for_zone(name, *entry.definition);
    c.next = now + tuning::zones_look_interval;
    return c;
  }
  without_zone_.erase(name);
  auto planned = schedule::plan(
    found->times,
    entry.progress.mark,
    found->content.catch_up,
    {since_, now},
    fired_together_max(found->content.run));
  if (planned.next)
    c.next = planned.next->due;
  if (fires_waiting(entry)) {
    c.is_waiting = true;
    const auto& waiting = *entry.progress.waiting;
    c.fire.push_back(plan_one(name, *found, {waiting.nominal, waiting.at}));
    // Everything due by now is planned after it.
    c.next = timestamp{};
    return c;
  }
  c.to = planned.mark;
  for (const auto& when : planned.to_fire)
    c.fire.push_back(plan_one(name, *found, when));
  c.skipped = planned.skipped;
  if (!planned.newest_skipped.empty()) {
    c.last_skipped = planned.newest_skipped.back().nominal;
    c.last_skipped_at = planned.newest_skipped.back().due;
  }
  return c;
}

void schedule_planner::wait_for_zone(
  const schedule_address& name, const core::schedule_definition& definition) {
  without_zone_.insert(name);
  if (auto content = protocol::read_content(definition); content && zones_)
    zones_->await(content->rule.zone);
}

std::size_t schedule_planner::without_zone(const core::schedule_table& all) const {
  return static_cast<std::size_t>(std::count_if(
    without_zone_.begin(), without_zone_.end(), [&](const schedule_address& name) {
      return all.find(name) != nullptr;
    }));
}

core::fire_schedule schedule_planner::run_now(
  const schedule_address& name, const core::schedule_entry& entry, timestamp now) const {
  auto c = command_for(name, entry, occurrence_cause::run_now);
  auto found = read(name, *entry.definition);
  if (!found) {
    c.allowed = found.error();
    return c;
  }
  auto second = std::chrono::floor<std::chrono::seconds>(now.time_since_epoch());
  auto local = found->times.zone()->to_local(schedule::sys_seconds{second});
  c.fire.push_back(plan_one(name, *found, {{local, local}, now}));
  return c;
}

core::fire_schedule schedule_planner::backfill(
  const schedule_address& name,
  const core::schedule_entry& entry,
  const protocol::schedule_question& asked,
  timestamp now) const {
  auto c = command_for(name, entry, occurrence_cause::backfill);
  auto found = read(name, *entry.definition);
  auto refuse = [&](error reason) {
    c.allowed = std::move(reason);
    return c;
  };
  if (!found)
    return refuse(found.error());
  if (asked.until > now)
    return refuse(
      {errc::invalid_argument, "until is " + to_string(asked.until) + "; it must be in the past"});
  constexpr auto limit = limits::schedule_backfill_max;
  auto count = found->times.count(asked.from, asked.until);
  if (count == 0 || count > limit)
    return refuse(
      {errc::invalid_argument,
       "the range has " + std::to_string(count) + " occurrences; it must have 1.."
         + std::to_string(limit)});
  if (auto bytes = count * task_bytes(found->content.run); bytes > backfill_bytes_max)
    return refuse(
      {errc::too_large,
       "the tasks of the range have " + std::to_string(bytes) + " bytes; they must have at most "
         + std::to_string(backfill_bytes_max) + "; give parts of the range"});
  for (const auto& when : found->times.preview(asked.from, limit, asked.until))
    c.fire.push_back(plan_one(name, *found, when));
  return c;
}

result<std::vector<schedule_time>> schedule_planner::next(
  const core::schedule_view& view, std::uint32_t count, timestamp now) const {
  auto times = times_of(view.name, *view.definition);
  if (!times)
    return times.error();
  std::vector<schedule_time> next;
  for (const auto& when : times->preview(now + duration{1}, count))
    next.push_back(show_time(when.nominal, when.due, times->zone().get()));
  return next;
}

protocol::schedule_part
schedule_planner::describe(core::schedule_view view, std::uint32_t count) const {
  protocol::schedule_part part{std::move(view)};
  if (!part.view.definition)
    return part;
  if (count > 0 && !part.view.progress.paused)
    if (auto times = times_of(part.view.name, *part.view.definition))
      for (const auto& when : times->next_of(part.view.progress.mark, count))
        part.next.push_back(show_time(when.nominal, when.due, times->zone().get()));
  if (part.view.progress.latest)
    part.latest = show(*part.view.progress.latest, zone_of(*part.view.definition).get());
  return part;
}

schedule::zone_ptr schedule_planner::zone_of(const core::schedule_definition& definition) const {
  auto content = protocol::read_content(definition);
  auto zone = content ? find_zone(content->rule.zone) : result<schedule::zone_ptr>(nullptr);
  return zone ? *zone : nullptr;
}

bool schedule_planner::refresh_zones() {
  if (!zones_)
    return false;
  static_cast<void>(zones_->refresh());
  auto generation = zones_->generation();
  return std::exchange(zones_generation_, generation) != generation;
}

schedule_occurrence show(const core::occurrence& entry, const schedule::time_zone* zone) {
  schedule_occurrence shown;
  shown.number = entry.number;
  shown.when = show_time(entry.nominal, entry.at, zone);
  shown.decided_at = entry.decided_at;
  shown.cause = entry.cause;
  shown.state = entry.state;
  shown.count = entry.count;
  if (entry.task != 0)
    shown.task = task_id{entry.shard, entry.task};
  if (entry.ended_at != timestamp{})
    shown.ended_at = entry.ended_at;
  return shown;
}

} // namespace codeq::coordinator
