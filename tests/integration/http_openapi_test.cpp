// SPDX-License-Identifier: Apache-2.0
#include "http/routes/openapi.hpp"
#include "http/routes/router.hpp"

#include <gtest/gtest.h>

#include <cctype>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

namespace codeq::http {
namespace {

namespace json = boost::json;

json::string text_of(std::string_view text) {
  return json::string(text.data(), text.size());
}

json::object schema_of(std::span<const input_field> fields);

/// The bounds of a number, of a length or of a count, where there are any.
void add_bounds(json::object& to, const input_range& range, const char* least, const char* most) {
  using limits = std::numeric_limits<std::int64_t>;
  bool counts = std::string_view(least) != "minimum";
  if (range.least != limits::min() && !(counts && range.least == 0))
    to[least] = range.least;
  if (range.most != limits::max())
    to[most] = range.most;
}

json::object number_schema(const input_field& field) {
  json::object schema{{"type", "integer"}};
  if (!field.numbers.empty()) {
    schema["enum"] = json::array(field.numbers.begin(), field.numbers.end());
    return schema;
  }
  auto range = field.tolerated.value_or(field.range);
  if (field.zero_is_unset)
    range.least = 0;
  add_bounds(schema, range, "minimum", "maximum");
  return schema;
}

json::object text_schema(const input_field& field) {
  json::object schema{{"type", "string"}};
  if (field.type == input_type::text)
    add_bounds(schema, field.range, "minLength", "maxLength");
  if (field.type == input_type::queue)
    schema["pattern"] = "^[A-Za-z0-9._-]{1,128}$";
  if (field.type == input_type::period)
    schema["pattern"] = "^[0-9]+(ms|s|m|h|d)$";
  if (field.type == input_type::time)
    schema["format"] = "date-time";
  if (field.type == input_type::choice) {
    auto& choices = schema["enum"].emplace_array();
    for (auto choice : field.choices)
      choices.emplace_back(text_of(choice));
  }
  return schema;
}

json::object array_schema(const input_field& field) {
  json::object schema{{"type", "array"}};
  add_bounds(schema, field.range, "minItems", "maxItems");
  if (field.type == input_type::texts)
    schema["items"] = text_schema({.name = field.name});
  else if (field.type == input_type::queues)
    schema["items"] = text_schema({.name = field.name, .type = input_type::queue});
  else
    schema["items"] = schema_of(field.members);
  return schema;
}

json::object schema_of(const input_field& field) {
  switch (field.type) {
  case input_type::text:
  case input_type::queue:
  case input_type::period:
  case input_type::time:
  case input_type::past:
  case input_type::choice:
    return text_schema(field);
  case input_type::integer:
  case input_type::seconds:
  case input_type::milliseconds:
    return number_schema(field);
  case input_type::flag:
    return {{"type", "boolean"}};
  case input_type::json:
    return {};
  case input_type::object:
    return schema_of(field.members);
  case input_type::text_map:
    return {{"type", "object"}, {"additionalProperties", {{"type", "string"}}}};
  case input_type::texts:
  case input_type::queues:
  case input_type::objects:
  case input_type::items:
    return array_schema(field);
  }
  return {};
}

json::object requires_both(std::string_view one, std::string_view other) {
  return {{"required", json::array{text_of(one), text_of(other)}}};
}

/// An object of these fields and of no others; one of each group of names.
json::object schema_of(std::span<const input_field> fields) {
  json::object properties;
  json::array required;
  json::array pairs;
  for (const auto& field : fields) {
    if (!field.instead.empty())
      continue;
    properties[text_of(field.name)] = schema_of(field);
    bool has_other_names = false;
    for (const auto& other : fields) {
      bool is_other = other.canonical() == field.canonical() && other.name != field.name;
      has_other_names = has_other_names || is_other;
      if (is_other && &other > &field)
        pairs.emplace_back(requires_both(field.name, other.name));
    }
    if (field.is_required && !has_other_names)
      required.emplace_back(text_of(field.name));
  }
  json::object schema{
    {"type", "object"}, {"properties", properties}, {"additionalProperties", false}};
  if (!required.empty())
    schema["required"] = required;
  if (!pairs.empty())
    schema["not"] = json::object{{"anyOf", pairs}};
  return schema;
}

/// The input of a route as the document should describe it, without descriptions and examples.
json::object input_of(const route& r) {
  json::object input;
  json::array parameters;
  for (const auto& field : r.fields.query) {
    if (!field.instead.empty())
      continue;
    json::object parameter{{"name", text_of(field.name)}, {"in", "query"}};
    if (field.is_required)
      parameter["required"] = true;
    parameter["schema"] = schema_of(field);
    if (field.type == input_type::text_map) {
      parameter["style"] = "deepObject";
      parameter["explode"] = true;
    }
    parameters.emplace_back(std::move(parameter));
  }
  if (!parameters.empty())
    input["parameters"] = parameters;
  // The larger limits of `?limit=extended` are those of the schema.
  const auto& body = r.fields.extended.fields.empty() ? r.fields.body : r.fields.extended;
  if (!body.fields.empty())
    input["requestBody"] = {
      {"required", r.fields.need == body_need::required},
      {"content", {{"application/json", {{"schema", schema_of(body.fields)}}}}}};
  return input;
}

/// The value without what stands in it for people.
json::value without_texts(json::value value) {
  if (auto* list = value.if_array())
    for (auto& element : *list)
      element = without_texts(element);
  if (auto* object = value.if_object()) {
    for (const char* name : {"description", "example", "examples"})
      object->erase(name);
    for (auto& [name, member] : *object)
      member = without_texts(member);
  }
  return value;
}

/// `/v1/codeq/tasks/{id}` as the pattern of a route.
std::string pattern_of(std::string_view path) {
  constexpr std::string_view base = "/v1/codeq/";
  std::string pattern;
  bool is_open = false;
  for (char c : path.substr(path.starts_with(base) ? base.size() : 0)) {
    if (c == '{')
      pattern += ':';
    is_open = c == '{' || (is_open && c != '}');
    if (!is_open && c != '}')
      pattern += c;
  }
  return pattern;
}

/// The input of an operation in the document, in the form of `input_of`.
json::object input_in(const json::object& operation) {
  json::object input;
  json::array parameters;
  if (const auto* all = operation.if_contains("parameters"))
    for (const auto& one : all->as_array())
      if (one.at("in") == "query")
        parameters.emplace_back(without_texts(one));
  if (!parameters.empty())
    input["parameters"] = parameters;
  if (const auto* body = operation.if_contains("requestBody"))
    input["requestBody"] = without_texts(*body);
  return input;
}

/// By method and pattern.
std::map<std::string, json::object> documented_operations() {
  std::map<std::string, json::object> all;
  auto document = openapi_document();
  auto parsed = json::parse(json::string_view(document.data(), document.size()));
  for (const auto& [path, methods] : parsed.at("paths").as_object())
    for (const auto& [method, operation] : methods.as_object()) {
      std::string name(method.data(), method.size());
      for (auto& c : name)
        c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
      all[name + " " + pattern_of({path.data(), path.size()})] = operation.as_object();
    }
  return all;
}

TEST(OpenApi, EveryRouteIsDocumentedWithTheFieldsThatItDeclares) {
  auto documented = documented_operations();
  for (auto routes : all_routes())
    for (const auto& r : routes) {
      auto name = std::string(r.method) + " " + std::string(r.pattern);
      auto at = documented.find(name);
      ASSERT_NE(documented.end(), at) << name;
      EXPECT_EQ(json::serialize(input_of(r)), json::serialize(input_in(at->second))) << name;
      documented.erase(at);
    }
  for (const auto& [name, operation] : documented)
    ADD_FAILURE() << "no route: " << name;
}

/// The fields without a description, below a schema.
void find_undescribed(const json::value& schema, std::vector<std::string>& found) {
  const auto* object = schema.if_object();
  if (!object)
    return;
  if (const auto* items = object->if_contains("items"))
    find_undescribed(*items, found);
  const auto* properties = object->if_contains("properties");
  if (!properties)
    return;
  for (const auto& [name, field] : properties->as_object()) {
    if (!field.as_object().contains("description"))
      found.emplace_back(name.data(), name.size());
    find_undescribed(field, found);
  }
}

TEST(OpenApi, EveryFieldOfARequestIsDescribed) {
  for (const auto& [name, operation] : documented_operations()) {
    std::vector<std::string> found;
    if (const auto* body = operation.if_contains("requestBody"))
      find_undescribed(body->at("content").at("application/json").at("schema"), found);
    auto parameters =
      operation.contains("parameters") ? operation.at("parameters").as_array() : json::array();
    for (const auto& one : parameters)
      EXPECT_TRUE(one.as_object().contains("description")) << name;
    EXPECT_EQ(std::vector<std::string>(), found) << name;
  }
}

} // namespace
} // namespace codeq::http
