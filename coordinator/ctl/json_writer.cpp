// SPDX-License-Identifier: Apache-2.0
#include "ctl/json_writer.hpp"

#include <array>
#include <cstdio>

namespace codeq::ctl {

namespace {

struct utf8_lead {
  std::size_t length;
  /// The least code point that needs this length.
  std::uint32_t least;
  std::uint32_t bits;
};

/// Length 0: not the first byte of a character.
utf8_lead lead_of(unsigned char c) {
  if (c < 0x80)
    return {1, 0, c};
  if (c >= 0xc0 && c < 0xe0)
    return {2, 0x80, c & 0x1fu};
  if (c >= 0xe0 && c < 0xf0)
    return {3, 0x800, c & 0x0fu};
  if (c >= 0xf0 && c < 0xf8)
    return {4, 0x10000, c & 0x07u};
  return {0, 0, 0};
}

bool is_scalar(std::uint32_t point) {
  return point <= 0x10ffff && (point < 0xd800 || point > 0xdfff);
}

} // namespace

bool is_utf8(std::string_view text) noexcept {
  for (std::size_t i = 0; i < text.size();) {
    auto lead = lead_of(static_cast<unsigned char>(text[i]));
    if (lead.length == 0 || lead.length > text.size() - i)
      return false;
    auto point = lead.bits;
    for (std::size_t k = 1; k < lead.length; ++k) {
      auto c = static_cast<unsigned char>(text[i + k]);
      if ((c & 0xc0) != 0x80)
        return false;
      point = point << 6 | (c & 0x3fu);
    }
    if (point < lead.least || !is_scalar(point))
      return false;
    i += lead.length;
  }
  return true;
}

std::string base64(std::string_view bytes) {
  constexpr std::string_view alphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t bits = 0;
    for (std::size_t k = 0; k < 3; ++k)
      bits = bits << 8 | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0u);
    for (std::size_t k = 0; k < 4; ++k)
      text += i + k > bytes.size() ? '=' : alphabet[bits >> (18 - 6 * k) & 0x3f];
  }
  return text;
}

void json_writer::begin_value(std::string_view name) {
  if (!text_.empty() && text_.back() != '{' && text_.back() != '[')
    text_ += ',';
  if (name.empty())
    return;
  quote(name);
  text_ += ':';
}

void json_writer::quote(std::string_view value) {
  text_ += '"';
  for (char c : value) {
    if (c == '"' || c == '\\') {
      text_ += '\\';
      text_ += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      std::array<char, 8> escaped{};
      std::snprintf(escaped.data(), escaped.size(), "\\u%04x", static_cast<unsigned>(c));
      text_ += escaped.data();
    } else {
      text_ += c;
    }
  }
  text_ += '"';
}

json_writer& json_writer::begin_object(std::string_view name) {
  begin_value(name);
  text_ += '{';
  return *this;
}

json_writer& json_writer::end_object() {
  text_ += '}';
  return *this;
}

json_writer& json_writer::begin_array(std::string_view name) {
  begin_value(name);
  text_ += '[';
  return *this;
}

json_writer& json_writer::end_array() {
  text_ += ']';
  return *this;
}

json_writer& json_writer::member(std::string_view name, std::string_view value) {
  begin_value(name);
  quote(value);
  return *this;
}

json_writer& json_writer::member(std::string_view name, const char* value) {
  return member(name, std::string_view(value));
}

json_writer& json_writer::member(std::string_view name, bool value) {
  begin_value(name);
  text_ += value ? "true" : "false";
  return *this;
}

json_writer& json_writer::bytes_member(std::string_view name, std::string_view value) {
  if (is_utf8(value))
    return member(name, value);
  return member(std::string(name) + "_base64", base64(value));
}

json_writer& json_writer::element(std::string_view value) {
  begin_value({});
  quote(value);
  return *this;
}

} // namespace codeq::ctl
