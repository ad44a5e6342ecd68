// SPDX-License-Identifier: Apache-2.0
#include "ctl/document_text.hpp"

#include "ctl/text.hpp"
#include "http/json/json_reader.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace codeq::ctl {

namespace {

std::string to_upper(std::string text) {
  for (char& c : text)
    c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  return text;
}

/// The value of a member on one line; strings without quotes.
std::string value_text(http::json_object& object, const std::string& name) {
  auto raw = object.raw(name);
  return in_one_line(raw.starts_with('"') ? object.text(name) : std::string(raw));
}

/// One row per object, and a column for each member name that occurs.
std::string table_of(const std::vector<std::string_view>& elements) {
  std::vector<http::json_object> objects;
  std::vector<std::string> names;
  for (auto element : elements) {
    auto object = http::json_object::parse(element);
    if (!object)
      return {};
    for (const auto& name : object->names())
      if (std::find(names.begin(), names.end(), name) == names.end())
        names.push_back(name);
    objects.push_back(std::move(*object));
  }
  std::vector<std::vector<std::string>> rows(1);
  for (const auto& name : names)
    rows.front().push_back(to_upper(name));
  for (auto& object : objects) {
    auto& row = rows.emplace_back();
    for (const auto& name : names)
      row.push_back(value_text(object, name));
  }
  return format_table(rows);
}

} // namespace

std::string document_text(std::string_view json) {
  auto object = http::json_object::parse(json);
  if (!object)
    return std::string(json) + (json.empty() ? "" : "\n");
  std::vector<std::pair<std::string, std::string>> fields;
  std::string tables;
  for (const auto& name : object->names()) {
    auto elements =
      object->raw(name).starts_with('[') ? object->elements(name) : std::vector<std::string_view>();
    bool is_table = !elements.empty() && elements.front().starts_with('{');
    if (is_table)
      tables += table_of(elements);
    else
      fields.emplace_back(name, value_text(*object, name));
  }
  return tables + format_fields(fields);
}

} // namespace codeq::ctl
