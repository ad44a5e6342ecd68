// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/task.hpp"

#include "core/commands/change_event.hpp"
#include "core/commands/lease_end_kind.hpp"
#include "protocol.capnp.h"
#include "record.capnp.h"
#include "task.capnp.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

/// The enums that exist both in C++ and in the schema. Each has one table, here or in
/// `operator_enums.hpp`, which is checked at compile time; no other file casts between the two. A
/// test checks that the tables contain every name of the schema.
namespace codeq::encoding {

/// Two names for one value.
template <class Enum, class Schema>
struct same_value {
  Enum ours;
  Schema theirs;
};

/// The enumerators of `Enum` and those of its schema enum, in the order of their numbers.
template <class Enum>
struct names_of;

template <>
struct names_of<task_state> {
  using ours = task_state;
  using theirs = schema::TaskState;
  static constexpr same_value<ours, theirs> all[] = {
    {ours::scheduled, theirs::SCHEDULED},
    {ours::gated, theirs::GATED},
    {ours::ready, theirs::READY},
    {ours::leased, theirs::LEASED},
    {ours::completed, theirs::COMPLETED},
    {ours::dead, theirs::DEAD},
    {ours::cancelled, theirs::CANCELLED}};
};

template <>
struct names_of<retry_kind> {
  using ours = retry_kind;
  using theirs = schema::RetryKind;
  static constexpr same_value<ours, theirs> all[] = {
    {ours::fixed, theirs::FIXED},
    {ours::linear, theirs::LINEAR},
    {ours::exponential, theirs::EXPONENTIAL},
    {ours::exponential_jitter, theirs::EXPONENTIAL_JITTER}};
};

template <>
struct names_of<on_dead> {
  using ours = on_dead;
  using theirs = schema::OnDead;
  static constexpr same_value<ours, theirs> all[] = {
    {ours::skip, theirs::SKIP}, {ours::block, theirs::BLOCK}};
};

template <>
struct names_of<on_duplicate> {
  using ours = on_duplicate;
  using theirs = schema::OnDuplicate;
  static constexpr same_value<ours, theirs> all[] = {
    {ours::existing, theirs::EXISTING},
    {ours::reject, theirs::REJECT},
    {ours::defer, theirs::DEFER},
    {ours::promote, theirs::PROMOTE},
    {ours::replace_ended, theirs::REPLACE_ENDED}};
};

template <>
struct names_of<disposition> {
  using ours = disposition;
  using theirs = schema::Disposition;
  static constexpr same_value<ours, theirs> all[] = {
    {ours::completed, theirs::COMPLETED},
    {ours::failed, theirs::FAILED},
    {ours::failed_permanently, theirs::FAILED_PERMANENTLY},
    {ours::nack, theirs::NACK},
    {ours::abandon, theirs::ABANDON},
    {ours::cancelled, theirs::CANCELLED},
    {ours::limited, theirs::LIMITED}};
};

template <>
struct names_of<core::lease_end_kind> {
  using ours = core::lease_end_kind;
  using theirs = schema::LeaseEndKind;
  static constexpr same_value<ours, theirs> all[] = {
    {ours::completed, theirs::COMPLETED},
    {ours::failed, theirs::FAILED},
    {ours::failed_permanently, theirs::FAILED_PERMANENTLY},
    {ours::nacked, theirs::NACKED},
    {ours::abandoned, theirs::ABANDONED},
    {ours::expired, theirs::EXPIRED},
    {ours::revoked, theirs::REVOKED},
    {ours::cancelled, theirs::CANCELLED},
    {ours::timed_out, theirs::TIMED_OUT},
    {ours::forced, theirs::FORCED},
    {ours::limited, theirs::LIMITED}};
};

template <>
struct names_of<core::change_kind> {
  using ours = core::change_kind;
  using theirs = schema::ChangeKind;
  static constexpr same_value<ours, theirs> all[] = {
    {ours::cancelled, theirs::CANCELLED},
    {ours::cancel_requested, theirs::CANCEL_REQUESTED},
    {ours::rescheduled, theirs::RESCHEDULED},
    {ours::redriven, theirs::REDRIVEN},
    {ours::purged, theirs::PURGED},
    {ours::body_replaced, theirs::BODY_REPLACED}};
};

template <class Enum>
using schema_enum = typename names_of<Enum>::theirs;

/// Number of enumerators of `Enum`; their values are 0 .. enum_size - 1.
template <class Enum>
inline constexpr std::size_t enum_size = std::size(names_of<Enum>::all);

/// True when both enumerators of each entry have the entry's index as their value.
template <class Enum>
[[nodiscard]] consteval bool numbers_agree() {
  std::size_t number = 0;
  for (const auto& [ours, theirs] : names_of<Enum>::all) {
    if (static_cast<std::size_t>(ours) != number || static_cast<std::size_t>(theirs) != number)
      return false;
    ++number;
  }
  return true;
}

template <class Enum>
[[nodiscard]] constexpr schema_enum<Enum> to_schema(Enum value) noexcept {
  static_assert(numbers_agree<Enum>());
  return static_cast<schema_enum<Enum>>(value);
}

/// False for an enumerator of a later version.
template <class Enum>
[[nodiscard]] constexpr bool is_known(schema_enum<Enum> value) noexcept {
  return static_cast<std::size_t>(value) < enum_size<Enum>;
}

/// The enumerator with the same number. Unless it `is_known`, the result is a value without a name,
/// never an enumerator with a smaller number.
template <class Enum>
[[nodiscard]] constexpr Enum from_schema(schema_enum<Enum> value) noexcept {
  static_assert(numbers_agree<Enum>() && sizeof(Enum) == 1 && enum_size<Enum> < 0xff);
  return static_cast<Enum>(std::min(static_cast<unsigned>(value), 0xffu));
}

} // namespace codeq::encoding
