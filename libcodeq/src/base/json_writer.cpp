// SPDX-License-Identifier: Apache-2.0
#include "base/json_writer.hpp"

#include "base/text_encoding.hpp"

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>

namespace codeq::base {

namespace {

/// True for a byte that a JSON string cannot contain as it is.
constexpr std::array<bool, 256> is_escaped = [] {
  std::array<bool, 256> table{};
  for (std::size_t c = 0; c < 0x20; ++c)
    table[c] = true;
  table['"'] = true;
  table['\\'] = true;
  return table;
}();

void append_escape(std::string& out, char c) {
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
    std::array<char, 8> code{};
    std::snprintf(code.data(), code.size(), "\\u%04x", static_cast<unsigned>(c));
    out += code.data();
  }
}

/// A word whose bytes are all `c`.
constexpr std::uint64_t filled_with(unsigned char c) {
  return std::uint64_t{0x0101010101010101} * c;
}

/// True when one of the bytes is below `n`, which is at most 128.
constexpr bool has_below(std::uint64_t bytes, unsigned char n) {
  return ((bytes - filled_with(n)) & ~bytes & filled_with(0x80)) != 0;
}

/// True when one of eight bytes is escaped.
bool has_escape(const char* text) {
  std::uint64_t bytes = 0;
  std::memcpy(&bytes, text, sizeof(bytes));
  return has_below(bytes, 0x20) || has_below(bytes ^ filled_with('"'), 1)
         || has_below(bytes ^ filled_with('\\'), 1);
}

/// The place of the first byte that is escaped, from `at` on; the size of the text when there is
/// none.
std::size_t find_escape(std::string_view text, std::size_t at) {
  constexpr auto step = sizeof(std::uint64_t);
  while (at + step <= text.size() && !has_escape(text.data() + at))
    at += step;
  while (at < text.size() && !is_escaped[static_cast<unsigned char>(text[at])])
    ++at;
  return at;
}

/// Appends what lies between two escapes at once, since payloads are long.
void append_escaped(std::string& out, std::string_view text) {
  for (std::size_t begin = 0; begin < text.size();) {
    auto end = find_escape(text, begin);
    out.append(text, begin, end - begin);
    if (end < text.size())
      append_escape(out, text[end]);
    begin = end + 1;
  }
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

json_writer& json_writer::bytes_field(std::string_view name, std::string_view value) {
  if (is_utf8(value))
    return field(name, value);
  return field(std::string(name) + "_base64", to_base64(value));
}

void json_writer::separate() {
  if (needs_comma_)
    out_ += ',';
  needs_comma_ = true;
}

} // namespace codeq::base
