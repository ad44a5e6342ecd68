// SPDX-License-Identifier: Apache-2.0
#include "http/json/input.hpp"

#include "base/assert.hpp"
#include "base/duration_text.hpp"
#include "http/json/input_reader.hpp"
#include "http/json/input_refusal.hpp"

#include <algorithm>

namespace codeq::http {

result<input> input::read(std::string_view json, const input_shape& shape) {
  auto object = json_object::parse(json);
  if (!object)
    return refuse_object(json, shape.refusal);
  return input_reader(shape.fields, {{}, shape.refusal}).read(*object);
}

result<input>
input::read(const std::map<std::string, std::string>& query, std::span<const input_field> fields) {
  return input_reader(fields, {{}, {}, true}).read(query);
}

const input::value* input::find(std::string_view name) const {
  CODEQ_ASSERT(fields_.empty() || std::any_of(fields_.begin(), fields_.end(), [&](const auto& f) {
                 return f.canonical() == name;
               }));
  auto at = std::find_if(values_.begin(), values_.end(), [&](const auto& given) {
    return given.field->canonical() == name;
  });
  return at == values_.end() ? nullptr : &*at;
}

bool input::has(std::string_view name) const {
  return find(name) != nullptr;
}

std::string input::text(std::string_view name) const {
  const auto* given = find(name);
  return given ? given->text : std::string();
}

std::optional<std::int64_t> input::integer(std::string_view name) const {
  const auto* given = find(name);
  return given ? std::optional(given->number) : std::nullopt;
}

std::optional<duration> input::period(std::string_view name) const {
  auto number = integer(name);
  if (!number)
    return std::nullopt;
  bool is_in_seconds = find(name)->field->type == input_type::seconds;
  return *number * (is_in_seconds ? duration(std::chrono::seconds(1)) : duration(1));
}

std::optional<timestamp> input::time(std::string_view name) const {
  auto number = integer(name);
  return number ? std::optional(timestamp(duration(*number))) : std::nullopt;
}

std::optional<timestamp> input::past(std::string_view name, timestamp now) const {
  const auto* given = find(name);
  if (!given)
    return std::nullopt;
  auto age = base::parse_duration(given->text);
  // To a filter the epoch is no bound.
  constexpr timestamp first{duration{1}};
  return age ? std::optional(std::max(now - *age, first)) : time(name);
}

std::optional<bool> input::flag(std::string_view name) const {
  auto number = integer(name);
  return number ? std::optional(*number != 0) : std::nullopt;
}

std::optional<std::size_t> input::choice(std::string_view name) const {
  const auto* given = find(name);
  if (!given)
    return std::nullopt;
  const auto& choices = given->field->choices;
  auto at = std::find(choices.begin(), choices.end(), given->text);
  return static_cast<std::size_t>(at - choices.begin());
}

std::string_view input::raw(std::string_view name) const {
  const auto* given = find(name);
  return given ? given->raw : std::string_view();
}

std::vector<std::string> input::texts(std::string_view name) const {
  const auto* given = find(name);
  return given ? given->texts : std::vector<std::string>();
}

std::map<std::string, std::string> input::text_map(std::string_view name) const {
  const auto* given = find(name);
  return given ? given->text_map : std::map<std::string, std::string>();
}

const input* input::object(std::string_view name) const {
  const auto* given = find(name);
  return given ? &given->objects.front() : nullptr;
}

const std::vector<input>& input::objects(std::string_view name) const {
  static const std::vector<input> none;
  const auto* given = find(name);
  return given ? given->objects : none;
}

const std::vector<result<input>>& input::items(std::string_view name) const {
  static const std::vector<result<input>> none;
  const auto* given = find(name);
  return given ? given->items : none;
}

} // namespace codeq::http
