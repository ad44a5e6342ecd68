// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace codeq::ctl {

/// True when `text` is well-formed UTF-8 (no overlong forms, no surrogates).
[[nodiscard]] bool is_utf8(std::string_view text) noexcept;

/// Base64 with padding.
[[nodiscard]] std::string base64(std::string_view bytes);

/// Writes JSON on one line: begin and end objects and arrays, add members and elements. The caller
/// keeps them balanced.
class json_writer {
public:
  json_writer& begin_object(std::string_view name = {});
  json_writer& end_object();
  json_writer& begin_array(std::string_view name = {});
  json_writer& end_array();

  /// @pre is_utf8(value)
  json_writer& member(std::string_view name, std::string_view value);
  json_writer& member(std::string_view name, const char* value);
  json_writer& member(std::string_view name, bool value);

  template <std::integral Number>
  json_writer& member(std::string_view name, Number value) {
    begin_value(name);
    text_ += std::to_string(value);
    return *this;
  }

  /// Adds `name` when the value is UTF-8, else `name` + "_base64".
  json_writer& bytes_member(std::string_view name, std::string_view value);

  /// An element of an array.
  json_writer& element(std::string_view value);

  [[nodiscard]] const std::string& text() const noexcept { return text_; }

private:
  void begin_value(std::string_view name);
  void quote(std::string_view value);

  std::string text_;
};

} // namespace codeq::ctl
