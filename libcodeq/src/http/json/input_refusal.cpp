// SPDX-License-Identifier: Apache-2.0
#include "http/json/input_refusal.hpp"

#include "codeq/ids.hpp"

#include "base/duration_text.hpp"
#include "base/json_writer.hpp"
#include "base/text_encoding.hpp"

#include <limits>

namespace codeq::http {

namespace {

/// Longer texts are cut in a refusal.
constexpr std::size_t quoted_bytes_max = 64;

bool is_inside_character(char c) {
  return (static_cast<unsigned char>(c) & 0xC0) == 0x80;
}

std::string number_text(input_type type, std::int64_t number) {
  return type == input_type::period ? base::format_duration(duration{number})
                                    : std::to_string(number);
}

} // namespace

std::string quote(std::string_view text) {
  if (!base::is_utf8(text))
    return quote("base64:" + base::to_base64(text.substr(0, quoted_bytes_max)));
  auto end = std::min(text.size(), quoted_bytes_max);
  while (end < text.size() && is_inside_character(text[end]))
    --end;
  base::json_writer json;
  json.text(text.substr(0, end));
  return json.take() + (end < text.size() ? "..." : "");
}

std::string quote_name(std::string_view path, std::string_view name) {
  auto quoted = quote(std::string(path) + std::string(name));
  quoted.front() = '\'';
  quoted[quoted.rfind('"')] = '\'';
  return quoted;
}

error refuse_input(std::string_view beginning, const std::string& text) {
  auto whole = beginning.empty() ? text : std::string(beginning) + ": " + text;
  return {errc::invalid_argument, std::move(whole)};
}

std::string
describe_value(const std::string& field, const std::string& value, const std::string& rule) {
  return field + " is " + value + "; it must be " + rule;
}

std::string_view describe_type(input_type type) {
  switch (type) {
  case input_type::text:
  case input_type::queue:
  case input_type::time:
  case input_type::past:
  case input_type::choice:
    return "a string";
  case input_type::integer:
  case input_type::seconds:
  case input_type::milliseconds:
    return "a whole number";
  case input_type::period:
    return "a duration such as \"90s\"";
  case input_type::flag:
    return "true or false";
  case input_type::json:
    return "a JSON value";
  case input_type::object:
    return "an object";
  case input_type::text_map:
    return "an object of strings";
  case input_type::texts:
  case input_type::queues:
    return "an array of strings";
  case input_type::objects:
  case input_type::items:
    return "an array of objects";
  }
  return "something else";
}

std::string describe_json(std::string_view raw) {
  switch (raw.front()) {
  case '"':
    return "a string";
  case '{':
    return "an object";
  case '[':
    return "an array";
  case 't':
  case 'f':
  case 'n':
    return std::string(raw);
  default:
    bool is_whole = raw.find_first_of(".eE") == raw.npos;
    return is_whole ? "a number" : std::string(raw.substr(0, quoted_bytes_max));
  }
}

std::string describe_range(const input_field& field) {
  const auto& range = field.range;
  std::string text;
  if (!field.numbers.empty()) {
    for (auto number : field.numbers)
      text += (text.empty() ? "one of " : ", ") + std::to_string(number);
    return text;
  }
  bool is_open = range.most == std::numeric_limits<std::int64_t>::max();
  text = number_text(field.type, range.least);
  text = is_open ? "at least " + text : text + ".." + number_text(field.type, range.most);
  return text + (field.zero_is_unset ? ", or 0 for the default" : "");
}

std::string describe_choices(const input_field& field) {
  if (field.choices.size() == 1)
    return std::string(field.choices.front());
  std::string text;
  for (auto choice : field.choices)
    text += (text.empty() ? "one of " : ", ") + std::string(choice);
  return text;
}

std::string describe_queue_name() {
  return "1 to " + std::to_string(limits::name_bytes_max) + " letters, digits, '.', '_' or '-'";
}

result<void> check_queue_name(std::string_view field, const std::string& name) {
  if (is_valid_name(name))
    return {};
  return refuse_input(
    "invalid " + std::string(field),
    describe_value(quote_name({}, field), quote(name), describe_queue_name()));
}

} // namespace codeq::http
