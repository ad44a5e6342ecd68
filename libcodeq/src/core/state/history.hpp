// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/operator_types.hpp"

#include "core/commands/event.hpp"

#include <string>
#include <string_view>

/// What of a task's life is noted in its history, beside the records that everything is in: all
/// but the plain enqueue, lease and completion, so that a task to which nothing happens costs
/// nothing. A note is written with what it tells of, into a ring of `limits::history_events_max`.
namespace codeq::core {

/// Decided before the end changes the entry, with `next` as it comes to be. What follows a note is
/// noted as well, however plain.
[[nodiscard]] constexpr bool is_noted(const task_entry& entry, const lease_end& e) noexcept {
  bool is_plain = e.kind == lease_end_kind::completed && e.next == task_state::completed;
  return entry.notes > 0 || !is_plain;
}

/// A task that is purged has no history any more.
[[nodiscard]] constexpr bool is_noted(change_kind kind) noexcept {
  return kind != change_kind::purged;
}

/// `next` as the end was asked for, before a pending cancel had its say.
[[nodiscard]] task_event::kind event_of(lease_end_kind kind, task_state next) noexcept;
[[nodiscard]] task_event::kind event_of(change_kind kind) noexcept;

/// Who ended the lease.
[[nodiscard]] task_event::author author_of(lease_end_kind kind) noexcept;

/// The text as a history keeps it: at most `limits::history_text_bytes_max` with the mark that says
/// so, and no letter of UTF-8 cut in two.
[[nodiscard]] std::string cut_for_history(std::string_view text);

} // namespace codeq::core
