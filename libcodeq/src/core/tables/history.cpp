// SPDX-License-Identifier: Apache-2.0
#include "core/tables/history.hpp"

#include "codeq/limits.hpp"

#include <algorithm>

namespace codeq::core {

task_event::kind event_of(lease_end_kind kind, task_state next) noexcept {
  switch (kind) {
  case lease_end_kind::completed:
    return task_event::kind::completed;
  case lease_end_kind::failed:
    return task_event::kind::failed;
  case lease_end_kind::failed_permanently:
    return task_event::kind::failed_permanently;
  case lease_end_kind::nacked:
    return task_event::kind::nacked;
  case lease_end_kind::abandoned:
    return task_event::kind::abandoned;
  case lease_end_kind::expired:
    return task_event::kind::lost;
  case lease_end_kind::revoked:
    return task_event::kind::revoked;
  case lease_end_kind::cancelled:
    return task_event::kind::cancelled;
  case lease_end_kind::timed_out:
    return task_event::kind::timed_out;
  case lease_end_kind::limited:
    return task_event::kind::limited;
  case lease_end_kind::forced:
    break;
  }
  if (next == task_state::completed)
    return task_event::kind::forced_to_complete;
  return next == task_state::dead ? task_event::kind::forced_to_fail : task_event::kind::revoked;
}

task_event::kind event_of(change_kind kind) noexcept {
  switch (kind) {
  case change_kind::cancel_requested:
    return task_event::kind::cancel_requested;
  case change_kind::rescheduled:
    return task_event::kind::rescheduled;
  case change_kind::redriven:
    return task_event::kind::redriven;
  case change_kind::body_replaced:
    return task_event::kind::payload_replaced;
  case change_kind::cancelled:
  case change_kind::purged:
    break;
  }
  return task_event::kind::cancelled;
}

task_event::author author_of(lease_end_kind kind) noexcept {
  switch (kind) {
  case lease_end_kind::expired:
  case lease_end_kind::revoked:
  case lease_end_kind::timed_out:
    return task_event::author::coordinator;
  case lease_end_kind::forced:
    return task_event::author::operator_user;
  case lease_end_kind::completed:
  case lease_end_kind::failed:
  case lease_end_kind::failed_permanently:
  case lease_end_kind::nacked:
  case lease_end_kind::abandoned:
  case lease_end_kind::cancelled:
  case lease_end_kind::limited:
    break;
  }
  return task_event::author::worker;
}

std::string cut_for_history(std::string_view text) {
  return cut_text(text, limits::history_text_bytes_max);
}

std::string cut_text(std::string_view text, std::size_t bytes_max) {
  if (text.size() <= bytes_max)
    return std::string(text);
  auto mark = "... [cut from " + std::to_string(text.size()) + " bytes]";
  constexpr std::size_t continuation_bytes_max = 3;
  auto size = bytes_max - mark.size();
  auto least = size - continuation_bytes_max;
  auto is_inside = [&] { return (static_cast<unsigned char>(text[size]) & 0xc0) == 0x80; };
  while (size > least && is_inside())
    --size;
  return std::string(text.substr(0, size)) + mark;
}

} // namespace codeq::core
