// SPDX-License-Identifier: Apache-2.0
#include "base/json_writer.hpp"

#include "base/text_encoding.hpp"

#include <array>
#include <cstdio>

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

/// Appends what lies between two escapes at once, since payloads are long.
void append_escaped(std::string& out, std::string_view text) {
  std::size_t begin = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!is_escaped[static_cast<unsigned char>(text[i])])
      continue;
    out.append(text, begin, i - begin);
    append_escape(out, text[i]);
    begin = i + 1;
  }
  out.append(text, begin);
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
