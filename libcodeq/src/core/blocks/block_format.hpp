// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/blocks/packed_numbers.hpp"
#include "core/commands/event.hpp"
#include "core/commands/queue_settings.hpp"

#include <cstdint>
#include <string>

/// Constants shared by builder and reader of blocks. Stored on disk, never renumber.
namespace codeq::core::block_format {

// Marks of a segment's head: what is as in the head of the segment before. Seven, so that they take
// one byte.

/// The segment begins where the one before ends.
inline constexpr std::uint64_t follows_directly = 1;
inline constexpr std::uint64_t has_same_count = 2;
inline constexpr std::uint64_t has_same_kind = 4;
inline constexpr std::uint64_t has_same_flags = 8;
inline constexpr std::uint64_t has_same_enqueue_time = 16;
inline constexpr std::uint64_t has_same_position = 32;
inline constexpr std::uint64_t has_same_body_bytes = 64;

// Flags of a segment.

inline constexpr std::uint64_t is_aside = 1;
inline constexpr std::uint64_t is_touched = 2;
inline constexpr std::uint64_t is_deferred = 4;
inline constexpr std::uint64_t allows_promotion = 8;
inline constexpr std::uint64_t has_group = 16;
inline constexpr std::uint64_t has_key = 32;
inline constexpr std::uint64_t is_replaced = 64;
inline constexpr std::uint64_t is_copied = 128;
inline constexpr std::uint64_t has_fairness = 256;
inline constexpr std::uint64_t has_limits = 512;

/// True when more than the head is stored of a segment with these flags.
[[nodiscard]] constexpr bool has_details(std::uint64_t flags) noexcept {
  constexpr auto detailed =
    is_touched | is_deferred | has_group | has_key | has_fairness | has_limits;
  return (flags & detailed) != 0;
}

// Flags of an entry. It is compared with the previous entry of its segment; the first one is
// compared with the typical entry.

/// The task is unchanged since its enqueue; no numbers follow.
inline constexpr std::uint64_t is_fresh = 1;
/// The task was never leased, has not ended and does not wait for a retry: the token, outcome and
/// time do not follow.
inline constexpr std::uint64_t is_unleased = 2;
inline constexpr std::uint64_t has_same_shape = 4;
inline constexpr std::uint64_t has_next_token = 8;
inline constexpr std::uint64_t has_same_outcome = 16;
inline constexpr std::uint64_t has_next_index = 32;
inline constexpr std::uint64_t has_same_time = 64;

// Flags that share a number with the state.

inline constexpr std::uint64_t state_mask = 7;
inline constexpr std::uint64_t is_cancelling = 8;
inline constexpr std::uint64_t is_gone = 16;

/// Compares all fields except token, outcome and time.
[[nodiscard]] constexpr bool same_shape(const task_entry& a, const task_entry& b) noexcept {
  return a.notes == b.notes && a.attempt == b.attempt && a.state == b.state
         && a.last_end == b.last_end && a.lost == b.lost && a.refunds == b.refunds
         && a.cancelling == b.cancelling && a.gone == b.gone;
}

inline void copy_shape(task_entry& to, const task_entry& from) {
  to.notes = from.notes;
  to.attempt = from.attempt;
  to.state = from.state;
  to.last_end = from.last_end;
  to.lost = from.lost;
  to.refunds = from.refunds;
  to.cancelling = from.cancelling;
  to.gone = from.gone;
}

inline void copy_numbers(task_entry& to, const task_entry& from) {
  to.token = from.token;
  to.outcome = from.outcome;
  to.outcome_index = from.outcome_index;
  to.retry_at = from.retry_at;
}

[[nodiscard]] constexpr std::uint64_t number_of(timestamp t) noexcept {
  return static_cast<std::uint64_t>(t.time_since_epoch().count());
}

[[nodiscard]] constexpr std::uint64_t number_of(duration d) noexcept {
  return static_cast<std::uint64_t>(d.count());
}

[[nodiscard]] constexpr duration duration_of(std::uint64_t number) noexcept {
  return duration{static_cast<duration::rep>(number)};
}

[[nodiscard]] constexpr timestamp time_of(std::uint64_t number) noexcept {
  return timestamp{duration_of(number)};
}

} // namespace codeq::core::block_format
