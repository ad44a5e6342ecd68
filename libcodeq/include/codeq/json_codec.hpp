// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/codec.hpp"

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <exception>
#include <limits>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <boost/describe.hpp>
#include <boost/json.hpp>
#include <boost/mp11/algorithm.hpp>
#include <boost/system/system_error.hpp>

/// Types as JSON, with Boost.JSON: the only public header that includes Boost. Link
/// `codeq::json_codec`. A struct is an object with a field for each described member; the structs
/// and enums of its members have to be described, too:
///
///     struct order {
///       std::string id;
///       std::vector<int> amounts;
///       std::optional<std::string> note;
///     };
///     BOOST_DESCRIBE_STRUCT(order, (), (id, amounts, note))
///
/// Members may be booleans, numbers, strings, described enums (as their names) and structs,
/// `boost::json::value`, and `std::optional`, `std::vector` and `std::map<std::string, T>` of
/// those; for other types, `boost::json::value_from` and `value_to` are used. A field is required
/// unless it is optional; an empty optional is not written. Unknown fields are ignored, so that
/// producers may be newer than handlers.
namespace codeq {

namespace detail {

/// Where a value is within a document: a field or an element of its parent. The root has none.
struct json_place {
  const json_place* parent = nullptr;
  std::string_view field{};
  std::size_t index = 0;
};

/// For example `lines[2].amount`; empty for the root.
[[nodiscard]] inline std::string to_string(const json_place& place) {
  if (place.parent == nullptr)
    return {};
  auto before = to_string(*place.parent);
  if (place.field.empty())
    return before + "[" + std::to_string(place.index) + "]";
  return before + (before.empty() ? "" : ".") + std::string(place.field);
}

/// The refusal of the value at `place`, for example "field `amount` is missing".
[[nodiscard]] inline error json_refusal(const json_place& place, const std::string& why) {
  auto name = to_string(place);
  return {
    errc::invalid_argument, (name.empty() ? "the JSON value" : "field `" + name + "`") + " " + why};
}

/// The exception for a value at `place` that cannot be written.
[[nodiscard]] inline std::invalid_argument
json_unwritable(const json_place& place, const std::string& why) {
  return std::invalid_argument(json_refusal(place, why).context);
}

/// The kind of a value in words.
[[nodiscard]] inline std::string_view json_kind(const boost::json::value& value) {
  switch (value.kind()) {
  case boost::json::kind::null:
    return "null";
  case boost::json::kind::bool_:
    return "a boolean";
  case boost::json::kind::int64:
  case boost::json::kind::uint64:
    return "an integer";
  case boost::json::kind::double_:
    return "a fraction";
  case boost::json::kind::string:
    return "a string";
  case boost::json::kind::array:
    return "an array";
  case boost::json::kind::object:
    return "an object";
  }
  return "unknown";
}

/// The value itself if it is short, otherwise its kind.
[[nodiscard]] inline std::string json_excerpt(const boost::json::value& value) {
  constexpr std::size_t shown_max = 64;
  auto text = boost::json::serialize(value);
  return text.size() <= shown_max ? text : std::string(json_kind(value));
}

/// The refusal of a value of the wrong kind.
[[nodiscard]] inline error
json_mismatch(const json_place& place, const boost::json::value& found, const std::string& wanted) {
  return json_refusal(place, "is " + std::string(json_kind(found)) + "; it must be " + wanted);
}

template <class T>
concept described_struct = std::is_class_v<T> && boost::describe::has_describe_members<T>::value;

template <class T>
concept described_enum = std::is_enum_v<T> && boost::describe::has_describe_enumerators<T>::value;

template <class T>
using json_members = boost::describe::
  describe_members<T, boost::describe::mod_public | boost::describe::mod_inherited>;

template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;

template <class T>
inline constexpr bool is_vector = false;
template <class T>
inline constexpr bool is_vector<std::vector<T>> = true;

template <class T>
inline constexpr bool is_map = false;
template <class T>
inline constexpr bool is_map<std::map<std::string, T>> = true;

template <class T>
[[nodiscard]] result<void>
read_json(const boost::json::value& from, T& to, const json_place& place);

template <std::integral T>
[[nodiscard]] result<void>
read_integer(const boost::json::value& from, T& to, const json_place& place) {
  auto take = [&](auto number) -> result<void> {
    if (!std::in_range<T>(number))
      return json_refusal(
        place,
        "is " + std::to_string(number) + "; it must be "
          + std::to_string(std::numeric_limits<T>::min()) + ".."
          + std::to_string(std::numeric_limits<T>::max()));
    to = static_cast<T>(number);
    return {};
  };
  if (const auto* number = from.if_int64())
    return take(*number);
  if (const auto* number = from.if_uint64())
    return take(*number);
  return json_mismatch(place, from, "an integer");
}

template <std::floating_point T>
[[nodiscard]] result<void>
read_fraction(const boost::json::value& from, T& to, const json_place& place) {
  if (!from.is_number())
    return json_mismatch(place, from, "a number");
  auto number = from.to_number<double>();
  constexpr double most = std::numeric_limits<T>::max();
  if (std::abs(number) > most) {
    auto bound = boost::json::serialize(boost::json::value(most));
    return json_refusal(
      place, "is " + json_excerpt(from) + "; it must be -" + bound + ".." + bound);
  }
  to = static_cast<T>(number);
  return {};
}

template <described_enum T>
[[nodiscard]] result<void>
read_enum(const boost::json::value& from, T& to, const json_place& place) {
  const auto* given = from.if_string();
  bool is_known = false;
  std::string names;
  boost::mp11::mp_for_each<boost::describe::describe_enumerators<T>>([&](auto known) {
    if (given != nullptr && std::string_view(*given) == known.name) {
      to = known.value;
      is_known = true;
    }
    names += (names.empty() ? "" : ", ") + std::string(known.name);
  });
  if (is_known)
    return {};
  return json_refusal(place, "is " + json_excerpt(from) + "; it must be one of " + names);
}

template <class T>
[[nodiscard]] result<void>
read_elements(const boost::json::value& from, std::vector<T>& to, const json_place& place) {
  const auto* array = from.if_array();
  if (array == nullptr)
    return json_mismatch(place, from, "an array");
  to.clear();
  for (std::size_t i = 0; i < array->size(); ++i) {
    T element{};
    if (auto ok = read_json((*array)[i], element, {&place, {}, i}); !ok)
      return ok;
    to.push_back(std::move(element));
  }
  return {};
}

template <class T>
[[nodiscard]] result<void>
read_fields(const boost::json::value& from, std::map<std::string, T>& to, const json_place& place) {
  const auto* object = from.if_object();
  if (object == nullptr)
    return json_mismatch(place, from, "an object");
  to.clear();
  for (const auto& [key, value] : *object)
    if (auto ok = read_json(value, to[std::string(key)], {&place, std::string_view(key)}); !ok)
      return ok;
  return {};
}

template <described_struct T>
[[nodiscard]] result<void>
read_struct(const boost::json::value& from, T& to, const json_place& place) {
  const auto* object = from.if_object();
  if (object == nullptr)
    return json_mismatch(place, from, "an object");
  result<void> ok;
  boost::mp11::mp_for_each<json_members<T>>([&](auto member) {
    if (!ok)
      return;
    auto& field = to.*member.pointer;
    const json_place at{&place, member.name};
    const auto* value = object->if_contains(member.name);
    if (value != nullptr)
      ok = read_json(*value, field, at);
    else if (!is_optional<std::remove_cvref_t<decltype(field)>>)
      ok = json_refusal(at, "is missing");
  });
  return ok;
}

/// For types that have conversions of their own.
template <class T>
[[nodiscard]] result<void>
read_other(const boost::json::value& from, T& to, const json_place& place) {
  static_assert(
    boost::json::has_value_to<T>::value,
    "describe this type with BOOST_DESCRIBE_STRUCT or BOOST_DESCRIBE_ENUM, or give it Boost.JSON's "
    "value_to");
  try {
    to = boost::json::value_to<T>(from);
    return {};
  } catch (const boost::system::system_error& e) {
    return json_refusal(place, "cannot be read: " + e.code().message());
  } catch (const std::exception& e) {
    return json_refusal(place, std::string("cannot be read: ") + e.what());
  }
}

template <class T>
result<void> read_json(const boost::json::value& from, T& to, const json_place& place) {
  if constexpr (std::is_same_v<T, boost::json::value>) {
    to = from;
  } else if constexpr (std::is_same_v<T, bool>) {
    if (!from.is_bool())
      return json_mismatch(place, from, "true or false");
    to = from.get_bool();
  } else if constexpr (std::is_integral_v<T>) {
    return read_integer(from, to, place);
  } else if constexpr (std::is_floating_point_v<T>) {
    return read_fraction(from, to, place);
  } else if constexpr (std::is_same_v<T, std::string>) {
    if (!from.is_string())
      return json_mismatch(place, from, "a string");
    to = std::string(std::string_view(from.get_string()));
  } else if constexpr (described_enum<T>) {
    return read_enum(from, to, place);
  } else if constexpr (is_optional<T>) {
    to.reset();
    return from.is_null() ? result<void>() : read_json(from, to.emplace(), place);
  } else if constexpr (is_vector<T>) {
    return read_elements(from, to, place);
  } else if constexpr (is_map<T>) {
    return read_fields(from, to, place);
  } else if constexpr (described_struct<T>) {
    return read_struct(from, to, place);
  } else {
    return read_other(from, to, place);
  }
  return {};
}

template <class T>
[[nodiscard]] boost::json::value write_json(const T& from, const json_place& place);

template <class T>
[[nodiscard]] boost::json::array write_elements(const T& from, const json_place& place) {
  boost::json::array array;
  array.reserve(from.size());
  for (const auto& element : from)
    array.push_back(write_json(element, {&place, {}, array.size()}));
  return array;
}

template <class T>
[[nodiscard]] boost::json::object write_fields(const T& from, const json_place& place) {
  boost::json::object object;
  for (const auto& [key, value] : from)
    object.emplace(key, write_json(value, {&place, key}));
  return object;
}

template <described_struct T>
[[nodiscard]] boost::json::object write_struct(const T& from, const json_place& place) {
  boost::json::object object;
  boost::mp11::mp_for_each<json_members<T>>([&](auto member) {
    const auto& field = from.*member.pointer;
    auto value = write_json(field, {&place, member.name});
    if (!is_optional<std::remove_cvref_t<decltype(field)>> || !value.is_null())
      object.emplace(member.name, std::move(value));
  });
  return object;
}

template <class T>
boost::json::value write_json(const T& from, const json_place& place) {
  if constexpr (std::is_floating_point_v<T>) {
    if (!std::isfinite(from))
      throw json_unwritable(place, "is not finite, and JSON has no such number");
    return boost::json::value(static_cast<double>(from));
  } else if constexpr (described_enum<T>) {
    const char* name = boost::describe::enum_to_string(from, nullptr);
    if (name == nullptr)
      throw json_unwritable(place, "is an enumerator without a name");
    return boost::json::string(name);
  } else if constexpr (is_optional<T>) {
    return from ? write_json(*from, place) : boost::json::value();
  } else if constexpr (is_vector<T>) {
    return write_elements(from, place);
  } else if constexpr (is_map<T>) {
    return write_fields(from, place);
  } else if constexpr (described_struct<T>) {
    return write_struct(from, place);
  } else {
    static_assert(
      boost::json::has_value_from<T>::value,
      "describe this type with BOOST_DESCRIBE_STRUCT or BOOST_DESCRIBE_ENUM, or give it "
      "Boost.JSON's value_from");
    return boost::json::value_from(from);
  }
}

/// The text as a value. Errors: `invalid_argument` names the line and column of a syntax error.
[[nodiscard]] inline result<boost::json::value> parse_json(std::string_view text) {
  boost::json::stream_parser parser;
  boost::json::error_code problem;
  auto read = parser.write_some(text.data(), text.size(), problem);
  if (!problem && !parser.done())
    parser.finish(problem);
  if (!problem && read == text.size())
    return parser.release();
  auto before = text.substr(0, read);
  auto line = 1 + std::count(before.begin(), before.end(), '\n');
  // npos + 1 is 0, so the first line needs no case of its own.
  auto column = before.size() - (before.rfind('\n') + 1) + 1;
  return error{
    errc::invalid_argument,
    "not JSON: " + (problem ? problem.message() : std::string("extra data")) + " at line "
      + std::to_string(line) + ", column " + std::to_string(column)};
}

} // namespace detail

/// A codec that reads and writes JSON. It is the `codec` of described structs; for other types
/// name it: `template <> struct codeq::codec<T> : codeq::json_codec<T> {};`.
template <class T>
struct json_codec {
  /// @throws std::invalid_argument for a number that is not finite and an enumerator without a
  /// name; it names the field
  [[nodiscard]] static std::string encode(const T& value) {
    return boost::json::serialize(detail::write_json(value, {}));
  }

  /// Errors: `invalid_argument` names the line and column of a syntax error, or the field that is
  /// missing, of another type or out of range.
  [[nodiscard]] static result<T> decode(std::string_view bytes) {
    if (bytes.find_first_not_of(" \t\r\n") == bytes.npos)
      return error{errc::invalid_argument, "empty; it must be JSON"};
    auto parsed = detail::parse_json(bytes);
    if (!parsed)
      return parsed.error();
    T value{};
    if (auto ok = detail::read_json(*parsed, value, {}); !ok)
      return ok.error();
    return value;
  }
};

template <detail::described_struct T>
struct codec<T> : json_codec<T> {};

} // namespace codeq
