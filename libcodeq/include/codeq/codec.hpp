// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"
#include "codeq/task.hpp"

#include <concepts>
#include <exception>
#include <string>
#include <string_view>
#include <type_traits>

namespace codeq {

/// How values of type T are written into payloads and results, and read from them. There are three
/// ways to give a type a codec:
///
/// - `std::string` has one: the text as it is.
/// - Include `codeq/json_codec.hpp` and describe the struct with `BOOST_DESCRIBE_STRUCT`: the bytes
///   are JSON. For a type that is no struct, such as `std::vector<order>`, also name the codec, in
///   the global namespace: `template <> struct codeq::codec<T> : codeq::json_codec<T> {};`
/// - For any other format, specialise it in the global namespace:
///
///       template <>
///       struct codeq::codec<order> {
///         static std::string encode(const order& value) { return value.id; }
///
///         static codeq::result<order> decode(std::string_view bytes) {
///           if (bytes.empty())
///             return codeq::error{codeq::errc::invalid_argument, "field `id` is empty"};
///           return order{std::string(bytes)};
///         }
///       };
///
/// An error of `decode` should be `invalid_argument` and name the field that cannot be read. Both
/// functions may throw, and any thread may call them.
template <class T>
struct codec;

/// Text as it is.
template <>
struct codec<std::string> {
  [[nodiscard]] static std::string encode(const std::string& value) { return value; }

  [[nodiscard]] static result<std::string> decode(std::string_view bytes) {
    return std::string(bytes);
  }
};

/// True for types that have a codec.
template <class T>
concept has_codec = requires(const T& value, std::string_view bytes) {
  { codec<T>::encode(value) } -> std::convertible_to<std::string>;
  { codec<T>::decode(bytes) } -> std::convertible_to<result<T>>;
};

/// The bytes of a value, for a payload or a result.
template <class T>
[[nodiscard]] std::string encode(const T& value) {
  static_assert(
    has_codec<T>,
    "this type has no codeq::codec: include codeq/json_codec.hpp and describe the struct with "
    "BOOST_DESCRIBE_STRUCT, or specialise codeq::codec (see codeq/codec.hpp)");
  if constexpr (has_codec<T>)
    return codec<T>::encode(value);
}

/// The value that a payload or a result holds. Errors: those of the codec; `invalid_argument` with
/// the text of an exception that it throws.
template <class T>
[[nodiscard]] result<T> decode(std::string_view bytes) {
  static_assert(
    has_codec<T>,
    "this type has no codeq::codec: include codeq/json_codec.hpp and describe the struct with "
    "BOOST_DESCRIBE_STRUCT, or specialise codeq::codec (see codeq/codec.hpp)");
  if constexpr (has_codec<T>) {
    try {
      return codec<T>::decode(bytes);
    } catch (const std::exception& e) {
      return error{errc::invalid_argument, e.what()};
    }
  }
}

namespace detail {

/// How a task ended that has no result.
[[nodiscard]] inline error not_completed(const ended_task& ended) {
  std::string text =
    ended.state == task_state::cancelled ? "the task was cancelled" : "the task is dead";
  if (!ended.error_text.empty())
    text += ": " + ended.error_text;
  return {errc::not_completed, text};
}

} // namespace detail

/// The value that a completed task has as its result; with `void` only whether it was completed.
/// Errors: `not_completed` with the task's error text when it is dead or was cancelled; those of
/// `decode`, with `result: ` before their text.
template <class T>
[[nodiscard]] result<T> result_of(const ended_task& ended) {
  if (ended.state != task_state::completed)
    return detail::not_completed(ended);
  if constexpr (std::is_void_v<T>) {
    return {};
  } else {
    auto value = decode<T>(ended.result);
    if (!value)
      return error{value.error().code, "result: " + value.error().context};
    return value;
  }
}

/// The same for the answer of `producer::await` or `watch`, whose errors it passes on:
/// `codeq::result_of<receipt>(producer.await(id, wait))`.
template <class T>
[[nodiscard]] result<T> result_of(const result<ended_task>& ended) {
  if (!ended)
    return ended.error();
  return result_of<T>(*ended);
}

} // namespace codeq
