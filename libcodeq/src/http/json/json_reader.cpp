// SPDX-License-Identifier: Apache-2.0
#include "http/json/json_reader.hpp"

#include "codeq/limits.hpp"

#include "http/server/gateway_limits.hpp"

#include <algorithm>
#include <cstdint>

#include <boost/json/basic_parser_impl.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

namespace codeq::http {

namespace {

namespace json = boost::json;

json::parse_options options_of_all() {
  json::parse_options options;
  options.max_depth = limits::http_json_depth_max;
  return options;
}

/// Takes what the parser finds and keeps nothing but what the whole is.
struct blind_handler {
  static constexpr std::size_t max_object_size = SIZE_MAX;
  static constexpr std::size_t max_array_size = SIZE_MAX;
  static constexpr std::size_t max_key_size = SIZE_MAX;
  static constexpr std::size_t max_string_size = SIZE_MAX;
  using code = json::error_code&;

  bool on_document_begin(code) { return true; }

  bool on_document_end(code) { return true; }

  bool on_object_begin(code) { return true; }

  bool on_object_end(std::size_t, code) { return true; }

  bool on_array_begin(code) { return true; }

  bool on_array_end(std::size_t, code) { return true; }

  bool on_key_part(json::string_view, std::size_t, code) { return true; }

  bool on_key(json::string_view, std::size_t, code) { return true; }

  bool on_string_part(json::string_view, std::size_t, code) { return true; }

  bool on_string(json::string_view, std::size_t, code) { return true; }

  bool on_number_part(json::string_view, code) { return true; }

  bool on_int64(std::int64_t, json::string_view, code) { return true; }

  bool on_uint64(std::uint64_t, json::string_view, code) { return true; }

  bool on_double(double, json::string_view, code) { return true; }

  bool on_bool(bool, code) { return true; }

  bool on_null(code) { return true; }

  bool on_comment_part(json::string_view, code) { return true; }

  bool on_comment(json::string_view, code) { return true; }
};

/// The value of a text that holds no other values.
std::optional<json::value> parse_simple(std::string_view text) {
  json::error_code failure;
  auto value =
    json::parse(json::string_view(text.data(), text.size()), failure, {}, options_of_all());
  if (failure)
    return std::nullopt;
  return value;
}

/// Walks over a JSON text that is known to be valid, without building anything.
class walker {
public:
  explicit walker(std::string_view text) : text_(text) { skip_spaces(); }

  [[nodiscard]] char peek() const { return text_[at_]; }

  /// Takes the next character and the spaces behind it.
  void take() {
    ++at_;
    skip_spaces();
  }

  /// The next value's text; goes behind it.
  std::string_view value() {
    auto begin = at_;
    if (peek() == '"')
      skip_string();
    else if (peek() == '{' || peek() == '[')
      skip_nested();
    else
      skip_word();
    auto found = text_.substr(begin, at_ - begin);
    skip_spaces();
    return found;
  }

private:
  void skip_spaces() {
    while (at_ < text_.size()
           && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos)
      ++at_;
  }

  void skip_string() {
    auto end = text_.find('"', ++at_);
    // A quote behind a backslash does not end the string.
    for (auto escape = escape_before(end); escape != end; escape = escape_before(end)) {
      at_ = escape + 2;
      if (at_ > end)
        end = text_.find('"', at_);
    }
    at_ = end + 1;
  }

  /// The next backslash, or `end` when there is none before it.
  [[nodiscard]] std::size_t escape_before(std::size_t end) const {
    auto found = text_.substr(at_, end - at_).find('\\');
    return found == std::string_view::npos ? end : at_ + found;
  }

  void skip_word() {
    while (at_ < text_.size()
           && std::string_view(",]} \t\r\n").find(text_[at_]) == std::string_view::npos)
      ++at_;
  }

