// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/operator_types.hpp"

#include "core/commands/event.hpp"

#include <string>
#include <string_view>

/// Decides which events of a task are noted in its history, in addition to the ordinary records:
/// all but the plain enqueue, lease and completion, so that an ordinary task needs no history. A
/// note is written together with its event, into a ring of `limits::history_events_max`.
namespace codeq::core {

/// Called before the end changes the entry; `next` is the state after it. After the first note
/// every further event is noted, too.
[[nodiscard]] constexpr bool is_noted(const task_entry& entry, const lease_end& e) noexcept {
  bool is_plain = e.kind == lease_end_kind::completed && e.next == task_state::completed;
  return entry.notes > 0 || !is_plain;
}

/// A purged task has no history any more.
[[nodiscard]] constexpr bool is_noted(change_kind kind) noexcept {
  return kind != change_kind::purged;
}

/// `next` is the requested state, before a pending cancellation was considered.
[[nodiscard]] task_event::kind event_of(lease_end_kind kind, task_state next) noexcept;
[[nodiscard]] task_event::kind event_of(change_kind kind) noexcept;

/// Who ended the lease.
[[nodiscard]] task_event::author author_of(lease_end_kind kind) noexcept;

/// The text as stored in a history: at most `limits::history_text_bytes_max`, including the mark
/// for a cut; UTF-8 characters are not split.
[[nodiscard]] std::string cut_for_history(std::string_view text);

} // namespace codeq::core
