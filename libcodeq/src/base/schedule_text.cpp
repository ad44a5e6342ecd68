// SPDX-License-Identifier: Apache-2.0
#include "codeq/schedule.hpp"

#include "base/enum_names.hpp"

#include <algorithm>
#include <chrono>

namespace codeq {

std::string_view to_string(misfire_policy policy) noexcept {
  return base::name_of(policy, base::misfire_names);
}

std::string_view to_string(overlap_policy policy) noexcept {
  return base::name_of(policy, base::overlap_names);
}

std::string_view to_string(occurrence_cause cause) noexcept {
  switch (cause) {
  case occurrence_cause::due:
    return "due";
  case occurrence_cause::run_now:
    return "run_now";
  case occurrence_cause::backfill:
    return "backfill";
  }
  return "unknown";
}

std::string_view to_string(occurrence_state state) noexcept {
  switch (state) {
  case occurrence_state::running:
    return "running";
  case occurrence_state::completed:
    return "completed";
  case occurrence_state::dead:
    return "dead";
  case occurrence_state::cancelled:
    return "cancelled";
  case occurrence_state::ended:
    return "ended";
  case occurrence_state::skipped_overlap:
    return "skipped_overlap";
  case occurrence_state::skipped_misfire:
    return "skipped_misfire";
  case occurrence_state::waiting:
    return "waiting";
  }
  return "unknown";
}

std::string_view to_string(schedule_result result) noexcept {
  switch (result) {
  case schedule_result::unchanged:
    return "unchanged";
  case schedule_result::created:
    return "created";
  case schedule_result::changed:
    return "changed";
  case schedule_result::deleted:
    return "deleted";
  case schedule_result::fired:
    return "fired";
  }
  return "unknown";
}

namespace {

/// A length of time in its two largest units: `3 h 20 min`.
std::string length_text(duration length) {
  struct unit {
    duration size;
    const char* name;
  };
  using namespace std::chrono_literals;
  constexpr unit units[] = {{24h, " d"}, {1h, " h"}, {1min, " min"}, {1s, " s"}, {1ms, " ms"}};
  std::string text;
  int parts = 0;
  for (const auto& [size, name] : units) {
    auto count = length / size;
    if (count > 0 && parts < 2) {
      text += (text.empty() ? "" : " ") + std::to_string(count) + name;
      length -= count * size;
    }
    parts += text.empty() ? 0 : 1;
  }
  return text.empty() ? "0 ms" : text;
}

std::string latest_text(const schedule_occurrence& latest) {
  auto name = "the latest, of " + latest.when.nominal + ", ";
  switch (latest.state) {
  case occurrence_state::running:
    return name + "is running";
  case occurrence_state::completed:
    return name + "was completed";
  case occurrence_state::dead:
    return name + "is dead";
  case occurrence_state::cancelled:
    return name + "was cancelled";
  case occurrence_state::ended:
    return name + "has ended";
  case occurrence_state::skipped_overlap:
    return name + "was skipped because its predecessor had not ended";
  case occurrence_state::skipped_misfire:
    return name + "was skipped because it was too late";
  case occurrence_state::waiting:
    return name + "waits for the end of its predecessor";
  }
  return name + "is in an unknown state";
}

/// A rule without an end fires for ever.
bool has_end(std::string_view rule) {
  return rule.find("; end=") != rule.npos;
}

} // namespace

std::string explain(const schedule_info& schedule, timestamp now) {
  std::string text;
  if (schedule.paused)
    text = "paused, so it does not fire";
  else if (schedule.next.empty() && has_end(schedule.spec.rule))
    text = "does not fire any more";
  else if (schedule.next.empty())
    text = "cannot fire, because the coordinator does not know its time zone";
  else
    text = "next fire in " + length_text(std::max(duration{0}, schedule.next.front().at - now));
  if (!schedule.latest)
    return text + "; it has not fired yet";
  return text + "; " + latest_text(*schedule.latest);
}

} // namespace codeq
