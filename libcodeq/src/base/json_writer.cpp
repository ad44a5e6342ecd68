// SPDX-License-Identifier: Apache-2.0
#include "base/json_writer.hpp"

#include "base/text_encoding.hpp"

#include <array>
#include <cstdio>

namespace codeq::base {

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