  void skip_nested() {
    std::size_t depth = 0;
    do {
      char c = text_[at_];
      if (c == '"') {
        skip_string();
        continue;
      }
      depth += c == '{' || c == '[' ? 1 : 0;
      depth -= c == '}' || c == ']' ? 1 : 0;
      ++at_;
    } while (depth > 0);
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

bool is_null(std::string_view raw) {
  return raw == "null";
}

} // namespace

std::optional<json_object> json_object::parse(std::string_view text) {
  // A valid text that begins with a brace is an object.
  if (!is_json(text) || walker(text).peek() != '{')
    return std::nullopt;
  return members_of(text);
}

std::optional<json_object> json_object::members_of(std::string_view object) {
  json_object found;
  walker at(object);
  at.take();
  while (at.peek() != '}') {
    if (at.peek() == ',')
      at.take();
    if (found.members_.size() == limits::http_json_members_max)
      return std::nullopt;
    auto name = unquote_json(at.value());
    at.take();
    found.members_.push_back({std::move(name), at.value()});
  }
  return found;
}

const json_object::member* json_object::find(std::string_view name) const {
  // The last member of that name counts, as for most JSON readers.
  auto at = std::find_if(
    members_.rbegin(), members_.rend(), [&](const member& m) { return m.name == name; });
  return at == members_.rend() ? nullptr : &*at;
}

bool json_object::has(std::string_view name) const {
  const auto* m = find(name);
  return m && !is_null(m->raw);
}

std::string json_object::text(std::string_view name) {
  if (!has(name))
    return {};
  auto raw = find(name)->raw;
  if (raw.front() == '"')
    return unquote_json(raw);
  ok_ = false;
  return {};
}

std::optional<std::int64_t> json_object::integer(std::string_view name) {
  if (!has(name))
    return std::nullopt;
  auto raw = find(name)->raw;
  bool is_number = raw.front() == '-' || (raw.front() >= '0' && raw.front() <= '9');
  auto value = is_number ? parse_simple(raw) : std::nullopt;
  if (value && value->is_int64())
    return value->as_int64();
  ok_ = false;
  return std::nullopt;
}

std::optional<bool> json_object::flag(std::string_view name) {
  if (!has(name))
    return std::nullopt;
  auto raw = find(name)->raw;
  if (raw == "true" || raw == "false")
    return raw == "true";
  ok_ = false;
  return std::nullopt;
}

std::vector<std::string> json_object::texts(std::string_view name) {
  std::vector<std::string> found;
  for (auto element : elements(name)) {
    if (element.front() == '"')
      found.push_back(unquote_json(element));
    else
      ok_ = false;
  }
  return found;
}

std::optional<json_object> json_object::object(std::string_view name) {
  if (!has(name))
    return std::nullopt;
  auto raw = find(name)->raw;
  auto found = raw.front() == '{' ? members_of(raw) : std::nullopt;
  ok_ = ok_ && found;
  return found;
}

std::vector<std::string_view> json_object::elements(std::string_view name) {
  if (!has(name))
    return {};
  auto found = elements_of(find(name)->raw, limits::http_json_members_max + 1);
  if (found && found->size() <= limits::http_json_members_max)
    return std::move(*found);
  ok_ = false;
  return {};
}

std::string_view json_object::raw(std::string_view name) const {
  const auto* m = find(name);
  return m ? m->raw : std::string_view();
}

std::vector<std::string> json_object::names() const {
  std::vector<std::string> all;
  for (const auto& m : members_)
    all.push_back(m.name);
  return all;
}

bool is_json(std::string_view text) {
  return check_json(text).kind == json_fault::none;
}

json_fault check_json(std::string_view text) {
  json::basic_parser<blind_handler> parser(options_of_all());
  json::error_code failure;
  auto used = parser.write_some(false, text.data(), text.size(), failure);
  if (failure == json::error::too_deep)
    return {json_fault::too_deep};
  if (failure)
    return {json_fault::malformed, failure.message(), used};
  if (used < text.size())
    return {json_fault::malformed, "there is more after the value", used};
  return {};
}

std::string unquote_json(std::string_view raw) {
  if (raw.find('\\') == std::string_view::npos)
    return std::string(raw.substr(1, raw.size() - 2));
  auto value = parse_simple(raw);
  return std::string(value->as_string().data(), value->as_string().size());
}

std::optional<std::vector<std::string_view>> elements_of(std::string_view raw, std::size_t most) {
  if (!raw.starts_with('['))
    return std::nullopt;
  std::vector<std::string_view> found;
  walker at(raw);
  at.take();
  while (at.peek() != ']' && found.size() < most) {
    if (at.peek() == ',')
      at.take();
    found.push_back(at.value());
  }
  return found;
}

} // namespace codeq::http
