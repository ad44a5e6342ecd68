// SPDX-License-Identifier: Apache-2.0

#include "codeq/result.hpp"
#include "codeq/task.hpp"

#include "base/enum_names.hpp"

namespace codeq {

std::string_view to_string(errc code) noexcept {
  switch (code) {
  case errc::none:
    return "none";
  case errc::invalid_argument:
    return "invalid_argument";
  case errc::too_large:
    return "too_large";
  case errc::protocol_error:
    return "protocol_error";
  case errc::unauthorized:
    return "unauthorized";
  case errc::unsupported:
    return "unsupported";
  case errc::stale_lease:
    return "stale_lease";
  case errc::unknown_task:
    return "unknown_task";
  case errc::duplicate:
    return "duplicate";
  case errc::unknown_queue:
    return "unknown_queue";
  case errc::unknown_schedule:
    return "unknown_schedule";
  case errc::unknown_limit:
    return "unknown_limit";
  case errc::not_completed:
    return "not_completed";
  case errc::key_taken:
    return "key_taken";
  case errc::session_expired:
    return "session_expired";
  case errc::name_in_use:
    return "name_in_use";
  case errc::superseded:
    return "superseded";
  case errc::already:
    return "already";
  case errc::overloaded:
    return "overloaded";
  case errc::queue_full:
    return "queue_full";
  case errc::going_away:
    return "going_away";
  case errc::disconnected:
    return "disconnected";
  case errc::timeout:
    return "timeout";
  case errc::disk_full:
    return "disk_full";
  case errc::not_owner:
    return "not_owner";
  case errc::io_error:
    return "io_error";
  case errc::corruption:
    return "corruption";
  case errc::incompatible_store:
    return "incompatible_store";
  case errc::unavailable:
    return "unavailable";
  }
  return "unknown_code";
}

std::string to_string(const error& e) {
  std::string text{to_string(e.code)};
  if (!e.context.empty())
    text.append(": ").append(e.context);
  return text;
}

std::string_view to_string(task_state state) noexcept {
  return base::name_of(state, base::state_names, "unknown_state");
}

std::string_view to_string(enqueue_kind kind) noexcept {
  switch (kind) {
  case enqueue_kind::created:
    return "created";
  case enqueue_kind::existing:
    return "existing";
  case enqueue_kind::deferred:
    return "deferred";
  case enqueue_kind::promoted:
    return "promoted";
  case enqueue_kind::unchanged:
    return "unchanged";
  case enqueue_kind::running:
    return "running";
  case enqueue_kind::duplicate:
    return "duplicate";
  }
  return "unknown";
}

std::string_view to_string(change_result what) noexcept {
  switch (what) {
  case change_result::changed:
    return "changed";
  case change_result::requested:
    return "requested";
  case change_result::unchanged:
    return "unchanged";
  case change_result::guarded:
    return "guarded";
  case change_result::key_taken:
    return "key_taken";
  case change_result::not_found:
    return "not_found";
  }
  return "unknown_outcome";
}

} // namespace codeq
