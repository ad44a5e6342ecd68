// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"

#include <concepts>
#include <exception>
#include <string>
#include <string_view>

namespace codeq {

/// How values of type T are written into payloads and results, and read from them. `json_codec.hpp`
/// provides it for described structs, as JSON; specialise it for other types and formats:
///
///     template <>
///     struct codeq::codec<order> {
///       static std::string encode(const order& value);
///       static codeq::result<order> decode(std::string_view bytes);
///     };
///
/// An error of `decode` should be `invalid_argument` and name the field that cannot be read. Both
/// may throw; they are called from any thread.
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
  static_assert(has_codec<T>, "specialise codeq::codec<T>, or include codeq/json_codec.hpp");
  return codec<T>::encode(value);
}

/// The value that a payload or a result holds. Errors: those of the codec; `invalid_argument` with
/// the text of an exception that it throws.
template <class T>
[[nodiscard]] result<T> decode(std::string_view bytes) {
  static_assert(has_codec<T>, "specialise codeq::codec<T>, or include codeq/json_codec.hpp");
  try {
    return codec<T>::decode(bytes);
  } catch (const std::exception& e) {
    return error{errc::invalid_argument, e.what()};
  }
}

} // namespace codeq
