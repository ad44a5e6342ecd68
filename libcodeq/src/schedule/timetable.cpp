// SPDX-License-Identifier: Apache-2.0
#include "schedule/timetable.hpp"

#include <algorithm>
#include <utility>

namespace codeq::schedule {

namespace {

using std::chrono::seconds;

/// A hash that is the same in every version: FNV-1a, mixed so that near numbers differ in all bits.
std::uint64_t mix(std::uint64_t bits) {
  bits ^= bits >> 30;
  bits *= 0xbf58476d1ce4e5b9;
  bits ^= bits >> 27;
  bits *= 0x94d049bb133111eb;
  return bits ^ bits >> 31;
}

std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (auto byte : text)
    hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  return hash;
}

timestamp timestamp_of(sys_seconds when) {
  return timestamp{when.time_since_epoch()};
}

/// The first whole second at or after a time, within what is computed.
sys_seconds second_from(timestamp when) {
  auto limited = std::clamp(when, timestamp_of(computed_from), timestamp_of(horizon));
  return sys_seconds{std::chrono::ceil<seconds>(limited.time_since_epoch())};
}

/// The nominal time of an instant that a period names.
nominal_time utc_nominal(sys_seconds when) {
  local_seconds local{when.time_since_epoch()};
  return {local, local};
}

/// The first instant of a period at or after another one.
sys_seconds first_of_period(const period& fixed, sys_seconds from) {
  auto into = (from - fixed.anchor) % fixed.every;
  if (into < seconds{0})
    into += fixed.every;
  return into == seconds{0} ? from : from + (fixed.every - into);
}

} // namespace

timetable::timetable(rule r, zone_ptr zone, std::uint64_t seed)
  : rule_(std::move(r)), zone_(std::move(zone)), jitter_seed_(seed) {
  begin_ = rule_.start ? second_from(*rule_.start) : computed_from;
  end_ = rule_.end ? second_from(*rule_.end) : horizon;
}

result<timetable> timetable::make(rule r, zone_ptr zone, std::string_view name) {
  timetable made(std::move(r), std::move(zone), hash_of(name));
  if (made.match_from(made.begin_))
    return made;
  return error{
    errc::invalid_argument, "rule: `" + to_string(made.rule_)
                              + "` never fires: no time matches from "
                              + to_text(utc_nominal(made.begin_).local) + "Z to "
                              + to_text(utc_nominal(made.end_).local) + "Z"};
}

std::optional<timetable::match> timetable::match_from(sys_seconds from) const {
  from = std::max(from, begin_);
  if (from >= end_)
    return std::nullopt;
  std::optional<match> found;
  if (const auto* cron = std::get_if<cron_expression>(&rule_.when)) {
    found = zone_walk(*zone_, rule_.gap, rule_.fold).first(*cron, from, end_);
  } else {
    auto at = first_of_period(std::get<period>(rule_.when), from);
    found = match{utc_nominal(at), at};
  }
  return found && found->at < end_ ? found : std::nullopt;
}

std::optional<timetable::match> timetable::match_after(const nominal_time& mark) const {
  const auto* cron = std::get_if<cron_expression>(&rule_.when);
  if (!cron)
    return match_from(sys_seconds{limited(mark.local).time_since_epoch() + seconds{1}});
  zone_walk walk(*zone_, rule_.gap, rule_.fold);
  auto found = match_from(walk.earliest_from(mark));
  // The instant of the mark itself, and that of the gap that contains it.
  while (found && found->nominal <= mark)
    found = match_from(found->at + seconds{1});
  return found;
}

std::optional<timetable::match> timetable::match_before(sys_seconds until) const {
  until = std::min(until, end_);
  std::optional<match> found;
  for (seconds back{1}; !found; back *= 2) {
    auto from = std::max(begin_, until - std::min(back, until - begin_));
    found = match_from(from);
    if (found && found->at >= until)
      found.reset();
    if (from <= begin_ && !found)
      return std::nullopt;
  }
  auto after = until;
  while (after - found->at > seconds{1}) {
    auto middle = found->at + (after - found->at) / 2;
    auto later = match_from(std::max(middle, found->at + seconds{1}));
    if (later && later->at < until)
      found = later;
    else
      after = middle;
  }
  return found;
}

