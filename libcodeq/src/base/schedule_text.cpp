// SPDX-License-Identifier: Apache-2.0
#include "codeq/schedule.hpp"

namespace codeq {

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

} // namespace codeq
