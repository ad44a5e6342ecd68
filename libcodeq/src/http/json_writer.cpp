// SPDX-License-Identifier: Apache-2.0
#include "http/json_writer.hpp"

#include <array>
#include <cstdio>

namespace codeq::http {

namespace {

void append_escaped(std::string& out, std::string_view text) {
  for (char c : text) {
    switch (c) {
    case '"':
      out += "\\\"";
      break;
    case '\\':
      out += "\\\\";
      break;
    case '\n':
      out += "\\n";
      break;
    case '\r':
      out += "\\r";
      break;
    case '\t':
      out += "\\t";
      break;
    default:
      if (static_cast<unsigned char>(c) < 0x20) {
        std::array<char, 8> code{};
        std::snprintf(code.data(), code.size(), "\\u%04x", static_cast<unsigned>(c));
        out += code.data();
      } else {
        out += c;
      }
    }
  }
}

/// How many bytes follow the first one of a UTF-8 sequence; -1 for what cannot be a first one.
int bytes_behind(unsigned char first) noexcept {
  if (first < 0x80)
    return 0;
  if (first >= 0xC2 && first <= 0xDF)
    return 1;
  if (first >= 0xE0 && first <= 0xEF)
    return 2;
  return first >= 0xF0 && first <= 0xF4 ? 3 : -1;
}

/// The second byte's bounds exclude overlong forms, surrogates and what is beyond U+10FFFF.
bool is_second(unsigned char first, unsigned char second) noexcept {
  unsigned char least = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
  unsigned char most = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
  return second >= least && second <= most;
}

} // namespace

json_writer& json_writer::key(std::string_view name) {
  text(name);
  out_ += ':';
  needs_comma_ = false;
  return *this;
}

json_writer& json_writer::text(std::string_view value) {
  separate();
  out_ += '"';
  append_escaped(out_, value);
  out_ += '"';
  return *this;
}

json_writer& json_writer::number(std::int64_t value) {
  return raw(std::to_string(value));
}

json_writer& json_writer::number(std::uint64_t value) {
  return raw(std::to_string(value));
}

json_writer& json_writer::flag(bool value) {
  return raw(value ? "true" : "false");
}

json_writer& json_writer::null() {
  return raw("null");
}

json_writer& json_writer::raw(std::string_view json) {
  separate();
  out_ += json;
  return *this;
}

json_writer& json_writer::open(char bracket) {
  separate();
  out_ += bracket;
  needs_comma_ = false;
  return *this;
}

json_writer& json_writer::close(char bracket) {
  out_ += bracket;
  needs_comma_ = true;
  return *this;
}

void json_writer::separate() {
  if (needs_comma_)
    out_ += ',';
  needs_comma_ = true;
}

bool is_utf8(std::string_view text) noexcept {
  for (std::size_t i = 0; i < text.size();) {
    auto first = static_cast<unsigned char>(text[i++]);
    auto behind = bytes_behind(first);
    if (behind < 0 || text.size() - i < static_cast<std::size_t>(behind))
      return false;
    for (int k = 0; k < behind; ++k) {
      auto next = static_cast<unsigned char>(text[i++]);
      bool fits = k == 0 ? is_second(first, next) : (next & 0xC0) == 0x80;
      if (!fits)
        return false;
    }
  }
  return true;
}

} // namespace codeq::http