std::uint64_t timetable::count_matches(sys_seconds from, sys_seconds until) const {
  from = std::max(from, begin_);
  until = std::min(until, end_);
  if (from >= until)
    return 0;
  if (const auto* cron = std::get_if<cron_expression>(&rule_.when))
    return zone_walk(*zone_, rule_.gap, rule_.fold).count(*cron, from, until);
  const auto& fixed = std::get<period>(rule_.when);
  auto first = first_of_period(fixed, from);
  return first < until ? static_cast<std::uint64_t>((until - first - seconds{1}) / fixed.every) + 1
                       : 0;
}

occurrence timetable::to_occurrence(const match& each) const {
  auto due = timestamp_of(each.at);
  if (rule_.jitter == duration{0})
    return {each.nominal, due};
  auto next = match_from(each.at + seconds{1});
  auto limit = next ? timestamp_of(next->at) : rule_.end.value_or(timestamp_of(horizon));
  auto most = static_cast<std::uint64_t>(std::min(rule_.jitter, limit - due).count());
  auto late = mix(jitter_seed_ ^ mix(hash_of(encode(each.nominal)))) % most;
  return {each.nominal, due + duration{static_cast<duration::rep>(late)}};
}

std::optional<timetable::match> timetable::first_match_due_from(timestamp from) const {
  auto second = second_from(from);
  if (rule_.jitter != duration{0})
    if (auto before = match_before(second); before && to_occurrence(*before).due >= from)
      return before;
  return match_from(second);
}

std::optional<timetable::match> timetable::last_match_due_before(timestamp until) const {
  auto found = match_before(second_from(until));
  if (found && to_occurrence(*found).due >= until)
    found = match_before(found->at);
  return found;
}

nominal_time timetable::mark_at(timestamp now) const {
  sys_seconds second{std::chrono::floor<seconds>(now.time_since_epoch())};
  // With jitter the latest nominal time may not be due yet: it comes after the mark.
  if (rule_.jitter != duration{0})
    if (auto latest = match_before(second + seconds{1}); latest && to_occurrence(*latest).due > now)
      second = latest->at - seconds{1};
  if (!rule_.is_cron())
    return utc_nominal(second);
  return zone_walk(*zone_, rule_.gap, rule_.fold).nominal_at(second);
}

std::optional<occurrence> timetable::next_after(const nominal_time& mark) const {
  auto found = match_after(mark);
  return found ? std::optional(to_occurrence(*found)) : std::nullopt;
}

std::vector<occurrence> timetable::next_of(const nominal_time& mark, std::size_t number) const {
  std::vector<occurrence> found;
  for (auto each = match_after(mark); each && found.size() < number;
       each = match_from(each->at + seconds{1}))
    found.push_back(to_occurrence(*each));
  return found;
}

std::uint64_t timetable::count(timestamp from, timestamp until) const {
  auto first = first_match_due_from(from);
  auto last = last_match_due_before(until);
  return first && last ? count_matches(first->at, last->at + seconds{1}) : 0;
}

std::vector<occurrence>
timetable::last_of(timestamp from, timestamp until, std::size_t number) const {
  auto first = first_match_due_from(from);
  auto last = last_match_due_before(until);
  if (!first || !last || first->at > last->at || number == 0)
    return {};
  auto end = last->at + seconds{1};
  // Invariant: at least `number` from `low` on, or all there are; fewer from `high` on.
  auto low = first->at;
  auto high = end;
  while (high - low > seconds{1} && count_matches(low, end) > number) {
    auto middle = low + (high - low) / 2;
    (count_matches(middle, end) >= number ? low : high) = middle;
  }
  std::vector<occurrence> found;
  for (auto each = match_from(low); each && each->at < end;
       each = match_from(each->at + seconds{1}))
    found.push_back(to_occurrence(*each));
  return found;
}

std::vector<occurrence>
timetable::preview(timestamp from, std::size_t number, std::optional<timestamp> until) const {
  std::vector<occurrence> found;
  for (auto each = first_match_due_from(from); each && found.size() < number;
       each = match_from(each->at + seconds{1})) {
    auto next = to_occurrence(*each);
    if (until && next.due >= *until)
      break;
    found.push_back(next);
  }
  return found;
}

nominal_time mark_after_change(
  const timetable& before, const nominal_time& mark, const timetable& after, timestamp now) {
  if (before.source() == after.source())
    return mark;
  auto fresh = after.mark_at(now);
  const auto& old_rule = before.source();
  const auto& new_rule = after.source();
  bool is_same_clock = old_rule.is_cron() == new_rule.is_cron()
                       && (!new_rule.is_cron() || old_rule.zone == new_rule.zone);
  return is_same_clock ? std::max(mark, fresh) : fresh;
}

} // namespace codeq::schedule
