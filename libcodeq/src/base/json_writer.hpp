// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace codeq::base {

/// Writes a JSON text from left to right. The caller has to balance objects and arrays, and to
/// write a key before each value of an object.
class json_writer {
public:
  json_writer& begin_object() { return open('{'); }

  json_writer& begin_object(std::string_view name) { return key(name).begin_object(); }

  json_writer& end_object() { return close('}'); }

  json_writer& begin_array() { return open('['); }

  json_writer& begin_array(std::string_view name) { return key(name).begin_array(); }

  json_writer& end_array() { return close(']'); }

  json_writer& key(std::string_view name);

  // Values.
  json_writer& text(std::string_view value);
  json_writer& number(std::int64_t value);
  json_writer& number(std::uint64_t value);
  json_writer& flag(bool value);
  json_writer& null();

  /// A value that is already JSON.
  json_writer& raw(std::string_view json);

  // A key and its value.
  json_writer& field(std::string_view name, std::string_view value) {
    return key(name).text(value);
  }

  json_writer& field(std::string_view name, const char* value) { return key(name).text(value); }

  template <std::integral T>
  json_writer& field(std::string_view name, T value) {
    key(name);
    if constexpr (std::same_as<T, bool>)
      return flag(value);
    else if constexpr (std::signed_integral<T>)
      return number(static_cast<std::int64_t>(value));
    else
      return number(static_cast<std::uint64_t>(value));
  }

  /// As text when the value is UTF-8, otherwise as base64 under `name` + "_base64".
  json_writer& bytes_field(std::string_view name, std::string_view value);

  /// The text written so far.
  [[nodiscard]] std::string take() { return std::move(out_); }

private:
  json_writer& open(char bracket);
  json_writer& close(char bracket);
  void separate();

  std::string out_;
  bool needs_comma_ = false;
};

} // namespace codeq::base
