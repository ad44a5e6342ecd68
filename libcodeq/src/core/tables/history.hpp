// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/operator_types.hpp"

#include "core/commands/event.hpp"

#include <cstddef>
#include <string>
#include <string_view>

/// Decides which events of a task are noted in its history, in addition to the ordinary records:
/// all but the enqueue, lease and completion, so that an ordinary task needs no history. A note is
/// written together with its event, into a ring of `limits::history_events_max`.
namespace codeq::core {

/// Maximum number of tasks that one entry is about, so that few records are read to find the entry
/// that a task shares. As many neighbours share the jitter of their first retry.
inline constexpr std::uint32_t shared_note_tasks_max = 16;

/// A completion ends a task's timeline, and its ordinary record says all of it.
[[nodiscard]] constexpr bool is_noted(lease_end_kind kind) noexcept {
  return kind != lease_end_kind::completed;
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

/// A text cut to at most `bytes_max`, including the mark for a cut; UTF-8 characters are not split.
/// @pre bytes_max >= 64
[[nodiscard]] std::string cut_text(std::string_view text, std::size_t bytes_max);

/// The text as stored in a history: at most `limits::history_text_bytes_max`, including the mark
/// for a cut; UTF-8 characters are not split.
[[nodiscard]] std::string cut_for_history(std::string_view text);

} // namespace codeq::core
