// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/limits.hpp"
#include "codeq/time.hpp"

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string_view>

/// Declarations of the fields that a route accepts. A request is checked against them before the
/// route runs; no other code decides which fields and values are allowed.
namespace codeq::http {

/// The type of a field's value. In a query string every value is written as text.
enum class input_type : std::uint8_t {
  /// A string of at most `range.most` bytes.
  text,
  /// The name of a queue.
  queue,
  /// A whole number.
  integer,
  /// A whole number of seconds.
  seconds,
  /// A whole number of milliseconds.
  milliseconds,
  /// A string with a unit, such as `90s`; its range is in milliseconds.
  period,
  /// A time in RFC 3339.
  time,
  /// A time in RFC 3339 after 1970, or how long ago that is, such as `1h`.
  past,
  /// `true` or `false`.
  flag,
  /// One of the strings in `choices`.
  choice,
  /// Any JSON value of at most `range.most` bytes, passed on as its text.
  json,
  /// An object with `members`.
  object,
  /// An object whose members have any names and are strings. In a query string each member is a
  /// parameter of its own: `map.NAME=VALUE` or `map[NAME]=VALUE`.
  text_map,
  /// An array of strings.
  texts,
  /// An array of queue names.
  queues,
  /// An array of objects with `members`.
  objects,
  /// The same, but each element is refused on its own.
  items,
};

/// The range of a field: of a number's value, of the bytes of a string or JSON value, or of the
/// number of an array's elements.
struct input_range {
  std::int64_t least = 0;
  std::int64_t most = std::numeric_limits<std::int64_t>::max();
};

/// One field of a JSON object, or one parameter of a query string.
struct input_field {
  std::string_view name;
  input_type type = input_type::text;
  /// The field is another name of that one; a request may give only one of them.
  std::string_view same_as{};
  bool is_required = false;
  /// null and an empty text are refused; with other fields both count as not given.
  bool is_never_empty = false;
  /// An empty text is a value, which takes a setting away.
  bool takes_empty = false;
  /// Answers have this object with several names of one field, which may be sent back: members may
  /// give more than one name of a field if all say the same.
  bool takes_all_names = false;
  /// The number 0 counts as not given, and so does a time of type `past` that is not after 1970.
  bool zero_is_unset = false;
  input_range range{};
  /// Numbers outside of `range` but within this one count as the nearest one in `range`.
  std::optional<input_range> tolerated{};
  /// Numbers other than these are refused; empty allows all in `range`.
  std::span<const std::int64_t> numbers{};
  std::span<const std::string_view> choices{};
  std::span<const input_field> members{};
  /// Begins the refusal of a missing or bad value; `invalid command`.
  std::string_view refusal{};
  /// Begins the refusal of a value above `range.most` instead.
  std::string_view refusal_above{};
  /// The field is none of these; whoever gives it is told this, behind its name.
  std::string_view instead{};

  /// The name under which the value is read.
  [[nodiscard]] constexpr std::string_view canonical() const {
    return same_as.empty() ? name : same_as;
  }
};

/// The fields of a JSON object.
struct input_shape {
  std::span<const input_field> fields{};
  /// Begins the refusal of what is no such object.
  std::string_view refusal = "invalid body";
};

/// A range of durations, as `input_type::seconds` counts.
[[nodiscard]] constexpr input_range seconds_in(duration least, duration most) {
  return {least / std::chrono::seconds(1), most / std::chrono::seconds(1)};
}

/// The same for `input_type::milliseconds` and `input_type::period`.
[[nodiscard]] constexpr input_range milliseconds_in(duration least, duration most) {
  return {least.count(), most.count()};
}

/// Up to so many bytes or elements.
[[nodiscard]] constexpr input_range at_most(std::size_t most) {
  return {0, static_cast<std::int64_t>(most)};
}

} // namespace codeq::http
